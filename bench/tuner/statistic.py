"""Medians with intervals, and a paired test, without more than Python."""

import random
import statistics

RESAMPLES = 2000
LEVEL = 0.05


def median_interval(values):
    """The median, and where 95 % of the medians of resamples lie."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(RESAMPLES))
    cut = int(RESAMPLES * LEVEL / 2)
    return statistics.median(values), medians[cut], medians[-1 - cut]


def wilcoxon(ones, others):
    """How likely a difference between pairs is, as large or larger, where there is none: signed ranks, two-sided, exact.

    Equal pairs are left out; ranks that are tied share their mean.
    """
    differences = [one - other for one, other in zip(ones, others) if one != other]
    if not differences:
        return 1.0
    ordered = sorted(differences, key=abs)
    ranks, at = {}, 0
    while at < len(ordered):
        end = at
        while end < len(ordered) and abs(ordered[end]) == abs(ordered[at]):
            end += 1
        # Twice the mean rank, so that it stays a whole number.
        for place in range(at, end):
            ranks[place] = at + 1 + end
        at = end
    sums = {0: 1}
    for rank in ranks.values():
        following = dict(sums)
        for total, count in sums.items():
            following[total + rank] = following.get(total + rank, 0) + count
        sums = following
    plus = sum(ranks[place] for place, difference in enumerate(ordered) if difference > 0)
    lower = min(plus, sum(ranks.values()) - plus)
    tail = sum(count for total, count in sums.items() if total <= lower)
    return min(1.0, 2 * tail / 2 ** len(ordered))
