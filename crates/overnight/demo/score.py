"""Scores a model on data/val.txt, which only this program sees: `val_bpb` is bits per byte, lower is better.

A model is data: tables of counts, each with a discount and a strength. How they become probabilities is defined here, so
whatever the tables hold, the probabilities of the 256 bytes that can come next add up to 1.
"""

import json
import math
import os
import sys

MOST_BYTES = 31_500_000
MOST_ORDERS = 13
MOST_ENTRIES = 1_500_000
LARGEST_COUNT = 1_000_000_000
STRENGTHS = (0.001, 1_000_000.0)


class Refused(Exception):
    """The model is not what it must be."""


def main():
    try:
        tables = read(os.path.join(os.environ["OVERNIGHT_ARTIFACTS"], "model.json"))
    except Refused as refused:
        sys.exit(f"model.json {refused}")
    with open("data/val.txt", "rb") as file:
        text = file.read().decode("latin-1")
    bits = -sum(map(math.log2, probabilities(tables, text)))
    print(f"val_bpb: {bits / len(text):.6f}")


def probabilities(tables, text):
    """What each byte of the text gets, given those before it.

    Without a context all bytes are equal. Each longer context that was seen takes its discount off its counts, and what
    is free then, with its strength, goes to what the shorter contexts say: the sum stays 1.
    """
    found = [1 / 256] * len(text)
    for order, (discount, strength, counts) in enumerate(tables):
        wanted = {text[at - order : at] for at in range(order, len(text))}
        total, kinds = {}, {}
        for gram, count in counts.items():
            context = gram[:-1]
            if context in wanted:
                total[context] = total.get(context, 0) + count
                kinds[context] = kinds.get(context, 0) + 1
        for at in range(order, len(text)):
            context = text[at - order : at]
            if context in total:
                seen = max(0, counts.get(text[at - order : at + 1], 0) - discount)
                free = discount * kinds[context] + strength
                found[at] = (seen + free * found[at]) / (total[context] + strength)
    return found


def read(path):
    """The tables of a model: (discount, strength, counts) for contexts of 0, 1, 2 … bytes."""
    try:
        if os.path.getsize(path) > MOST_BYTES:
            raise Refused(f"has more than {MOST_BYTES} bytes")
        with open(path, encoding="utf-8") as file:
            model = json.load(file, parse_constant=no_number)
    except FileNotFoundError:
        raise Refused("is missing")
    except (OSError, ValueError, RecursionError):
        raise Refused("is not JSON")
    if type(model) is not dict or set(model) != {"discount", "strength", "counts"}:
        raise Refused("must have discount, strength and counts, and nothing else")
    if any(type(part) is not list for part in model.values()):
        raise Refused("must have lists only")
    sizes = {len(part) for part in model.values()}
    if len(sizes) != 1 or not 1 <= max(sizes) <= MOST_ORDERS:
        raise Refused(f"must have 1 to {MOST_ORDERS} orders, with all three of each")
    for order in range(max(sizes)):
        check(order, model["discount"][order], model["strength"][order], model["counts"][order])
    if sum(map(len, model["counts"])) > MOST_ENTRIES:
        raise Refused(f"has more than {MOST_ENTRIES} entries")
    return list(zip(model["discount"], model["strength"], model["counts"]))


def check(order, discount, strength, counts):
    low, high = STRENGTHS
    if type(discount) not in (int, float) or not 0 <= discount <= 1:
        raise Refused(f"has a discount outside 0 to 1 for order {order}")
    if type(strength) not in (int, float) or not low <= strength <= high:
        raise Refused(f"has a strength outside {low} to {high} for order {order}")
    if type(counts) is not dict:
        raise Refused(f"has no table for order {order}")
    if any(type(count) is not int or not 1 <= count <= LARGEST_COUNT for count in counts.values()):
        raise Refused(f"has a count that is no whole number from 1 to {LARGEST_COUNT} for order {order}")
    if any(len(gram) != order + 1 for gram in counts) or max("".join(counts), default="") > "\xff":
        raise Refused(f"has an entry that is not {order + 1} bytes for order {order}")


def no_number(name):
    raise ValueError(name)


if __name__ == "__main__":
    main()
