"""The searches, all driven alike: `tell(point, value or None, error)`, `ask()` for a point, `best()`, `seconds` so far
(of the processor, because a machine that is busy with other runs makes any of them wait).

Every one is told the start first. What each is told of noise and failure is what it has a place for:

  overnight     the value with its standard error; a failure as such
  tpe           the crate: a failure as infinity, of which it only takes the order
  optuna-tpe    a failure as a pruned trial, which it ranks below all others (a failed one it forgets)
  optuna-cma    begins at the start (`x0`), with margin where literals are whole; a failure as the worst value so far
  optuna-gp     a failure as the worst value so far
  random        nothing

All of Optuna is as it ships otherwise, and `best` of all but ours is the best value that was seen.
"""

import contextlib
import json
import math
import pathlib
import random
import subprocess
import time
import warnings

from problem import at_unit


class Search:
    def __init__(self, space, start, seed):
        self.space, self.start, self.seed = space, start, seed
        self.told, self.seconds = [], 0.0

    def tell(self, point, value, error):
        self.told.append((point, value))

    def best(self):
        measured = [(value, at) for at, (_, value) in enumerate(self.told) if value is not None]
        return self.told[min(measured)[1]][0] if measured else None

    def close(self):
        pass


class Random(Search):
    def __init__(self, space, start, seed):
        super().__init__(space, start, seed)
        self.draw = random.Random(f"random/{seed}")

    def ask(self):
        return [at_unit(axis, self.draw.random()) for axis in self.space]


class Server(Search):
    """A search in Rust, over lines."""

    program = None

    def __init__(self, space, start, seed, method):
        super().__init__(space, start, seed)
        self.is_ours = method == "overnight"
        self.process = subprocess.Popen([self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.say({"method": method, "space": space, "start": start, "seed": seed})

    def say(self, line):
        self.process.stdin.write(json.dumps(line) + "\n")

    def answered(self, line):
        self.say(line)
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"{self.program} ended with {self.process.wait()} when asked {line}")
        return json.loads(answer)

    def tell(self, point, value, error):
        super().tell(point, value, error)
        self.say({"told": [point, value, error]})

    def ask(self):
        answer = self.answered({"ask": 1})
        self.seconds += answer["seconds"]
        return answer["point"]

    def best(self):
        return self.answered({"best": True})["point"] if self.is_ours else super().best()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Optuna(Search):
    def __init__(self, space, start, seed, method):
        super().__init__(space, start, seed)
        warnings.filterwarnings("ignore")
        import optuna

        self.optuna, self.method = optuna, method
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.distributions = {name(at): distribution(optuna, axis) for at, axis in enumerate(space)}
        inside = {name(at): self.inside(at, value) for at, value in enumerate(start)}
        self.study = optuna.create_study(sampler=self.sampler(seed, inside))
        self.study.enqueue_trial(inside)
        self.open = self.study.ask(self.distributions)
        self.worst = None

    def sampler(self, seed, start):
        samplers = self.optuna.samplers
        if self.method == "optuna-tpe":
            return samplers.TPESampler(seed=seed)
        if self.method == "optuna-gp":
            import torch

            torch.set_num_threads(1)
            samplers._gp.sampler.torch = OnProcessor(torch)
            return samplers.GPSampler(seed=seed)
        numbers = {key: value for key, value in start.items() if "options" not in self.space[int(key[1:])]}
        is_whole = any(axis.get("grain", "any") != "any" for axis in self.space)
        return samplers.CmaEsSampler(x0=numbers, seed=seed, with_margin=is_whole, warn_independent_sampling=False)

    def inside(self, at, value):
        axis = self.space[at]
        if "options" in axis or axis["grain"] == "whole":
            return int(value)
        return round(math.log2(value)) if axis["grain"] == "power-of-two" else value

    def outside(self, at, value):
        axis = self.space[at]
        return 2.0**value if axis.get("grain") == "power-of-two" else float(value)

    def tell(self, point, value, error):
        super().tell(point, value, error)
        begin = time.process_time()
        if value is None and self.method == "optuna-tpe":
            self.study.tell(self.open, state=self.optuna.trial.TrialState.PRUNED)
        else:
            self.worst = max(v for v in (value, self.worst) if v is not None)
            self.study.tell(self.open, self.worst if value is None else value)
        self.seconds += time.process_time() - begin

    def ask(self):
        begin = time.process_time()
        self.open = self.study.ask(self.distributions)
        self.seconds += time.process_time() - begin
        return [self.outside(at, self.open.params[name(at)]) for at in range(len(self.space))]


class OnProcessor:
    """Torch without the guard that keeps Optuna off a graphics card: here is none, and it takes a third of the time."""

    def __init__(self, torch):
        self.torch = torch

    def __getattr__(self, what):
        return (lambda _: contextlib.nullcontext()) if what == "device" else getattr(self.torch, what)


def name(at):
    return f"x{at:02}"


def distribution(optuna, axis):
    of = optuna.distributions
    if "options" in axis:
        return of.CategoricalDistribution(list(range(axis["options"])))
    low, high = axis["low"], axis["high"]
    if axis["grain"] == "power-of-two":
        # By exponent: the kindest way to say it.
        return of.IntDistribution(round(math.log2(low)), round(math.log2(high)))
    if axis["grain"] == "whole":
        return of.IntDistribution(int(low), int(high), log=axis["log"])
    return of.FloatDistribution(low, high, log=axis["log"])


# In the order of tables.
METHODS = ["overnight", "optuna-tpe", "optuna-cma", "optuna-gp", "tpe", "random"]
# These need nothing that pip would have to bring.
PLAIN = ["overnight", "tpe", "random"]


def search(method, space, start, seed):
    if method == "random":
        return Random(space, start, seed)
    if method.startswith("optuna-"):
        return Optuna(space, start, seed, method)
    return Server(space, start, seed, method)


def use_program(path):
    Server.program = pathlib.Path(path)
