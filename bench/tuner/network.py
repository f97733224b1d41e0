"""A small network in plain numpy, as somebody would write it for a first study."""

import math

from learning import Learned
from problem import choice, number, power_of_two


class Network(Learned):
    """A network of one hidden layer in plain numpy, a fixed number of samples seen; too high a rate ends in no number."""

    name, data, noisy = "network-digits", "digits", True
    train, test = 700, 600
    seen = 6000
    literals = {
        "LEARNING_RATE": (number(1e-3, 10.0, log=True), 0.1),
        "MOMENTUM": (number(0.0, 0.99), 0.5),
        "WEIGHT_DECAY": (number(1e-6, 1e-2, log=True), 1e-4),
        "HIDDEN": (power_of_two(8, 128), 32),
        "BATCH": (power_of_two(8, 128), 32),
        "INIT_SCALE": (number(0.05, 5.0, log=True), 1.0),
        "ACTIVATION": (choice(3), 0),
        "FINAL_RATE": (number(0.0, 1.0), 1.0),
    }

    def measure(self, literals, state):
        import numpy

        x, y, x_test, y_test = self.parts
        draw = numpy.random.default_rng(state)
        hidden, batch = int(literals["HIDDEN"]), int(literals["BATCH"])
        scale, kind = literals["INIT_SCALE"], int(literals["ACTIVATION"])
        weights = [
            draw.normal(0.0, scale / 8.0, (64, hidden)),
            numpy.zeros(hidden),
            draw.normal(0.0, scale / math.sqrt(hidden), (hidden, 10)),
            numpy.zeros(10),
        ]
        speeds = [numpy.zeros_like(weight) for weight in weights]
        wanted = numpy.eye(10)[y]
        steps = self.seen // batch
        with numpy.errstate(all="ignore"):
            for step in range(steps):
                rows = draw.integers(0, len(y), batch)
                inner, slope = activated(x[rows] @ weights[0] + weights[1], kind)
                off = (soft(inner @ weights[2] + weights[3]) - wanted[rows]) / batch
                back = off @ weights[2].T * slope
                slopes = [x[rows].T @ back, back.sum(0), inner.T @ off, off.sum(0)]
                part = step / steps
                rate = literals["LEARNING_RATE"] * (1 - part + part * literals["FINAL_RATE"])
                for weight, speed, down in zip(weights, speeds, slopes):
                    speed *= literals["MOMENTUM"]
                    speed += down + literals["WEIGHT_DECAY"] * weight
                    weight -= rate * speed
            chance = soft(activated(x_test @ weights[0] + weights[1], kind)[0] @ weights[2] + weights[3])
        loss = -numpy.log(numpy.maximum(chance[numpy.arange(len(y_test)), y_test], 1e-9)).mean()
        # A loss above that of guessing is what a script that watches itself would stop at.
        return loss if loss < 4.0 else math.nan


def activated(x, kind):
    """The layer's output and its slope."""
    import numpy

    if kind == 0:
        inner = numpy.tanh(x)
        return inner, 1 - inner * inner
    if kind == 1:
        return numpy.maximum(x, 0.0), (x > 0).astype(float)
    inner = 1 / (1 + numpy.exp(-x))
    return inner, inner * (1 - inner)


def soft(x):
    import numpy

    grown = numpy.exp(x - x.max(1, keepdims=True))
    return grown / grown.sum(1, keepdims=True)


def problems():
    return {Network.name: Network}
