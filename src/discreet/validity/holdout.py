"""Guard a holdout that an analyst asks again and again: findings stay valid, however the questions are chosen.

    guard = ReusableHoldout(X_hold, y_hold, purpose="selecting", queries=200, path="guard.holdout")
    search = GridSearchCV(model, grid, cv=guard.cv(X), scoring=guard.scorer())
    guard.check(lambda X, y: X[:, 0] > 2, guess=0.71)

Claim. Let the rows of the holdout be drawn independently from one population, and not be used otherwise. With
probability `confidence` the intervals of all answers hold together, for the means over the population of what
was asked, whatever the analyst does between answers. Each method has its own theorem
(`discreet.validity.methods`); which one is used is decided before the holdout is looked at. The code runs in the
analyst's process, which holds the rows: the guard keeps an honest analyst from overfitting, and stops no
attacker. For that there is `vault.holdout`. Theory: docs/theory/reusable-holdout.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BudgetExceeded, Fix, ParameterError
from discreet.mechanisms import tails
from discreet.noise.testing import test_bits as bits_in_use
from discreet.rational import Rational
from discreet.validity import render
from discreet.validity.answer import HoldoutAnswer
from discreet.validity.label import HoldoutLabel, holdout_label
from discreet.validity.methods import METHODS, Method, Reply, Terms
from discreet.validity.methods.method import Total
from discreet.validity.metric import Integers, Metric, PerRow, metric_of, quantised
from discreet.validity.parameters import WIDEST, decided, expect_guess, expect_model, expect_rows, expect_width
from discreet.validity.planning import overfits_of
from discreet.validity.scorer import HoldoutScorer
from discreet.validity.screening import Screening, agreement, chosen, expect_features
from discreet.validity.theorems.concentration import count
from discreet.validity.transcript import Transcript, opened

Statistic = Callable[[Any, Any], Any]
"""Takes the rows of the holdout and their labels, and returns a number in [0, 1] for each row."""


class ReusableHoldout:
    """A holdout with its transcript.

    >>> rows = np.arange(4000).reshape(-1, 1) % 10
    >>> guard = ReusableHoldout(rows, (rows[:, 0] > 4).astype(int), method="guess_and_check", queries=100)
    >>> answer = guard.check(lambda X, y: (X[:, 0] > 4) == y, guess=1.0)
    >>> answer.value, answer.source, round(answer.low, 2)
    (1.0, 'training', 0.94)
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        metric: str | PerRow = "accuracy",
        confidence: Rational = "0.95",
        method: str = "auto",
        purpose: str = "selecting",
        queries: int = 1000,
        path: str | Path | None = None,
        *,
        overfits: int | None = None,
        width: float = WIDEST,
        greater_is_better: bool = True,
    ):
        """Take the rows, and decide on a method.

        Args:
            X: The rows of the holdout, as models take them.
            y: Their labels.
            metric: "accuracy", "error", or a function of true and predicted values that returns a number in [0, 1]
                for each row.
            confidence: The probability that the intervals of all answers hold together.
            method: "auto", or one of split, ladder, guess_and_check, gaussian, thresholdout.
            purpose: What "auto" decides for: "screening", "selecting" or "estimating".
            queries: About how many questions there will be; exactly at most so many for split, gaussian and
                thresholdout.
            path: The file of the transcript, which survives restarts and is shared by processes; none by
                default.
            overfits: How many wrong guesses Thresholdout corrects; a hundredth of `queries` by default, at least
                10.
            width: The widest margin of error that is accepted: the guard refuses to give a wider answer.
            greater_is_better: Whether a better model has a larger metric, for a metric of your own.
        """
        self._X, self._y = X, np.asarray(y)
        rows = expect_rows(X, self._y)
        self.metric: Metric = metric_of(metric, greater_is_better)
        beta = tails.alpha(confidence)
        k, wrong = count(queries, "queries"), overfits_of(queries, overfits)
        method, self.why = decided(method, purpose, rows, k, wrong, confidence)
        self.confidence, self.limit = 1 - beta, expect_width(width)
        agreed = {
            "rows": rows,
            "metric": self.metric.name,
            "confidence": str(self.confidence),
            "method": method,
            "queries": k,
            "overfits": wrong,
            "greater_is_better": self.metric.greater_is_better,
        }

        def method_of(seed: bytes) -> Method:
            terms = Terms(rows, float(beta), k, wrong, self.metric.greater_is_better, seed, self.limit)
            made = METHODS[method](terms)
            if made.width() > self.limit:
                raise ParameterError(
                    f"With {rows:,} rows and {k:,} queries, {method} certifies ± {made.width():.3g} at best, and "
                    f"± {self.limit:g} is the widest that is accepted.",
                    fix=[
                        Fix("queries", max(1, k // 4)),
                        Fix("method", "guess_and_check" if method != "guess_and_check" else "ladder"),
                        Fix("width", min(1.0, round(made.width() + 0.005, 2)), note="accept wider answers"),
                    ],
                )
            return made

        self._transcript: Transcript = opened(path, X, self._y, agreed, method_of, self)

    # -- questions ----------------------------------------------------------------------------------------------

    def score(self, model: Any, X: Any = None, y: Any = None, *, name: str | None = None) -> HoldoutAnswer:
        """Answer how good a fitted model is.

        Args:
            model: Anything with `predict`.
            X: Training rows: the score on them is the guess. None for no guess.
            y: Their labels.
            name: The name of the question; that of the model by default.
        """
        expect_model(model, self._X)
        guess = None
        if X is not None and y is not None:
            guess = float(np.mean(np.asarray(self.metric.per_row(np.asarray(y), model.predict(X)), np.float64)))
        asked = name or f"{self.metric.name} of {' '.join(str(model).split())[:80]}"
        return self._asked(asked, lambda: self.metric.per_row(self._y, model.predict(self._X)), guess)

    def check(
        self, statistic: Statistic | Sequence[float] | NDArray[Any], guess: float | None = None, *, name: str = ""
    ) -> HoldoutAnswer:
        """Answer what the mean of a statistic is, or whether a guess of it holds.

        Args:
            statistic: A function of the holdout's X and y that returns a number in [0, 1] for each row, or these
                numbers.
            guess: What you believe, from other rows; none by default.
            name: The name of the question.
        """
        asked = name or getattr(statistic, "__name__", "statistic").replace("<lambda>", "statistic")
        if callable(statistic):
            return self._asked(asked, lambda: statistic(self._X, self._y), guess)
        return self._asked(asked, lambda: statistic, guess)

    def select_features(self, X: Any, y: Any, k: int = 10) -> Screening:
        """Return the k features that predict a label of two classes best, by training data that the holdout
        checks.

        For each feature the share of rows is asked for on which "above the median of the training rows" and "of
        the second class" agree. One batch of questions: the guess of each is its share on the training rows.

        Args:
            X: The training rows, as an array.
            y: Their labels, of two classes.
            k: How many features to choose.
        """
        if self.method == "ladder":
            raise ParameterError(
                "The Ladder tells the best score only, and screens no features.", fix=Fix("purpose", "screening")
            )
        guesses, sums = agreement(np.asarray(X), np.asarray(y), np.asarray(self._X), self._y)
        expect_features(k, len(guesses))
        names = [f"feature {j}" for j in range(len(guesses))]
        answers = self._batch(names, lambda j: sums(j), guesses.tolist())
        return chosen(answers, k)

    def scorer(self) -> HoldoutScorer:
        """Return a scorer for scikit-learn, for training rows: GridSearchCV(…, cv=guard.cv(X), scoring=…)."""
        return HoldoutScorer(self)

    def cv(self, X: Any) -> list[tuple[Integers, Integers]]:
        """Return the split for scikit-learn: all training rows to fit, and the same to take the guess from."""
        every = np.arange(np.shape(X)[0] if hasattr(X, "shape") else len(X), dtype=np.int64)
        return [(every, every)]

    # -- facts --------------------------------------------------------------------------------------------------

    @property
    def method(self) -> str:
        """The name of the method."""
        return self._transcript.method.name

    @property
    def n(self) -> int:
        """The number of rows."""
        return self._transcript.method.terms.rows

    @property
    def asked(self) -> int:
        """The number of questions so far, with those that had no answer."""
        return self._refreshed().asked

    @property
    def corrected(self) -> int:
        """The number of answers so far that are surprises: a wrong guess, or a new best score."""
        return self._refreshed().failures

    @property
    def width(self) -> float:
        """The margin of error that the next answer has, about."""
        return self._refreshed().width()

    def width_after(self, more: int) -> float:
        """Return the margin after so many more answers without a surprise."""
        return self._refreshed().width(more)

    @property
    def answers(self) -> list[HoldoutAnswer]:
        """All answers so far, of all processes."""
        self._refreshed()
        replies = self._transcript.replies
        return [self._answer(name, reply, number) for number, (name, reply) in enumerate(replies, 1)]

    @property
    def durable(self) -> bool:
        """Whether the transcript survives this process."""
        return self._transcript.durable

    @property
    def path(self) -> str | None:
        """The file of the transcript; None if it ends with this object."""
        return str(self._transcript.journal.path) if self.durable else None

    @property
    def test_bits(self) -> bool:
        """Whether the noise is predictable: then answers are not for release."""
        return bool(self._transcript.journal.header.get("test_bits")) or bits_in_use() is not None

    @cached_property
    def label(self) -> HoldoutLabel:
        """The label of every answer: whom it protects, and by what means."""
        method = self._transcript.method
        return holdout_label(f"Method: {method.title}.", [self.why], losses=method.losses, noise=method.noise)

    def report(self) -> str:
        """Return what was asked, what came from where, and how wide answers are now and later."""
        return render.report(self)

    def close(self) -> None:
        """Close the transcript. Nothing is lost if it has a path."""
        self._transcript.close()

    def __enter__(self) -> ReusableHoldout:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<holdout of {self.n:,} rows, {self.method}>"

    def __str__(self) -> str:
        return self.report()

    def _repr_html_(self) -> str:
        return render.page(self)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(
            "A holdout is not copied or pickled: it has one transcript. Open it where it is needed, with path=…."
        )

    # -- inside -------------------------------------------------------------------------------------------------

    def _refreshed(self) -> Method:
        with self._transcript.turn() as method:
            return method

    def _asked(self, name: str, evaluate: Callable[[], Any], guess: float | None) -> HoldoutAnswer:
        expect_guess(guess, needed=self.method == "thresholdout")
        clamp = self._transcript.method.private
        try:
            values = quantised(evaluate(), self.n, clamp=clamp)
        except Exception:
            self._refused(name)
            raise
        return self._batch([name], lambda _: _total(values), [guess])[0]

    def _refused(self, name: str) -> None:
        """Count a question that failed: the error message may depend on the holdout."""
        with self._transcript.turn() as method:
            if not method.exhausted:
                self._transcript.refuse(self._transcript.announce([name]), 1)

    def _batch(
        self, names: Sequence[str], total_of: Callable[[int], Total], guesses: Sequence[float | None]
    ) -> list[HoldoutAnswer]:
        """Answer questions one after another, on one announcement."""
        replies: list[Reply] = []
        with self._transcript.turn() as method:
            self._expect_room(method, len(names))
            first, step = len(self._transcript.replies), self._transcript.announce(names)
            with self._transcript.kept(step, names, replies):
                for place, guess in enumerate(guesses):
                    if method.exhausted:
                        break
                    reply = method.reply(total_of(place), guess)
                    method.take(reply)
                    replies.append(reply)
        return [
            self._answer(*pair, first + place) for place, pair in enumerate(zip(names, replies, strict=False), 1)
        ]

    def _expect_room(self, method: Method, questions: int) -> None:
        """Refuse a question that would make intervals too wide."""
        over = method.limited and method.asked + questions > method.terms.queries
        if not (method.exhausted or over or method.width(questions - 1) > self.limit):
            return
        margins = [max(reply.high - reply.value, reply.value - reply.low) for _, reply in self._transcript.replies]
        full = method.limited and (method.exhausted or over)
        before = method.width() if full or not margins else max(margins)
        after = method.widened() if full else method.width(questions - 1)
        raise BudgetExceeded(
            f"The next answer would widen all intervals from ±{before:.3g} to ±{max(after, before):.3g}.",
            found=f"{method.asked:,} questions, {method.failures:,} of them answered from the holdout",
            fix=[
                "Stop here, and report what was found.",
                "Or take fresh rows as a new holdout.",
                Fix("queries", 2 * method.terms.queries, call="ReusableHoldout", note="of the new one")
                if method.limited
                else Fix(
                    "width", round(1.1 * after + 0.005, 2), call="ReusableHoldout", note="accept wider answers"
                ),
            ],
        )

    def _answer(self, name: str, reply: Reply, number: int) -> HoldoutAnswer:
        return HoldoutAnswer(
            name,
            reply.value,
            reply.low,
            reply.high,
            reply.source,
            number,
            self.method,
            Fraction(self.confidence),
            reply.note,
            test_bits=self.test_bits,
            label=self.label,
        )


def _total(values: Integers) -> Total:
    return lambda rows: int(values.sum() if rows is None else values[rows].sum())
