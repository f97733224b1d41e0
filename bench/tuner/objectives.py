"""All objectives by name."""

import surrogate
import synthetic


def names():
    return list(makers())


def make(name, seed):
    """The instance of a seed."""
    return makers()[name](seed)


def makers():
    return {**synthetic.problems(), **surrogate.problems()}
