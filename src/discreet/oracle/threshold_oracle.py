"""Answer questions from a hypothesis that a threshold test checks, and by payments.

    cache ─▶ hypothesis ─▶ threshold test: good enough? ─▶ yes: free
                                          └▶ no: pay, and measure the columns together
    while the hypothesis is unlikely to pass: pay for the answer, and learn

**What is private.** Gaussian noise on the number of rows, on marginals at the start, on whole marginals and on
single answers later; and the runs of the threshold test. Each has a ρ, fixed by public facts and released numbers,
which is set aside in the journal before the noise is drawn; together they never exceed the ρ that was charged when
the oracle was made. By adaptive (and, since runs and payments take turns, concurrent) composition of zCDP the
whole is ρ-zCDP. Everything else (the hypothesis, when to test it, what to measure next) is computed from these
releases.

**What an answer promises.** Whatever the analyst does, each answer is outside its interval with probability at
most 1 − confidence: the probabilities that it is free and wrong, that the payment after an alarm misses, or that
the gap misses, add up to no more (`discreet.oracle.pricing`). The promise is about each answer before it is given:
among the answers that were free, or among those after alarms, more may miss. Theory: docs/theory/oracle.md.
"""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet.errors import BudgetExceeded
from discreet.kernel.threshold_test import Guard, Run, Side
from discreet.oracle.answer import Part
from discreet.oracle.fit import Columns, Measurement
from discreet.oracle.linear_query import Query, decompose
from discreet.oracle.oracle import Oracle
from discreet.oracle.pricing import FINE, PAID, Prices, guard, prices
from discreet.oracle.two_parts import widening
from discreet.query import cache_key


