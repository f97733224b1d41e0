"""Models of scikit-learn on the data that comes with it, from the library's own defaults.

A seed draws which samples are trained on and which are scored. Where a model has luck of its own it is drawn anew for
each trial, and the true value is the mean of many.
"""

import functools
import math
import random
import statistics
import warnings

from problem import Problem, choice, number, whole

# For the true value of what is drawn at random.
TRUE_TRIALS = 12


class Learned(Problem):
    """Literals by name: what they may be, what they are. `measure` scores them with one random state."""

    literals = {}
    data = ""
    train, test = 200, 300

    def __init__(self, seed):
        self.space = [axis for axis, _ in self.literals.values()]
        self.start = [float(value) for _, value in self.literals.values()]
        x, y = loaded(self.data)
        order = list(range(len(y)))
        random.Random(f"{self.name}/{seed}").shuffle(order)
        fit, score = order[: self.train], order[self.train : self.train + self.test]
        self.parts = x[fit], y[fit], x[score], y[score]

    def value(self, point, luck):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = self.measure(dict(zip(self.literals, point)), luck.randrange(2**31) if self.noisy else 1)
        return float(found) if math.isfinite(found) else None

    def truth(self, point):
        if not self.noisy:
            return self.value(point, None)
        draws = (random.Random(f"truth/{at}") for at in range(TRUE_TRIALS))
        values = [value for draw in draws if (value := self.value(point, draw)) is not None]
        # What fails now and then is not worth handing over.
        return statistics.mean(values) if len(values) == TRUE_TRIALS else None

    def measure(self, literals, state):
        raise NotImplementedError


@functools.cache
def loaded(name):
    from sklearn import datasets
    from sklearn.preprocessing import StandardScaler

    x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    if name == "digits":
        return x / 16.0, y
    return StandardScaler().fit_transform(x), (y - y.mean()) / y.std() if name == "diabetes" else y


class SupportVectors(Learned):
    """The share of digits that is read wrongly."""

    name, data = "svc-digits", "digits"
    train, test = 250, 500
    kernels = ["rbf", "poly", "sigmoid", "linear"]
    literals = {
        "C": (number(0.01, 100.0, log=True), 1.0),
        "gamma": (number(1e-4, 1.0, log=True), 1 / 64),
        "kernel": (choice(4), 0),
        "degree": (whole(1, 6), 3),
        "coef0": (number(0.0, 4.0), 0.0),
        "shrinking": (choice(2), 1),
    }

    def measure(self, literals, state):
        from sklearn.svm import SVC

        model = SVC(
            C=literals["C"],
            gamma=literals["gamma"],
            kernel=self.kernels[int(literals["kernel"])],
            degree=int(literals["degree"]),
            coef0=literals["coef0"],
            shrinking=bool(literals["shrinking"]),
            max_iter=3000,
        )
        x, y, x_test, y_test = self.parts
        return 1.0 - model.fit(x, y).score(x_test, y_test)


class SupportVectorRegression(Learned):
    """The unexplained share of how diabetes goes on."""

    name, data = "svr-diabetes", "diabetes"
    train, test = 220, 220
    literals = {
        "C": (number(0.1, 10.0, log=True), 1.0),
        "epsilon": (number(0.01, 1.0, log=True), 0.1),
        "gamma": (number(0.001, 1.0, log=True), 0.1),
        "kernel": (choice(4), 0),
        "degree": (whole(1, 6), 3),
        "coef0": (number(0.0, 2.0), 0.0),
    }

    def measure(self, literals, state):
        from sklearn.svm import SVR

        model = SVR(
            C=literals["C"],
            epsilon=literals["epsilon"],
            gamma=literals["gamma"],
            kernel=SupportVectors.kernels[int(literals["kernel"])],
            degree=int(literals["degree"]),
            coef0=literals["coef0"],
            max_iter=3000,
        )
        x, y, x_test, y_test = self.parts
        found = model.fit(x, y).predict(x_test)
        # A polynomial may go anywhere; past this it is only wrong.
        return min(((found - y_test) ** 2).mean(), 5.0)


