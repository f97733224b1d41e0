"""All objectives by name."""

import demo
import learning
import network
import surrogate
import synthetic
import systems

GROUPS = {"synthetic": (synthetic, surrogate), "real": (learning, network, systems, demo)}


def names():
    return list(makers())


def make(name, seed):
    """The instance of a seed."""
    return makers()[name](seed)


def makers():
    return {name: make for modules in GROUPS.values() for module in modules for name, make in module.problems().items()}


def group(wanted):
    return next(group for group, modules in GROUPS.items() for module in modules if wanted in module.problems())