class ThresholdOracle(Oracle):
    """Answers many questions on one charge, from a hypothesis that it checks. `vault.oracle` makes it."""

    _guard: Guard
    _wider: dict[str, int]
    _seen, _bad = 0, 0

    # -- start and restart -------------------------------------------------------------------------------------

    def _begun(self) -> Prices:
        """Measure the number of rows, now or before, and return the costs of all steps."""
        known = prices(self._terms, float(self._known.values))
        self._guard = guard(self._journal, self._terms, known)
        self._wider = widening(self._terms, known)
        return known

    def _replay(self) -> None:
        """Restore answers, runs and lessons from the journal. A check without a result counts as an alarm."""
        learned: list[Measurement] = []
        self._prepare()
        for number, record in self._journal.begun.items():
            ended, kind = self._journal.ended.get(number), record["begin"]
            if kind == "run":
                self._guard.resume(record)
            elif kind == "check" and ended is None:
                for run in record["runs"]:
                    self._guard.end(run)
            elif kind == "whole" and (found := self._marginals.written(record)) is not None:
                learned.append(found)
            elif "question" in record and ended is not None:
                learned += self._remembered(record, ended)
        if learned:
            self._hypothesis.fit(learned)

    def _prepare(self) -> None:
        """Measure what is measured at the start."""
        _ = self._hypothesis  # making it measures

    def _remembered(self, record: dict[str, Any], ended: dict[str, Any]) -> list[Measurement]:
        """Restore one answer, and return what it taught."""
        self._cache[record["question"]] = Part.from_json(ended["part"])
        if record["begin"] == "answer":
            return []
        bad = "over" in ended or "value" in ended
        self._seen, self._bad = self._seen + 1, self._bad + bad
        if "over" in ended:
            self._guard.end(ended["over"])
        taught = self._lesson(self._reread(record["question"]), ended["value"]) if "value" in ended else None
        return [] if taught is None else [taught]

    def _reread(self, text: str) -> Query:
        """Return a query from its own text."""
        _, _, question = text.partition(": ") if text.startswith(("count: ", "sum: ")) else ("", "", text)
        wanted = decompose(cache_key.parsed(question, self._metadata), self._axes)
        return wanted.total if text.startswith("sum: ") and wanted.total is not None else wanted.count

    # -- one query ---------------------------------------------------------------------------------------------

    def _fresh(self, query: Query, statement: Any, parts: int) -> Part:
        """Answer a query by the threshold test or by a payment."""
        predicted, runs = self._predicted(query), self._runs_if_trusted(query)
        if runs is not None:
            return self._checked(query, statement, predicted, runs)
        return self._measured_whole(query) or self._paid(query, statement, predicted, self._terms.alpha)

    def _halved(self, part: Part) -> Part:
        return part.wider(self._wider.get(part.how, 0))

    def _runs_if_trusted(self, query: Query) -> dict[Side, Run] | None:
        """Return a run for either side, if the hypothesis is likely enough to pass; None if it is cheaper to pay.

        An alarm uses up a run. Its probability is estimated by its frequency so far.
        """
        known = self._prices
        chance = Fraction(self._bad, self._seen + 1)
        cheaper = chance * known.run > known.single or self._untrained(query.columns)
        return None if cheaper and self._left_for_payments() >= known.single else self._guard.ready()

    def _untrained(self, columns: Columns) -> bool:
        """Return whether two of these columns were never measured together, and there is no prior."""
        if self._prior is not None:
            return False
        together = [set(m.columns) for m in self._hypothesis.measured if m.fine]
        pairs = [{a, b} for a in columns for b in columns if a < b]
        return any(not any(pair <= known for known in together) for pair in pairs)

    def _left_for_payments(self) -> Fraction:
        """Return the ρ for payments: what is left, without the runs that are still to come."""
        return self._journal.left - self._guard.to_come * self._prices.run

    def _checked(self, query: Query, statement: Any, predicted: int, runs: dict[Side, Run]) -> Part:
        known = self._prices
        numbers = [run.number for run in runs.values()]
        step = self._journal.begin("check", Fraction(0), question=query.text, runs=numbers)
        for side, distance in self._sums.distances(query, statement, predicted).items():
            gap = runs[side].gap(distance)
            if gap is not None:
                return self._alarm(query, statement, step, predicted, runs[side], int(gap))
        found = Part.around(predicted, known.margin, "checked")
        self._journal.end(step, False, part=found.as_json())  # if it is lost, the runs are over and nothing leaks
        self._seen += 1
        return found

    def _alarm(self, query: Query, statement: Any, step: int, predicted: int, run: Run, gap: int) -> Part:
        """Answer a query that the hypothesis is wrong about, and measure its columns together.

        The gap measures by how much, within its margin, for free. But some of the alarms are false, raised by the
        noise of the comparison alone, and their gaps are wrong. So the answer is paid for if enough is left, and
        the gap is the answer if not.
        """
        distance = run.mechanism.threshold + gap
        value = predicted + (distance if run.side == "up" else -distance)
        found = Part.around(value, self._prices.gap_margin, "alarm")
        self._journal.end(step, part=found.as_json(), over=run.number)
        self._seen, self._bad = self._seen + 1, self._bad + 1
        with suppress(BudgetExceeded):
            found = self._paid(query, statement, predicted, self._alpha_after_alarm)
        self._measure(query.columns)
        return found

    @property
    def _alpha_after_alarm(self) -> Fraction:
        """The alpha of a payment after an alarm."""
        return PAID * self._terms.alpha

    def _paid(self, query: Query, statement: Any, predicted: int, alpha: Fraction) -> Part:
        known = self._prices
        if known.payment is None or known.single > self._left_for_payments():
            raise self._used_up()
        step = self._journal.begin("payment", known.single, question=query.text)
        noisy = int(known.payment.release(self._sums.value(query, statement)))
        found = Part.around(noisy, known.payment.error(1 - alpha), "paid", known.single)
        # To learn from noise does harm: only a difference that the noise of the payment cannot explain is learned.
        surprised = abs(noisy - predicted) > 3 * known.margin
        lesson = {"value": noisy} if surprised else {}
        self._journal.end(step, part=found.as_json(), **lesson)
        self._seen, self._bad = self._seen + 1, self._bad + surprised
        if surprised and (taught := self._lesson(query, noisy)) is not None:
            self._hypothesis.learn(taught)
        return found

    def _lesson(self, query: Query, value: int) -> Measurement | None:
        """Return what one payment teaches: nothing, if its query cuts or weighs bins."""
        payment = self._prices.payment
        if payment is None or not query.crisp or not query.columns:
            return None
        variance = float(payment.variance) / FINE**2
        return Measurement(query.columns, np.array(value / FINE), variance, query.weights)

    # -- whole marginals --------------------------------------------------------------------------------------

    def _measured_whole(self, query: Query) -> Part | None:
        """Measure columns that were never measured together, and answer the query if that is precise enough."""
        if not self._untrained(query.columns) or not self._measure(query.columns) or not query.crisp:
            return None
        known = self._prices
        newest = self._hypothesis.measured[-1]
        marked = int(np.count_nonzero(query.weights))
        variance = Fraction(newest.variance) * marked * FINE**2
        margin = math.ceil(FINE + math.sqrt(variance) * _quantile(self._terms.alpha))
        if margin > known.margin:
            return None
        value = round(float((newest.values * query.weights).sum()) * FINE)
        found = Part.around(value, margin, "measured", known.marginal)
        self._journal.end(self._journal.begin("answer", Fraction(0), question=query.text), part=found.as_json())
        return found

    def _measure(self, columns: Columns) -> bool:
        """Measure a whole marginal, if it is more precise than before and enough budget is left."""
        known = self._prices
        if known.marginal > self._left_for_payments() or not self._marginals.worth(columns, known.marginal):
            return False
        self._hypothesis.fit([self._marginals.take("whole", columns, known.marginal)])
        return True


def _quantile(alpha: Fraction) -> float:
    return -NormalDist().inv_cdf(float(alpha) / 2)
