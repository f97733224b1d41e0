"""Functions whose optimum is known, shifted for each seed, over literals as they are found in programs.

All are 0 at their optimum and work on distances in units of a literal's range. The start is 0.1 to 0.25 of the range away
from it in most literals, and right in some: somebody chose these values once. Nothing here needs more than Python.
"""

import math
import random

from problem import Problem, at_unit, choice, number, power_of_two, unit, whole

# Of the start's own value.
NOISE = 0.07
# How many literals are right from the start.
RIGHT = 0.25


def floats(count):
    """Rates in a log scale and shares in a linear one, by turns."""
    return [number(1e-4, 1e-1, log=True) if at % 2 else number(0.0, 1.0) for at in range(count)]


def assorted(count):
    """Of every kind, as in a training script."""
    kinds = [
        number(1e-4, 1e-1, log=True),
        power_of_two(8, 512),
        choice(2),
        number(0.0, 1.0),
        whole(1, 24),
        choice(4),
        number(0.01, 2.0, log=True),
    ]
    return [kinds[at % len(kinds)] for at in range(count)]


def numbers(count):
    """Of every kind but choices, one of which chance finds soon."""
    kinds = [axis for axis in assorted(7) if "options" not in axis]
    return [kinds[at % len(kinds)] for at in range(count)]


def steps(count):
    return [whole(0, 12) if at % 2 else whole(4, 256, log=True) for at in range(count)]


class Synthetic(Problem):
    optimum = 0.0

    def __init__(self, name, space, shape, seed, noisy=False, fails=None):
        self.name, self.space, self.noisy = name, space, noisy
        # Noise is all that differs between an objective and its noisy form.
        draw = random.Random(f"{name.removesuffix('-noisy')}/{seed}")
        self.fails = fails or (lambda away: False)
        while True:
            self.best, self.start = map(list, zip(*(placed(axis, draw) for axis in space)))
            away = self.away(self.start)
            # Somebody runs this: it works, and is not perfect.
            if any(away) and not self.fails(away):
                break
        self.shape = shape(away, draw)
        self.sd = NOISE * self.shape(away) if noisy else 0.0

    def away(self, point):
        return [distance(axis, best, value) for axis, best, value in zip(self.space, self.best, point)]

    def value(self, point, luck):
        true = self.truth(point)
        return None if true is None else true + luck.gauss(0.0, self.sd)

    def truth(self, point):
        away = self.away(point)
        return None if self.fails(away) else self.shape(away)


def placed(axis, draw):
    """The best value of a literal, and the one that it starts with."""
    is_right = draw.random() < RIGHT
    if "options" in axis:
        best = float(draw.randrange(axis["options"]))
        others = [float(other) for other in range(axis["options"]) if other != best]
        # Of choices, more are right: there are fewer to be wrong about.
        return best, best if is_right or draw.random() < 0.4 else draw.choice(others)
    start = at_unit(axis, draw.uniform(0.3, 0.7))
    far = 0.0 if is_right else draw.uniform(0.1, 0.25) * draw.choice((-1, 1))
    return at_unit(axis, unit(axis, start) + far), start


def distance(axis, best, value):
    if "options" in axis:
        return 0.0 if value == best else 0.2
    return unit(axis, value) - unit(axis, best)


def sphere(start, draw):
    return lambda away: sum(x * x for x in away)


def ellipsoid(start, draw):
    """As steep as 1 in one direction and as 100 in another, and none of them that of a literal."""
    size = len(start)
    axes = rotation(size, draw)
    weights = [100.0 ** (at / (size - 1)) for at in range(size)]

    def shape(away):
        return sum(w * sum(a * x for a, x in zip(axis, away)) ** 2 for w, axis in zip(weights, axes))

    return shape


def valley(start, draw):
    """Rosenbrock's: the way along a bent valley is long, its walls are steep."""

    def shape(away):
        x = [1.0 + 4.0 * value for value in away]
        return sum(20.0 * (b - a * a) ** 2 + (1.0 - a) ** 2 for a, b in zip(x, x[1:]))

    return shape


