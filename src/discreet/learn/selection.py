"""Choose hyperparameters privately: train a secret number of random candidates, and release the best.

    PrivateSearch(LogisticRegression(), {"regularisation": [1, 4, 16]}, candidates=10)

A candidate is one fit with parameters drawn from the grid, and a noisy number of persons whom it classifies
right. The number of candidates is drawn from the logarithmic law of the given mean. Only the best candidate is
released, with its score. The others, and how many there were, are forgotten.

Claim. Neighbours differ by one person. If a candidate with its score is ε-DP, the search is 2ε-DP; if it is
μ-Gaussian DP, the search has the profile of `discreet.privacy.theorems.selection`, by which candidates are
priced such that the search is (ε, δ)-DP by itself, and, in a vault, Gaussian DP within the price, which a ledger
adds up. The proof needs that the number of candidates stays secret: it reports no progress, and who can time a
fit learns something that the guarantee does not cover. The label says so. Theory:
docs/theory/private-selection.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, clone

from discreet import noise
from discreet.engines.examples import WHOLE, Batch, Examples
from discreet.errors import Code, Fix, ParameterError
from discreet.learn import model_json
from discreet.learn.estimator import _KINDS, Columns, PrivateEstimator
from discreet.learn.linear_classifier import _LinearClassifier
from discreet.learn.methods.gradients import products, split
from discreet.learn.price import Price, short
from discreet.learn.training import Progress, State, Task, Training, silent
from discreet.ledger.costs import cost
from discreet.mechanisms import Exact, Gaussian, Laplace, Sensitivity
from discreet.privacy.losses import Approximate, GaussianDP, Losses, Pure
from discreet.privacy.theorems.learning.tolerance import SMOOTHING
from discreet.privacy.theorems.selection import Logarithmic, mu_alone, mu_within
from discreet.rational import Rational, rational, shown
from discreet.release.label import Noise
from discreet.schema import Column

Floats = NDArray[np.float64]
Settings = dict[str, Any]

SECRET = (
    "The number of candidates was drawn at random and is secret. The guarantee does not cover what an observer of "
    "the time of a fit learns about it."
)

_ABOVE = 1 + Fraction(1, 10**6)  # on ρ, for counts whose discrete noise has no part for rounding


class PrivateSearch(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """A classifier whose parameters are the best of random candidates, at a price that includes the search.

    Args:
        estimator: The classifier to tune, such as `LogisticRegression()`.
        grid: Values for each parameter, by name, or a list of settings.
        epsilon: The ε of `fit(X, y)`; a vault gives its own.
        delta: The δ of `fit(X, y)`; 0 for pure differential privacy.
        candidates: The mean number of candidates; by default 1.5 times the number of settings.
        score_share: The share of each candidate's price that its score takes; 1/10 by default.

    >>> import numpy as np, discreet as dp
    >>> from discreet.learn.linear_classifier import LogisticRegression
    >>> age = np.arange(4000) % 100
    >>> model = LogisticRegression(columns={"age": dp.Integer(0, 99)}, classes=[0, 1])
    >>> search = PrivateSearch(model, {"regularisation": [1, 50]}, epsilon=2, delta="1e-6")
    >>> found = search.fit({"age": age}, (age >= 50).astype(int))
    >>> found.predict({"age": [5, 95]}).tolist(), sorted(found.best_params_)
    ([0, 1], ['regularisation'])
    """

    def __init__(
        self,
        estimator: Any = None,
        grid: Mapping[str, Sequence[Any]] | Sequence[Settings] | None = None,
        *,
        epsilon: Rational | None = None,
        delta: Rational = 0,
        candidates: Rational | None = None,
        score_share: Rational = Fraction(1, 10),
    ):
        self.estimator = estimator
        self.grid = grid
        self.epsilon = epsilon
        self.delta = delta
        self.candidates = candidates
        self.score_share = score_share

    @property
    def columns(self) -> Columns | None:  # type: ignore[override]
        """The declared columns of the estimator that is tuned."""
        found: Columns | None = self._expect_estimator().columns
        return found

    def outcome(self) -> Column:
        """Return the declaration of the classes."""
        return self._expect_estimator().outcome()

    def plan(self, task: Task, price: Price) -> Training:
        """Return what would be done for a price. It reads no row, and may refuse."""
        settings, share = self._settings(), rational(self.score_share, "score_share")
        if not 0 < share < 1:
            raise ParameterError(
                "score_share must lie between 0 and 1.",
                found=shown(self.score_share),
                fix=Fix("score_share", "0.1"),
            )
        mean = max(1.5 * len(settings), 2) if self.candidates is None else self.candidates
        law = Logarithmic.of_mean(mean)
        if price.rho is None:
            each = price.epsilon / 2
            inner = Price(each * (1 - share))
            score: Gaussian | Laplace = Laplace.for_epsilon(each * share, WHOLE)
            losses: Losses = [Pure(price.epsilon)]
        else:
            whole = _whole(price)
            mu = mu_alone(price.epsilon, price.delta, law) if whole is None else mu_within(whole, law)
            rho = Fraction(mu**2 / 2) / _ABOVE
            inner = _priced(price, short(rho * (1 - share)))
            score = Gaussian(math.ceil(WHOLE**2 / (2 * short(rho * share))) + SMOOTHING, WHOLE)
            losses = [Approximate(price.epsilon, price.delta) if whole is None else GaussianDP(Fraction(whole))]
        made = [clone(self._expect_estimator()).set_params(**one) for one in settings]
        trainings = [one.plan(task, inner) for one in made]
        for one, training in zip(settings, trainings, strict=True):
            _check(one, training, inner)

        def run(examples: Examples, progress: Progress) -> State:
            progress("searching", 0.0)
            best: State | None = None
            for _ in range(drawn(law)):
                picked = int(noise.uniform_below(len(made)))
                state = trainings[picked].run(examples, silent)
                right = counted_right(made[picked], task, state, examples)
                value = score.release(Exact(right, Sensitivity(entries=1, each=WHOLE)))
                found = float(np.asarray(value).ravel()[0]) / WHOLE
                tested = bool(state["test_bits"] or noise.is_test_noise(value))
                if best is None or found > best["score"]:
                    best = self._state(made[picked], settings[picked], state, found, tested)
            if best is None:
                raise AssertionError("there is at least one candidate")
            return best

        spread = float(score.scale if isinstance(score, Laplace) else score.variance**0.5) / WHOLE
        law_name = f"discrete {'Laplace' if isinstance(score, Laplace) else 'Gaussian'} noise"
        return Training(
            losses,
            run,
            [Noise("persons classified right, for each candidate", law_name, spread, 1.0), *trainings[0].noise],
            f"The best of about {law.mean:.3g} candidates of {len(settings)} settings, by a noisy score. "
            f"A candidate: {trainings[0].method}",
            [SECRET, *trainings[0].notes],
            trainings[0].arithmetic,
        )

    def restore(self, state: State) -> None:
        """Set `best_estimator_`, `best_params_`, `best_score_` and `classes_` from a released model."""
        kind = _KINDS[state["estimator"]]
        allowed = kind._get_param_names()
        given = {name: value for name, value in state["parameters"].items() if name in allowed}
        made = kind(**{name: value for name, value in given.items() if name not in ("columns", "target_column")})
        if not isinstance(self.estimator, PrivateEstimator):
            self.estimator = clone(made)
        self.best_estimator_ = made.released(self.task_, state["model"], self._label, free=self._free)
        self.best_params_ = state["settings"]
        self.best_score_ = state["score"]
        self.classes_ = self.best_estimator_.classes_

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most likely class of each row, by the best candidate."""
        self._expect_fitted()
        found: NDArray[Any] = self.best_estimator_.predict(X)
        return found

    def decision_function(self, X: Any) -> Floats:
        """Return the scores of each row, by the best candidate."""
        self._expect_fitted()
        found: Floats = self.best_estimator_.decision_function(X)
        return found

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, by the best candidate."""
        self._expect_fitted()
        found: Floats = self.best_estimator_.predict_proba(X)
        return found

    # -- inside -------------------------------------------------------------------------------------------------

    def _expect_estimator(self) -> _LinearClassifier:
        if not isinstance(self.estimator, _LinearClassifier):
            raise ParameterError(
                "A private search tunes a linear classifier of discreet.learn.",
                found=type(self.estimator).__name__,
                fix=Fix("estimator", Code("LogisticRegression()")),
            )
        return self.estimator

    def _settings(self) -> list[Settings]:
        grid = self.grid
        if isinstance(grid, Mapping):
            names, values = list(grid), [list(one) for one in grid.values()]
            listed = [dict(zip(names, one, strict=True)) for one in itertools.product(*values)]
        else:
            listed = [dict(one) for one in grid or []]
        if not listed or not all(listed):
            raise ParameterError(
                "The grid needs at least one value of one parameter.",
                found=shown(grid),
                fix=Fix("grid", {"regularisation": [1, 4, 16]}),
            )
        known = self._expect_estimator().get_params(deep=False)
        wrong = sorted({name for one in listed for name in one if name not in known or name in _FIXED})
        if wrong:
            raise ParameterError(
                f"{wrong[0]!r} is not a parameter that a search may choose.",
                fix=f"Choose among {', '.join(repr(name) for name in known if name not in _FIXED)}.",
            )
        return listed

    def _state(self, made: PrivateEstimator, one: Settings, state: State, score: float, tested: bool) -> State:
        parameters = {name: model_json.plain(value) for name, value in made.get_params(deep=False).items()}
        return {
            "estimator": type(made).__name__,
            "parameters": {name: value for name, value in parameters.items() if name not in _FIXED},
            "settings": {name: model_json.plain(value) for name, value in one.items()},
            "score": score,
            "model": state,
            "facts": {"Chosen": ", ".join(f"{name} = {value}" for name, value in one.items()), **state["facts"]},
            "test_bits": tested,
        }


_FIXED = ("epsilon", "delta", "columns", "classes")
"""Parameters that the search, or the vault, decides."""


def drawn(law: Logarithmic) -> int:
    """Return a number with exactly this law: a geometric one, kept with a chance of one over itself.

    >>> drawn(Logarithmic(Fraction(1, 2))) >= 1
    True
    """
    while True:
        number = 1
        while not noise.bernoulli(law.gamma):
            number += 1
        if noise.uniform_below(number) == 0:
            return number


def counted_right(model: PrivateEstimator, task: Task, state: State, examples: Examples) -> Any:
    """Return the exact weight of all rows whose class a model predicts: one person adds at most `WHOLE`.

    Args:
        model: The linear classifier that was fitted.
        task: What it predicts from what.
        state: Its released state.
        examples: The rows.
    """
    fitted = clone(model)
    fitted.task_ = task
    fitted.restore(state)
    theta = split(np.column_stack([fitted.coef_, fitted.intercept_]))

    def part(batch: Batch) -> list[NDArray[np.int64]]:
        rows = fitted.feature_map_.rows({name: batch.codes[name] for name in task.features})
        # Exact products: a row on the border of two classes is on the same side in every batch.
        scores = products(rows, theta)
        places = (scores[:, 0] > 0).astype(np.int64) if scores.shape[1] == 1 else scores.argmax(axis=1)
        right = np.asarray(batch.codes[task.target], np.int64) == places
        return [np.array([np.asarray(batch.weights, np.int64)[right].sum()])]

    [total] = examples.total(part)
    return total


def _whole(price: Price) -> float | None:
    """Return the μ that a ledger may be charged; None without a ledger, where the profile alone counts."""
    return price.mu if price.most is not None or not price.proves else None


def _priced(price: Price, rho: Fraction) -> Price:
    """Return the price of a candidate: its ρ, and the ε that scales its regularisation."""
    scale = Fraction(math.sqrt(rho / (price.rho or rho))).limit_denominator(10**6)
    return Price(price.epsilon * scale, price.delta, rho, rho, proves=False)


def _check(settings: Settings, training: Training, inner: Price) -> None:
    """Refuse a candidate that is not Gaussian DP, or costs more than its price."""
    amounts = cost(training.losses)
    if inner.pure:
        dear = amounts.epsilon is None or amounts.epsilon > inner.epsilon
    else:
        dear = amounts.rho > (inner.rho or 0)
    if dear or amounts.delta:
        raise ParameterError(
            "A candidate of the search costs more than its share.", found=shown(settings), fix="Leave it out."
        )
    if training.method.startswith("Posterior sampling"):
        raise ParameterError(
            "A draw from a posterior is not Gaussian DP to the letter, and cannot be a candidate.",
            found=shown(settings),
            fix=Fix("method", "objective_perturbation"),
        )