class Boosting(Learned):
    """Gradient boosting, with fewer trees than the default so that a trial takes a hundredth of a second."""

    name, data = "boosting-diabetes", "diabetes"
    train, test = 150, 290
    literals = {
        "learning_rate": (number(0.01, 1.0, log=True), 0.1),
        "n_estimators": (whole(5, 50, log=True), 20),
        "max_depth": (whole(1, 8), 3),
        "min_samples_split": (whole(2, 20), 2),
        "min_samples_leaf": (whole(1, 20), 1),
        "subsample": (number(0.3, 1.0), 1.0),
        "max_features": (number(0.1, 1.0), 1.0),
        "loss": (choice(3), 0),
    }

    def measure(self, literals, state):
        from sklearn.ensemble import GradientBoostingRegressor

        literals = dict(literals)
        for name in ("n_estimators", "max_depth", "min_samples_split", "min_samples_leaf"):
            literals[name] = int(literals[name])
        literals["loss"] = ["squared_error", "absolute_error", "huber"][int(literals["loss"])]
        x, y, x_test, y_test = self.parts
        found = GradientBoostingRegressor(random_state=state, **literals).fit(x, y).predict(x_test)
        return ((found - y_test) ** 2).mean()


class Forest(Learned):
    """A few trees: log loss, other trees each time."""

    name, data, noisy = "forest-cancer", "breast_cancer", True
    train, test = 200, 350
    trees = 12
    literals = {
        "max_depth": (whole(2, 24), 24),
        "min_samples_split": (whole(2, 20), 2),
        "min_samples_leaf": (whole(1, 20), 1),
        "max_features": (number(0.05, 1.0), 0.18),
        "criterion": (choice(3), 0),
        "bootstrap": (choice(2), 1),
        "ccp_alpha": (number(0.0, 0.05), 0.0),
        "splitter": (choice(2), 0),
    }

    def measure(self, literals, state):
        import numpy
        from sklearn.tree import DecisionTreeClassifier

        x, y, x_test, y_test = self.parts
        draw = numpy.random.default_rng(state)
        chance = numpy.zeros(len(y_test))
        for _ in range(self.trees):
            rows = draw.integers(0, len(y), len(y)) if literals["bootstrap"] else numpy.arange(len(y))
            tree = DecisionTreeClassifier(
                max_depth=int(literals["max_depth"]),
                min_samples_split=int(literals["min_samples_split"]),
                min_samples_leaf=int(literals["min_samples_leaf"]),
                max_features=literals["max_features"],
                criterion=["gini", "entropy", "log_loss"][int(literals["criterion"])],
                splitter=["best", "random"][int(literals["splitter"])],
                ccp_alpha=literals["ccp_alpha"],
                random_state=int(draw.integers(2**31)),
            )
            chance += tree.fit(x[rows], y[rows]).predict_proba(x_test)[:, 1]
        chance = numpy.clip(chance / self.trees, 0.01, 0.99)
        return -numpy.where(y_test == 1, numpy.log(chance), numpy.log(1 - chance)).mean()


class Descent(Learned):
    """A linear classifier by stochastic descent: log loss, another order each time."""

    name, data, noisy = "descent-cancer", "breast_cancer", True
    train, test = 200, 350
    literals = {
        "alpha": (number(1e-6, 1e-1, log=True), 1e-4),
        "eta0": (number(1e-4, 1.0, log=True), 0.01),
        "learning_rate": (choice(3), 0),
        "power_t": (number(0.05, 1.0), 0.25),
        "penalty": (choice(3), 0),
        "l1_ratio": (number(0.0, 1.0), 0.15),
        "average": (choice(2), 0),
        "max_iter": (whole(1, 30, log=True), 5),
    }

    def measure(self, literals, state):
        import numpy
        from sklearn.linear_model import SGDClassifier

        model = SGDClassifier(
            loss="log_loss",
            alpha=literals["alpha"],
            eta0=literals["eta0"],
            learning_rate=["constant", "invscaling", "optimal"][int(literals["learning_rate"])],
            power_t=literals["power_t"],
            penalty=["l2", "l1", "elasticnet"][int(literals["penalty"])],
            l1_ratio=literals["l1_ratio"],
            average=bool(literals["average"]),
            max_iter=int(literals["max_iter"]),
            tol=None,
            random_state=state,
        )
        x, y, x_test, y_test = self.parts
        far = model.fit(x, y).decision_function(x_test) * numpy.where(y_test == 1, 1.0, -1.0)
        return numpy.logaddexp(0.0, -numpy.clip(far, -30.0, 30.0)).mean()


def problems():
    kinds = (SupportVectors, SupportVectorRegression, Boosting, Forest, Descent)
    return {kind.name: kind for kind in kinds}
