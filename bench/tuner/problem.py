"""What is searched: literals, a start, and a value for each point, lower is better."""

import math
import random


def number(low, high, log=False, grain="any"):
    return {"low": low, "high": high, "log": log, "grain": grain}


def whole(low, high, log=False):
    return number(low, high, log, "whole")


def power_of_two(low, high):
    return number(low, high, True, "power-of-two")


def choice(options):
    return {"options": options}


class Problem:
    """One instance. `value` is what is measured with a trial's own luck, and None where it fails."""

    name = ""
    space, start = [], []
    noisy = False
    # The best value there is, where that is known.
    optimum = None

    def value(self, point, luck):
        raise NotImplementedError

    def truth(self, point):
        """The value without luck."""
        return self.value(point, random.Random(0))


def luck(problem, seed, trial):
    """The k-th trial has the same luck whoever asks."""
    return random.Random(f"{problem.name}/{seed}/{trial}")


def unit(axis, value):
    """Where a value lies in its range, from 0 to 1, in steps that are felt alike."""
    low, high = axis["low"], axis["high"]
    if axis["log"]:
        low, high, value = math.log(low), math.log(high), math.log(value)
    return (value - low) / (high - low)


def at_unit(axis, place):
    """The value at a place from 0 to 1; choices too, by equal parts."""
    if "options" in axis:
        return float(min(int(place * axis["options"]), axis["options"] - 1))
    low, high = axis["low"], axis["high"]
    if axis["log"]:
        value = math.exp(math.log(low) + place * (math.log(high) - math.log(low)))
    else:
        value = low + place * (high - low)
    if axis["grain"] == "whole":
        value = float(round(value))
    elif axis["grain"] == "power-of-two":
        value = 2.0 ** round(math.log2(value))
    return min(max(value, low), high)
