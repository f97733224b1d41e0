"""A program of the usual kind."""
import random
from dataclasses import dataclass, field

SEED = 1337
RATES = [1e-3, 3e-4, 0x10]
NAMES = {"a b": 1, 'c': "d\te", **{}}


@dataclass(frozen=True)
class Point:
    x: float = 0.0
    y: float = field(default=1.0)

    def norm(self, *, power: int = 2) -> float:
        """How far it is."""
        return (abs(self.x) ** power + abs(self.y) ** power) ** (1 / power)


def walk(steps, rng=random.Random(SEED)):
    at = Point()
    for step in range(steps):
        if step % 2 == 0 and not at.x > 3:
            at = Point(at.x + rng.random(), at.y)
        elif step == 7:
            continue
        else:
            at = Point(at.x, at.y - 1.5)
            print(f"{step:>4} {at.norm()!r}", "and" "more")
        last = step
    while True:
        try:
            yield lambda value, by=2: value // by
        except (ValueError, KeyError) as error:
            raise RuntimeError('no') from error
        finally:
            last -= 1
        break
    return [a for b in RATES if b for a in (b, -b)], last
