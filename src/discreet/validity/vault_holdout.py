"""Keep a holdout inside of a vault: its answers are valid for the population, and private, on one charge.

    guard = vault.holdout(target="income", features=["age", "city"], epsilon=1, queries=50)
    guard.score(model)

Claim. The number of persons, and each of k answers, is an exact integer sum with discrete Gaussian noise, where
one person adds at most WHOLE·FINE to a sum of scores. Their ρ are fixed when the holdout is made, and set aside
in the journal before the noise is drawn; together they are the ρ that was charged. So all answers together are
ρ-zCDP for neighbours that lack one person. By the theorem of Rogers et al. (`theorems.gaussian_answers`), for n
persons drawn independently, all k sums of scores are within g·n of what the population predicts, but with
probability β/2; noise takes the rest of β. n itself is known up to its noise, and every interval covers that
too.

Assumption: a model predicts row by row. It is tried on made-up rows, whole and one by one, and refused if the two
differ; errors are met there as well. On sealed rows no error is shown: a row whose prediction fails scores 0, and
so does a number that is out of range. A batch that fails is scored in halves, down to its rows: if all of it
scored 0, then one person with a missing value would change the scores of thousands of others. A model is code that
sees rows: a curator runs it beside the vault only for analysts who may do that. Theory:
docs/theory/reusable-holdout.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from threading import RLock
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from discreet.engines.examples import WHOLE, Batch, Examples
from discreet.errors import BudgetExceeded, DiscreetError, Fix
from discreet.kernel.journal import Journal
from discreet.mechanisms import Exact, Gaussian, Sensitivity, tails
from discreet.noise.random_bits import generation
from discreet.noise.testing import test_bits as bits_in_use
from discreet.release.label import Label
from discreet.validity.answer import HoldoutAnswer
from discreet.validity.metric import Metric
from discreet.validity.rows_by_name import Rows, expect_row_by_row, model_rows, probe, scores
from discreet.validity.scorer import HoldoutScorer
from discreet.validity.theorems.concentration import hoeffding_width
from discreet.validity.theorems.gaussian_answers import sampling_width

if TYPE_CHECKING:
    from discreet.schema import Column

FINE = 2**10
"""A score of 1, in the units of sums, for a row of weight 1."""

COUNTED = Fraction(1, 20)
"""The part of ρ for the number of persons."""

NOTE = "The guarantee is that of the whole holdout: of all its answers together, however the questions are chosen."


class VaultHoldout:
    """A holdout inside of a vault. `vault.holdout` makes it; see there.

    Args:
        journal: Its journal.
        examples: The rows of the vault.
        columns: The declared columns, the target last.
        metric: What is scored.
        beta: The probability that one of all intervals fails.
        queries: The number of answers.
        label: The label of every answer.
        persons: Whether a person may have several rows.
    """

    def __init__(
        self,
        journal: Journal,
        examples: Examples,
        *,
        columns: Mapping[str, Column],
        metric: Metric,
        beta: Fraction,
        queries: int,
        label: Label,
        persons: bool,
    ):
        self._journal, self._examples, self._columns = journal, examples, dict(columns)
        self.metric, self._beta, self._queries, self._persons = metric, beta, queries, persons
        self._target = list(columns)[-1]
        self._lock, self._generation = RLock(), generation()
        self._label = label
        self._counting = Gaussian.for_rho(journal.rho * COUNTED, Sensitivity(entries=1, each=WHOLE))
        each = journal.rho * (1 - COUNTED) / queries
        self._each = Fraction(each)
        self._scoring = Gaussian.for_rho(self._each, Sensitivity(entries=1, each=WHOLE * FINE))
        self._counted()

    # -- for the analyst ---------------------------------------------------------------------------------------

    def score(self, model: Any, X: Any = None, y: Any = None, *, name: str | None = None) -> HoldoutAnswer:
        """Answer how good a model is. X and y, training rows that scikit-learn passes, are not needed.

        Args:
            model: Anything with `predict`: a model of `discreet.learn`, or of scikit-learn.
            X: Ignored.
            y: Ignored.
            name: The name of the question; that of the model by default.
        """
        target, metric = (
            self._target,
            self.metric,
        )  # the function may travel to other machines, without this object

        def per_row(rows: Rows) -> Any:
            features = {column: values for column, values in rows.items() if column != target}
            return metric.per_row(rows[target], model.predict(model_rows(model, features)))

        return self._asked(name or f"{self.metric.name} of {' '.join(str(model).split())[:80]}", per_row)

    def check(
        self, statistic: Callable[[Rows], Any], guess: float | None = None, *, name: str = ""
    ) -> HoldoutAnswer:
        """Answer what the mean of a statistic is.

        Args:
            statistic: A function of columns by name that returns a number in [0, 1] for each row.
            guess: Ignored: every answer has noise, and needs no guess.
            name: The name of the question.
        """
        return self._asked(name or getattr(statistic, "__name__", "statistic"), statistic)

    def scorer(self) -> HoldoutScorer:
        """Return a scorer for scikit-learn."""
        return HoldoutScorer(self)

    def cv(self, X: Any) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Return the split for scikit-learn: all training rows to fit."""
        every = np.arange(np.shape(X)[0] if hasattr(X, "shape") else len(X), dtype=np.int64)
        return [(every, every)]

    @property
    def label(self) -> Label:
        """The label of every answer."""
        return self._label

    @property
    def asked(self) -> int:
        """The number of questions so far."""
        return sum(record["begin"] == "score" for record in self._journal.begun.values())

    @property
    def answers(self) -> list[HoldoutAnswer]:
        """All answers so far."""
        begun, ended = self._journal.begun, self._journal.ended
        scores = [n for n, record in begun.items() if record["begin"] == "score" and n in ended]
        return [self._answer(begun[n]["name"], ended[n]["noisy"], place) for place, n in enumerate(scores, 1)]

    @property
    def width(self) -> float:
        """The margin of error of an answer, about: half of it either way."""
        _, low, high = self._interval(self._persons_low() * WHOLE * FINE // 2)
        return (high - low) / 2

    def close(self) -> None:
        """Close the journal. Nothing is lost."""
        self._journal.close()

    def __enter__(self) -> VaultHoldout:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<holdout in a vault: {self.asked:,} of {self._queries:,} questions>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("A holdout is not copied or pickled. Open it where it is needed: vault.holdout(…).")

    # -- inside ------------------------------------------------------------------------------------------------

    def _asked(self, name: str, per_row: Callable[[Rows], Any]) -> HoldoutAnswer:
        if generation() != self._generation:
            raise DiscreetError(
                "This holdout was opened by another process.", fix="Open it here: vault.holdout(…)."
            )
        expect_row_by_row(per_row, probe(self._columns))
        with self._lock:
            if self.asked >= self._queries or self._each > self._journal.left:
                wider = self.width * math.sqrt((self.asked + 1) / self._queries)
                raise BudgetExceeded(
                    f"The next answer would widen all intervals from ±{self.width:.3g} to ±{wider:.3g}.",
                    found=f"{self.asked:,} questions",
                    fix=Fix("queries", 2 * self._queries, call="vault.holdout", note="a new one, at its own cost"),
                )
            step = self._journal.begin("score", self._each, name=name)
            exact = Exact(self._total(per_row), Sensitivity(entries=1, each=WHOLE * FINE))
            noisy = int(self._scoring.release(exact))
            self._journal.end(step, noisy=noisy)
        return self._answer(name, noisy, len(self.answers))

    def _total(self, per_row: Callable[[Rows], Any]) -> int:
        """Return the exact sum of weight times score."""
        columns = self._columns

        def scored(batch: Batch) -> list[NDArray[Any]]:
            numbers = scores(per_row, Rows.of(batch.codes, columns))
            return [np.array([(batch.weights.astype(np.int64) * np.floor(numbers * FINE).astype(np.int64)).sum()])]

        return int(self._examples.total(scored)[0][0])

    def _counted(self) -> int:
        """Return the noisy weight of all persons, measured once."""
        for number, record in self._journal.begun.items():
            if record["begin"] == "count":
                if number in self._journal.ended:
                    return int(self._journal.ended[number]["noisy"])
                raise DiscreetError(
                    "This holdout was stopped while it counted its persons, and cannot go on.",
                    fix=Fix("name", "second", call="vault.holdout", note="a new one, at its own cost"),
                )
        step = self._journal.begin("count", self._journal.rho * COUNTED)
        whole = int(self._examples.total(lambda batch: [np.array([batch.weights.astype(np.int64).sum()])])[0][0])
        noisy = int(self._counting.release(Exact(whole, Sensitivity(entries=1, each=WHOLE))))
        self._journal.end(step, noisy=noisy)
        return noisy

    def _persons_low(self) -> int:
        bound = tails.gaussian_bound(self._counting.variance, self._beta / 8)
        return max(1, (self._counted() - bound) // WHOLE)

    def _interval(self, noisy: int) -> tuple[float, float, float]:
        """Return the score and its interval, in shares of all weight."""
        counted, beta = self._counted(), float(self._beta)
        bound = tails.gaussian_bound(self._counting.variance, self._beta / 8)
        least, most = max(1.0, (counted - bound) / WHOLE), max(1.0, (counted + bound) / WHOLE)
        spread = tails.gaussian_bound(self._scoring.variance, self._beta / (4 * self._queries)) / (WHOLE * FINE)
        deviation = math.sqrt(self._scoring.variance) / (WHOLE * FINE * least)
        # This bound fails with β/2. The number of persons was measured too: it counts like more answers.
        told = math.ceil(self._queries / (1 - COUNTED))
        gap = sampling_width(math.floor(least), told, deviation, beta)
        total, rounding = noisy / (WHOLE * FINE), 1 / FINE
        if not self._persons:
            low, high = (total - spread) / most - gap, (total + spread) / least + gap + rounding
        else:
            # Rows of one person share a weight above ½ and up to 1, so there are at most twice as many persons.
            persons, weight = 2 * most, hoeffding_width(math.floor(least), beta / 8)
            below = max(least - weight * persons, 1e-9)
            low = (total - spread - gap * persons) / (most + weight * persons)
            high = (total + spread + gap * persons) / below + rounding
        value = total / max(1.0, counted / WHOLE)
        low, high = max(0.0, min(low, 1.0)), min(1.0, max(high, 0.0))
        return min(max(value, low), high), low, high

    def _answer(self, name: str, noisy: int, number: int) -> HoldoutAnswer:
        value, low, high = self._interval(noisy)
        test = bool(self._journal.header.get("test_bits")) or bits_in_use() is not None
        sure = 1 - self._beta
        return HoldoutAnswer(
            name, value, low, high, "holdout", number, "gaussian", sure, test_bits=test, label=self._label
        )
