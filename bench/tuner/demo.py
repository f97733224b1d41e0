"""The study of `overnight demo`: a language model of bytes that is trained for a fixed budget.

Its own train.py and score.py are run, with two changes that keep a trial at hundredths of a second and a busy machine out
of the result: the budget is counted in work, about as a processor would spend it, and the text is shorter.
"""

import functools
import json
import math
import pathlib
import random
import statistics
import sysconfig
import types

from problem import Problem, number, whole

FILES = pathlib.Path(__file__).resolve().parents[2] / "crates" / "overnight" / "demo"
TRAIN_BYTES, VAL_BYTES = 40_000, 2_500
# What one second of a processor is to the whole text of the demo, this is to the shorter one here.
GRAMS = 60_000
TRUE_TRIALS = 8
# As its hints would be inferred: whole numbers and strengths by a factor around what is there.
LITERALS = {
    "ORDER": (whole(1, 8), 2),
    "CHUNK": (whole(200, 8000, log=True), 1000),
    "KEEP_FROM": (whole(1, 4), 1),
    "STRENGTH": (number(0.15, 15.0, log=True), 1.5),
    "STRENGTH_GROWTH": (number(0.1, 10.0, log=True), 1.0),
    "DISCOUNT": (number(0.01, 1.0, log=True), 0.1),
    "DISCOUNT_GROWTH": (number(0.1, 10.0, log=True), 1.0),
    "LOW_EVERY": (whole(1, 8), 2),
    "LOW_ORDERS": (whole(0, 4), 1),
}


class Demo(Problem):
    name = "demo"
    noisy = True

    def __init__(self, seed):
        self.space = [axis for axis, _ in LITERALS.values()]
        self.start = [float(value) for _, value in LITERALS.values()]
        self.train, self.val = texts(seed)

    def value(self, point, luck):
        literals = {
            name: int(value) if axis["grain"] == "whole" else value
            for (name, (axis, _)), value in zip(LITERALS.items(), point)
        }
        train, score = module("train"), module("score")
        for name, value in literals.items():
            setattr(train, name, value)
        train.time = Work(train)
        train.BUDGET = float(GRAMS)
        tables, _ = train.train(self.train, luck.randrange(2**31))
        tables = json.loads(json.dumps(model(train, tables)))
        try:
            for order, parts in enumerate(zip(tables["discount"], tables["strength"], tables["counts"])):
                score.check(order, *parts)
        except score.Refused:
            return None
        tables = list(zip(tables["discount"], tables["strength"], tables["counts"]))
        found = -sum(map(math.log2, score.probabilities(tables, self.val))) / len(self.val)
        return found if math.isfinite(found) else None

    def truth(self, point):
        values = [self.value(point, random.Random(f"truth/{at}")) for at in range(TRUE_TRIALS)]
        return None if None in values else statistics.mean(values)


class Work:
    """A clock of grams counted, with what a chunk and an order cost by themselves."""

    def __init__(self, train):
        self.train, self.spent, self.chunks = train, 0.0, 0

    def process_time(self):
        if self.chunks:
            first = 0 if self.chunks % self.train.LOW_EVERY == 0 else self.train.LOW_ORDERS + 1
            orders = max(0, self.train.ORDER + 1 - first)
            # Longer grams miss the cache more often.
            self.spent += 40.0 + sum(30.0 + self.train.CHUNK * (1.0 + 0.1 * (first + at)) for at in range(orders))
        self.chunks += 1
        return self.spent

    def monotonic(self):
        return 0.0


def model(train, tables):
    """What train.save would leave, without the file."""
    left = []
    train.json = types.SimpleNamespace(dump=lambda found, file: left.append(found))
    train.open = lambda *_: open("/dev/null", "w")
    train.save(tables)
    return left[0]


@functools.cache
def module(name):
    found = types.ModuleType(name)
    exec(compile((FILES / f"{name}.py").read_text(), str(FILES / f"{name}.py"), "exec"), found.__dict__)
    return found


@functools.cache
def texts(seed):
    """From the standard library's source, by file, as the demo collects it."""
    collect = module("collect")
    paths = sorted(collect.sources(sysconfig.get_path("stdlib")))
    random.Random(f"demo/{seed}").shuffle(paths)
    parts, at = [], 0
    for size in (VAL_BYTES, TRAIN_BYTES):
        text = ""
        while len(text) < size:
            more = pathlib.Path(paths[at]).read_text(encoding="utf-8", errors="ignore")
            text += more if more.isascii() else ""
            at += 1
        parts.append(text[:size])
    val, train = parts
    return train.encode(), val


def problems():
    return {Demo.name: Demo}
