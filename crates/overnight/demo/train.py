"""Trains a small language model of bytes, for a fixed budget, and leaves it as tables of counts.

It reads data/train.txt chunk by chunk, in an order drawn from OVERNIGHT_SEED, until OVERNIGHT_BUDGET_SECONDS of processor
time are spent, and counts which byte follows which context. How counts become probabilities is said in score.py, which
this file cannot change.
"""

import json
import os
import random
import time
from collections import Counter

# What may be tuned.
ORDER = 2                # how many bytes of context the longest table has
CHUNK = 4000             # how many bytes are read at one place
KEEP_FROM = 1            # rarer entries are left out of the tables
STRENGTH = 1.5           # how much a shorter context says
STRENGTH_GROWTH = 1.0    # ... from each order to the next
DISCOUNT = 0.1           # taken off every count, and given to what a shorter context says
DISCOUNT_GROWTH = 1.0    # ... from each order to the next
LOW_EVERY = 2            # short contexts learn quickly: they get every second chunk only
LOW_ORDERS = 1           # ... up to this order

BUDGET = float(os.environ.get("OVERNIGHT_BUDGET_SECONDS", "1"))
SEED = int(os.environ.get("OVERNIGHT_SEED", "0"))
OUT = os.environ.get("OVERNIGHT_OUT", ".")


def main(seed=SEED):
    with open("data/train.txt", "rb") as file:
        text = file.read()
    tables, read = train(text, seed)
    save(tables)
    print(f"read {read:,} bytes, left {sum(map(len, tables)):,} entries")


def train(text, seed):
    """Counts in chunks until the budget is spent: what a busy machine takes from us is not counted, up to a limit."""
    draw = random.Random(seed)
    latest = time.monotonic() + 4 * BUDGET
    tables = [Counter() for _ in range(ORDER + 1)]
    places, chunks = [], 0
    while time.process_time() < BUDGET and time.monotonic() < latest:
        if not places:
            places = list(range(0, len(text), CHUNK))
            draw.shuffle(places)
        at = places.pop()
        chunk = text[at : at + CHUNK]
        chunks += 1
        first = 0 if chunks % LOW_EVERY == 0 else LOW_ORDERS + 1
        for order in range(first, ORDER + 1):
            tables[order].update([chunk[i : i + order + 1] for i in range(len(chunk) - order)])
    return tables, chunks * CHUNK


def save(tables):
    model = {
        "discount": [min(0.99, DISCOUNT * DISCOUNT_GROWTH**order) for order in range(ORDER + 1)],
        "strength": [max(0.001, STRENGTH * STRENGTH_GROWTH**order) for order in range(ORDER + 1)],
        "counts": [
            {gram.decode("latin-1"): count for gram, count in table.items() if count >= KEEP_FROM} for table in tables
        ],
    }
    with open(os.path.join(OUT, "model.json"), "w") as file:
        json.dump(model, file)


if __name__ == "__main__":
    main()
