"""A training script with fourteen literals, as far as it can be had without training.

The names, ranges and defaults are those of a small language model's training script, as used where classical searches and
language models were compared on it (arXiv 2603.24647): a start near 0.991, the best near 0.974, runs of one commit that
scatter by 0.002, and no result at all where the model and its batch do not fit into memory. What each literal is worth is
made up, drawn for each seed; no claim is made about the real script.
"""

import math
import random

from problem import Problem, at_unit, choice, number, power_of_two, unit, whole

LITERALS = {
    "DEPTH": (whole(4, 24), 8),
    "ASPECT_RATIO": (whole(32, 128), 64),
    "HEAD_DIM": (power_of_two(64, 256), 128),
    "DEVICE_BATCH_SIZE": (power_of_two(32, 256), 128),
    "TOTAL_BATCH_SIZE": (power_of_two(65536, 2097152), 524288),
    "EMBEDDING_LR": (number(0.01, 2.0, log=True), 0.6),
    "UNEMBEDDING_LR": (number(5e-4, 0.05, log=True), 0.004),
    "MATRIX_LR": (number(0.005, 0.2, log=True), 0.04),
    "SCALAR_LR": (number(0.05, 2.0, log=True), 0.5),
    "WEIGHT_DECAY": (number(0.0, 0.5), 0.2),
    "WARMUP": (number(0.0, 0.3), 0.0),
    "WARMDOWN": (number(0.1, 0.8), 0.5),
    "FINAL_LR_FRAC": (number(0.0, 0.2), 0.0),
    "WINDOW_PATTERN": (choice(6), 0),
}
NAMES = list(LITERALS)
# How much of the gap each is worth, about.
WORTH = [4.0, 1.5, 0.6, 0.3, 4.0, 1.0, 0.7, 3.0, 0.4, 0.8, 0.3, 0.8, 0.5, 0.6]
START, BEST, NOISE = 0.991, 0.974, 0.002


class Surrogate(Problem):
    name = "training-14"
    noisy = True
    optimum = BEST

    def __init__(self, seed):
        draw = random.Random(f"{self.name}/{seed}")
        self.space = [axis for axis, _ in LITERALS.values()]
        self.start = [float(value) for _, value in LITERALS.values()]
        self.worth = [worth * 10 ** draw.uniform(-0.4, 0.4) for worth in WORTH]
        self.memory = draw.uniform(1.4, 1.9)
        self.best = []
        for axis, value in zip(self.space, self.start):
            if "options" in axis:
                self.best.append(float(draw.randrange(axis["options"])))
            else:
                place = unit(axis, value) + draw.choice((0.0, 1.0, 1.0, 1.0)) * draw.choice((-1, 1)) * draw.uniform(0.1, 0.25)
                self.best.append(at_unit(axis, min(max(place, 0.02), 0.98)))
        # What is best has to fit, or it is not the best.
        while self.need(self.best) > self.memory:
            self.best[0] -= 1.0
        self.scale = 1.0
        self.scale = (START - BEST) / self.gap(self.start)

    def need(self, point):
        """Memory, 1 at the start: layers times width, and the batch on the device."""
        size = (point[0] / 8) ** 2 * (point[1] / 64)
        return 0.35 * size**1.5 + 0.65 * size * point[3] / 128

    def gap(self, point):
        away = [
            (0.25 if value != best else 0.0) if "options" in axis else unit(axis, value) - unit(axis, best)
            for axis, value, best in zip(self.space, point, self.best)
        ]
        total = sum(worth * x * x for worth, x in zip(self.worth, away))
        # A larger batch wants a larger rate, and a deeper model a smaller one.
        together = 2.0 * (away[7] - 0.6 * away[4]) ** 2 + 1.5 * (away[0] + 0.7 * away[7]) ** 2
        # Too high a rate costs more than too low a one.
        steep = 6.0 * max(0.0, away[7] - 0.2) ** 1.5
        return self.scale * (total + together + steep)

    def truth(self, point):
        if self.need(point) > self.memory:
            return None
        gap = self.gap(point)
        # Far away it does not get worse without end: an untrained model is an untrained model.
        return BEST + 0.5 * math.tanh(gap / 0.5)

    def value(self, point, luck):
        true = self.truth(point)
        return None if true is None else true + luck.gauss(0.0, NOISE)


def problems():
    return {Surrogate.name: Surrogate}
