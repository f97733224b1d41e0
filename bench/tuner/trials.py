"""One run of one method on one instance, and what is stored of it."""

import statistics

import methods
import objectives
from problem import luck

# After so many trials, the start among them, it is looked at what would be handed over.
LOOKS = (10, 25, 50, 75, 100, 150, 200)
# Where the second rule is applied too: see `chosen_again`.
AGAIN = (25, 50, 100, 200)
# A study measures its start so often before anything is proposed.
CALIBRATION = 4
TOP, REPEATS = 5, 3


def run(objective, method, seed, trials=LOOKS[-1]):
    """All that the tables need, as one JSON object."""
    problem = objectives.make(objective, seed)
    search = methods.search(method, problem.space, problem.start, seed)
    try:
        return {"objective": objective, "method": method, "seed": seed, **followed(problem, search, seed, trials)}
    finally:
        search.close()


def followed(problem, search, seed, trials):
    true = Truth(problem)
    value, error, sd = start_of(problem, seed)
    search.tell(problem.start, value, error)
    told, found, again, failed = [(problem.start, value)], [], [], 0
    for trial in range(2, trials + 1):
        point = search.ask()
        if point is not None:
            value = problem.value(point, luck(problem, seed, trial))
            failed += value is None
            told.append((point, value))
            search.tell(point, value, sd)
        if trial in LOOKS:
            found.append(short(true(search.best())))
            if trial in AGAIN and problem.noisy:
                again.append(short(true(chosen_again(problem, told, seed))))
    return {
        "start": short(true(problem.start)),
        "optimum": problem.optimum,
        "true": found,
        "again": again or None,
        "failed": failed,
        "cpu_seconds": short(search.seconds),
    }


def start_of(problem, seed):
    """The start's value, its standard error, and the sd of one trial as far as is known.

    A study measures its start several times before it lets anybody propose. All methods are told the mean of that.
    """
    if not problem.noisy:
        return problem.value(problem.start, luck(problem, seed, 1)), 0.0, 0.0
    values = [problem.value(problem.start, luck(problem, seed, f"start-{at}")) for at in range(CALIBRATION)]
    sd = statistics.stdev(values)
    return statistics.mean(values), sd / CALIBRATION**0.5, sd


def chosen_again(problem, told, seed):
    """The same rule for everybody: the five best values are measured three times more, and the best mean wins."""
    measured = sorted((value, at) for at, (_, value) in enumerate(told) if value is not None)[:TOP]
    means = []
    for _, at in measured:
        values = [problem.value(told[at][0], luck(problem, seed, f"again-{at}-{k}")) for k in range(REPEATS)]
        if None not in values:
            means.append((statistics.mean(values), at))
    return told[min(means)[1]][0] if means else told[0][0]


class Truth:
    """True values, each worked out once: some are the mean of many trials."""

    def __init__(self, problem):
        self.problem, self.known = problem, {}

    def __call__(self, point):
        key = tuple(point)
        if key not in self.known:
            self.known[key] = self.problem.truth(point)
        return self.known[key]


def short(value):
    return None if value is None else float(f"{value:.6g}")
