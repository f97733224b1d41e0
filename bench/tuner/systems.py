"""Problems of systems code, by counting instead of by the clock: a busy machine changes nothing.

  tiles      block sizes, loop order and padding of a matrix product, in misses of a small simulated cache (tiles.c)
  allocator  size classes and page sizes of an allocator, in bytes wasted and calls made on a drawn workload
"""

import bisect
import ctypes
import functools
import hashlib
import math
import pathlib
import random
import subprocess
import tempfile

from problem import Problem, choice, number, power_of_two, whole

SOURCE = pathlib.Path(__file__).resolve().parent / "tiles.c"


class Tiles(Problem):
    """Sizes are a seed's own, so that what fits differs."""

    name = "tiles"

    def __init__(self, seed):
        draw = random.Random(f"{self.name}/{seed}")
        self.sizes = [draw.randrange(36, 60) for _ in range(3)]
        self.cache = draw.choice((2048, 4096)), draw.choice((2, 4))
        self.space = [whole(1, 64, log=True), whole(1, 64, log=True), whole(1, 64, log=True), choice(6), whole(0, 8), choice(2)]
        self.start = [16.0, 16.0, 16.0, 0.0, 0.0, 0.0]

    def value(self, point, luck):
        tile_i, tile_j, tile_k, order, padding, packed = map(int, point)
        misses = library().misses(*self.sizes, tile_i, tile_j, tile_k, order, padding, packed, *self.cache)
        blocks = math.prod(-(-size // tile) for size, tile in zip(self.sizes, (tile_i, tile_j, tile_k)))
        # A block costs its loop's overhead, a miss the memory.
        return (10.0 * misses + 30.0 * blocks) / math.prod(self.sizes)


@functools.cache
def library():
    """The simulated cache, compiled once and kept for runs to come."""
    source = SOURCE.read_bytes()
    path = pathlib.Path(tempfile.gettempdir()) / f"tiles-{hashlib.sha256(source).hexdigest()[:16]}.so"
    if not path.exists():
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            made = pathlib.Path(folder) / "tiles.so"
            subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", made, SOURCE], check=True)
            made.rename(path)
    found = ctypes.CDLL(path)
    found.misses.restype = ctypes.c_long
    return found


class Allocator(Problem):
    name = "allocator"

    def __init__(self, seed):
        draw = random.Random(f"{self.name}/{seed}")
        kinds = [(draw.uniform(3.0, 8.5), draw.uniform(0.1, 0.7)) for _ in range(3)]
        self.work, alive = [], []
        for _ in range(3000):
            if alive and draw.random() < 0.47:
                self.work.append((-1, alive.pop(draw.randrange(len(alive)))))
            else:
                middle, spread = draw.choice(kinds)
                alive.append(len(self.work))
                self.work.append((max(1, int(math.exp(draw.gauss(middle, spread)))), None))
        self.space = [
            power_of_two(4, 64),  # the smallest class
            number(1.05, 3.0, log=True),  # from each class to the next
            power_of_two(1024, 131072),  # bytes of a page
            whole(1, 64, log=True),  # free pages that are kept for later
            power_of_two(512, 65536),  # what is larger goes to the system
            power_of_two(4, 64),  # to what sizes are rounded up
        ]
        self.start = [16.0, 2.0, 4096.0, 4.0, 2048.0, 16.0]

    def value(self, point, luck):
        smallest, growth, page, kept, largest, grain = point
        if largest > page:
            # A class that no page can hold: it does not start.
            return None
        classes = [smallest]
        while classes[-1] < largest and len(classes) < 400:
            classes.append(max(classes[-1] + grain, math.ceil(classes[-1] * growth / grain) * grain))
        return cost(self.work, classes, page, int(kept), largest)


def cost(work, classes, page, kept, largest):
    """Bytes held more than asked for, averaged over the work, with calls to the system as bytes."""
    of, free, spare = {}, [0] * len(classes), 0
    asked = held = total = calls = 0.0
    for at, (size, freed) in enumerate(work):
        if freed is None:
            kind = bisect.bisect_left(classes, size) if size <= largest else None
            if kind is not None and kind >= len(classes):
                kind = None
            of[at] = kind, size
            asked += size
            if kind is None:
                held += -(-size // 4096) * 4096
                calls += 1
            else:
                if free[kind] == 0:
                    free[kind] += max(1, int(page // classes[kind]))
                    if spare:
                        spare -= 1
                    else:
                        held += page
                        calls += 1
                free[kind] -= 1
        else:
            kind, size = of.pop(freed)
            asked -= size
            if kind is None:
                held -= -(-size // 4096) * 4096
                calls += 1
            else:
                free[kind] += 1
                room = max(1, int(page // classes[kind]))
                if free[kind] >= 2 * room:
                    free[kind] -= room
                    if spare < kept:
                        spare += 1
                    else:
                        held -= page
                        calls += 1
        total += held - asked
    # The list of classes is memory too.
    return (total / len(work) + 60.0 * calls + 64.0 * len(classes)) / 1000.0


def problems():
    return {Tiles.name: Tiles, Allocator.name: Allocator}