def ripples(start, draw):
    """A broad bowl with dents in it that catch what goes downhill only."""

    def shape(away):
        return sum(x * x + 0.008 * (1.0 - math.cos(2.0 * math.pi * x / 0.12)) for x in away)

    return shape


def sparse(start, draw):
    """Three literals matter, and nobody says which."""
    # Two of them are wrong at the start: otherwise there would be nothing to find.
    wrong = [at for at, x in enumerate(start) if x]
    chosen = draw.sample(wrong, 2)
    chosen.append(draw.choice([at for at in range(len(start)) if at not in chosen]))
    scales = [1.0, 0.5, 0.25]

    def shape(away):
        return sum(scale * abs(away[at]) ** 1.5 for scale, at in zip(scales, chosen)) + 1e-4 * sum(x * x for x in away)

    return shape


def rate(start, draw):
    """Two rates whose product counts, worth more and more up to a cliff."""
    lean = draw.choice((-1.0, 1.0))

    def shape(away):
        product = away[0] + lean * away[1]
        slow = product * product * (4.0 if product > 0 else 1.0)
        return slow + 0.3 * (away[0] - lean * away[1]) ** 2 + 0.5 * sum(x * x for x in away[2:])

    return shape


def cliff(away):
    """Diverges a little beyond the best rates, where one literal is large; no number comes out."""
    return away[0] + 0.5 * away[2] > 0.12


def pair(start, draw):
    """Two literals that have to move together, among others that need not."""
    one, other = draw.sample(range(len(start)), 2)
    lean = draw.choice((-1.0, 1.0))

    def shape(away):
        a, b = away[one], away[other]
        rest = sum(x * x for at, x in enumerate(away) if at not in (one, other))
        return 8.0 * (a - lean * b) ** 2 + 0.4 * (a + lean * b) ** 2 + rest

    return shape


def worth(start, draw):
    """Literals that matter more and less, by two orders of magnitude, and not to the same power."""
    weights = [10.0 ** draw.uniform(-1.5, 0.5) for _ in start]

    def shape(away):
        return sum(weight * abs(x) ** (1.0 if at % 3 == 0 else 2.0) for at, (weight, x) in enumerate(zip(weights, away)))

    return shape


def rotation(size, draw):
    rows = []
    while len(rows) < size:
        row = [draw.gauss(0.0, 1.0) for _ in range(size)]
        for other in rows:
            along = sum(a * b for a, b in zip(row, other))
            row = [a - along * b for a, b in zip(row, other)]
        length = math.sqrt(sum(a * a for a in row))
        if length > 1e-3:
            rows.append([a / length for a in row])
    return rows


# Name, literals, shape, where it fails, and whether there is a noisy form of it.
FORMS = [
    ("sphere-2", floats(2), sphere, None, False),
    ("sphere-8", floats(8), sphere, None, True),
    ("sphere-20", floats(20), sphere, None, True),
    ("ellipsoid-8", floats(8), ellipsoid, None, True),
    ("valley-5", floats(5), valley, None, False),
    ("ripples-5", floats(5), ripples, None, False),
    ("pair-5", floats(5), pair, None, True),
    ("sparse-20", numbers(20), sparse, None, True),
    ("rate-5", floats(6)[1::2] + floats(2), rate, cliff, True),
    ("steps-8", steps(8), worth, None, False),
    ("mixed-14", assorted(14), worth, None, True),
]


def problems():
    """By name, what makes the instance of a seed."""
    found = {}
    for name, space, shape, fails, has_noise in FORMS:
        for noisy in (False, True)[: 1 + has_noise]:
            full = name + ("-noisy" if noisy else "")

            def make(seed, full=full, space=space, shape=shape, noisy=noisy, fails=fails):
                return Synthetic(full, space, shape, seed, noisy, fails)

            found[full] = make
    return found
