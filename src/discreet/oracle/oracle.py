"""Answer thousands of adaptive questions on one charge, most of them for free.

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
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from statistics import NormalDist
from threading import Lock
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from discreet.errors import BudgetExceeded, DiscreetError, Fix, NotForRelease, ParameterError
from discreet.noise.random_bits import generation
from discreet.noise.testing import test_bits as bits_in_use
from discreet.oracle import answer as answers
from discreet.oracle import render
from discreet.oracle.answer import OracleAnswer, Part
from discreet.oracle.dense_table import Floats
from discreet.oracle.exact_sums import Sums
from discreet.oracle.fit import Columns, Measurement, Prior
from discreet.oracle.hypothesis import hypothesis
from discreet.oracle.journal import Journal
from discreet.oracle.label import label
from discreet.oracle.linear_query import Query, decompose
from discreet.oracle.marginals import Marginals
from discreet.oracle.pricing import FINE, PAID, Terms, guard, prices, used_up
from discreet.oracle.threshold_test import Run, Side
from discreet.query import cache_key
from discreet.query.bins import Axis

if TYPE_CHECKING:
    from discreet.release.label import Label
    from discreet.release.receipt import Receipt
    from discreet.schema.metadata import TableMetadata


class Oracle:
    """Answers many questions on one charge. `vault.oracle` makes it; see there.

    It belongs to one process at a time, and its state is in its journal. After it was closed or killed, the call
    that made it opens it again.
    """

    def __init__(
        self,
        journal: Journal,
        sums: Sums,
        *,
        axes: Sequence[Axis],
        terms: Terms,
        metadata: TableMetadata,
        prior: Prior | None,
        receipt: Receipt,
    ):
        self._journal, self._sums, self._axes = journal, sums, tuple(axes)
        self._terms, self._metadata, self._prior = terms, metadata, prior
        self._lock, self._generation = Lock(), generation()
        self._cache: dict[str, Part] = {}
        self._seen, self._bad = 0, 0
        self._marginals = Marginals(journal, sums, self._axes, terms)
        self._test = bits_in_use() is not None
        known = self._total()
        self._prices = prices(terms, float(known.values))
        self._label = label(metadata, self._axes, terms, self._prices, receipt)
        self._guard = guard(journal, terms, self._prices)
        self._hypothesis = hypothesis([axis.size for axis in self._axes], known, prior)
        self._hypothesis.fit(self._marginals.start(self._prices))
        self._replay()

    # -- for the analyst ---------------------------------------------------------------------------------------

    def ask(self, question: Any, *, unchecked: bool = False) -> OracleAnswer:
        """Answer a count, a sum or an average over a condition, in SQL or made with `dp.where` or `dp.select`.

        When the budget of the oracle is used up, `unchecked=True` returns the prediction of the hypothesis,
        without an interval.
        """
        self._refuse_elsewhere()  # before the lock, which a thread may have held when this process was forked
        query = cache_key.parsed(question, self._metadata)
        wanted = decompose(query, self._axes)
        with self._lock:
            before = self._journal.spent
            count = self._part(wanted.count, unchecked)
            parts = [count]
            if wanted.total is not None and wanted.term is not None:
                total = self._part(wanted.total, unchecked)
                together = answers.mean if wanted.kind == "avg" else answers.total
                value, low, high = together(count, total, wanted.total.slack, wanted.term)
                parts.append(total)
            else:
                value, low, high = answers.count(count)
            return OracleAnswer(
                question=query.text,
                value=value,
                low=low,
                high=high,
                confidence=self._confidence(parts),
                how=tuple(part.how for part in parts),
                cost=self._journal.spent - before,
                spent=self._journal.spent,
                total=self._journal.rho,
                test_bits=self._test or bits_in_use() is not None,
                label=self._label,
            )

    @property
    def label(self) -> Label:
        """The label of every answer: whom the oracle protects, how well, and by what means."""
        return self._label

    @property
    def spent(self) -> Fraction:
        """The ρ spent so far."""
        return self._journal.spent

    @property
    def total(self) -> Fraction:
        """The ρ that was charged for the oracle: the most that it spends."""
        return self._journal.rho

    @property
    def width(self) -> float:
        """The margin of error of an answer, in rows."""
        return self._prices.margin / FINE

    @property
    def rows(self) -> float:
        """The number of rows, estimated from what was measured."""
        return self._hypothesis.total

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The columns of the oracle, with their bins."""
        return self._axes

    @property
    def measured(self) -> tuple[Measurement, ...]:
        """Everything measured so far. It is released, and so public."""
        return tuple(self._hypothesis.measured)

    @property
    def path(self) -> str:
        """The file of its state."""
        return str(self._journal.path)

    @property
    def identity(self) -> str:
        """A text that no other oracle has."""
        return str(self._journal.header["identity"])

    @property
    def test_bits(self) -> bool:
        """Whether the oracle was made from test bits. Then nothing of it may be shown."""
        return bool(self._journal.header.get("test_bits"))

    def marginal(self, *columns: str) -> Floats:
        """Return the prediction for some columns, in rows by bin. It is public, and not checked."""
        names = [axis.name for axis in self._axes]
        if strange := [name for name in columns if name not in names] or (not columns and ["nothing"]):
            fix = f"Its columns are {', '.join(names)}."
            raise ParameterError("A marginal is over columns of this oracle.", found=strange[0], fix=fix)
        places = [names.index(name) for name in columns]
        table = self._hypothesis.marginal(tuple(sorted(places)))
        return table.transpose(np.argsort(np.argsort(places)))

    def close(self) -> None:
        """Close the journal. Nothing is lost."""
        self._journal.close()

    def __enter__(self) -> Oracle:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        names = ", ".join(axis.name for axis in self._axes)
        return f"<oracle over {names}: {render.used(self.spent, self.total)}>"

    def __str__(self) -> str:
        return "\n".join(render.lines(self))

    def _repr_html_(self) -> str:
        return render.page(self)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("An oracle is not copied or pickled. Open it where it is needed: vault.oracle(…).")

    # -- one query --------------------------------------------------------------------------------------------

    def _part(self, query: Query, unchecked: bool) -> Part:
        if query.text in self._cache:
            found = self._cache[query.text]
            return Part(found.value, found.low, found.high, found.how)
        statement = self._sums.prepare(query)  # a question that no engine can run is refused here, for free
        predicted = self._predicted(query)
        runs = self._runs_if_trusted(query)
        try:
            if runs is not None:
                found = self._checked(query, statement, predicted, runs)
            else:
                found = self._measured_whole(query) or self._paid(query, statement, predicted, self._terms.alpha)
        except BudgetExceeded:
            if not unchecked:
                raise self._used_up() from None
            return Part(predicted, 0, 0, "unchecked")
        self._cache[query.text] = found
        return found

    def _predicted(self, query: Query) -> int:
        """Return what the hypothesis gives for a query: a public integer."""
        mass = float((self._hypothesis.marginal(query.columns) * query.weights).sum())
        return round(min(max(mass, 0.0), 2.0**37) * FINE)

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
            found = self._paid(query, statement, predicted, PAID * self._terms.alpha)
        self._measure(query.columns)
        return found

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

    # -- start and restart -------------------------------------------------------------------------------------

    def _total(self) -> Measurement:
        """Return the noisy number of rows, measured now if it was not before."""
        if self._journal.header.get("test_bits") and not self._test:
            raise NotForRelease(
                "This oracle was made from test bits.", fix=Fix("name", "second", note="another oracle")
            )
        return self._marginals.total()

    def _replay(self) -> None:
        """Restore answers, runs and lessons from the journal. A check without a result counts as an alarm."""
        learned: list[Measurement] = []
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

    # -- confidence and errors ---------------------------------------------------------------------------------

    def _confidence(self, parts: Sequence[Part]) -> Fraction:
        """Return the confidence of an answer of these parts: 0 if one of them was not checked."""
        checked = all(part.how != "unchecked" for part in parts)
        return max(1 - len(parts) * self._terms.alpha, Fraction(0)) if checked else Fraction(0)

    def _used_up(self) -> BudgetExceeded:
        return used_up(self._terms, self._prices, self._journal.left)

    def _refuse_elsewhere(self) -> None:
        if generation() != self._generation:
            raise DiscreetError("This oracle was opened by another process.", fix="Open it again in this process.")


def _quantile(alpha: Fraction) -> float:
    return -NormalDist().inv_cdf(float(alpha) / 2)
