"""The short form: what must hold on every machine, in seconds and without pip; and how long one ask takes."""

import random
import statistics
import time

import methods
import trials
from problem import at_unit
from synthetic import assorted

OBJECTIVES = ("sphere-8", "mixed-14-noisy")
SEEDS, TRIALS = 3, 50
# What is promised: one ask and one tell together, at so many literals and so many points.
LITERALS, TOLD, MOST_MILLISECONDS = 20, 1000, 5.0


def main():
    """Fails where ours hands over what is worse than the start, or does no better than chance on a bowl."""
    broken = []
    for objective in OBJECTIVES:
        regrets = {}
        for method in methods.PLAIN:
            for seed in range(1, SEEDS + 1):
                row = trials.run(objective, method, seed, TRIALS)
                regret = (row["true"][-1] - row["optimum"]) / (row["start"] - row["optimum"])
                regrets.setdefault(method, []).append(regret)
                if method == "overnight" and regret > 1.0:
                    broken.append(f"{objective}, seed {seed}: {regret:.3f} times the start's regret after {TRIALS} trials")
        medians = {method: statistics.median(found) for method, found in regrets.items()}
        print(f"{objective:16} median regret after {TRIALS} trials, start = 1: " + ", ".join(f"{method} {value:.3f}" for method, value in medians.items()))
        if objective == OBJECTIVES[0] and medians["overnight"] >= medians["random"]:
            broken.append(f"{objective}: no better than random ({medians['overnight']:.3f} and {medians['random']:.3f})")
    if broken:
        raise SystemExit("error: the tuner's search does not do what it promises\n  " + "\n  ".join(broken))


def timing():
    """The middle of several asks, each with all points told; the tell is among them."""
    space = assorted(LITERALS)
    for noise in (0.0, 0.1):
        for method in ("overnight", "tpe"):
            asks, bests = measured(method, space, noise)
            middle = statistics.median(asks)
            line = f"{method:10} {'noisy' if noise else 'exact'}: {middle:.2f} ms for one ask and one tell at {LITERALS} literals and {TOLD:,} points"
            if method == "overnight":
                line += f" (target {'met' if middle < MOST_MILLISECONDS else 'MISSED'}), {statistics.median(bests):.2f} ms to say which is best"
            print(line)


def measured(method, space, noise):
    """Milliseconds of the processor: of one ask with one tell, and of saying what is best."""
    draw = random.Random(1)
    point = [at_unit(axis, 0.5) for axis in space]
    search = methods.search(method, space, point, 1)
    asks, bests = [], []
    for told in range(1, TOLD + 20):
        before = search.seconds
        search.tell(point, value(space, point) + draw.gauss(0.0, noise), noise)
        if told < TOLD - 1:
            point = [at_unit(axis, min(max(draw.gauss(0.5, 0.15), 0.0), 1.0)) for axis in space]
            continue
        point = search.ask()
        # The first includes all that was told until then.
        if told >= TOLD:
            asks.append(1000.0 * (search.seconds - before))
            bests.append(1000.0 * search.answered({"best": True})["seconds"])
    search.close()
    return asks, bests


def value(space, point):
    return sum(weigh(axis, at) for axis, at in zip(space, point))


def weigh(axis, at):
    if "options" in axis:
        return 0.1 * at
    return ((at - axis["low"]) / (axis["high"] - axis["low"]) - 0.6) ** 2
