"""The oracle: thousands of adaptive questions on one charge, of which most are free.

    cache ─▶ hypothesis ─▶ sentry: good enough? ─▶ yes: free
                                  └▶ no: pay, and measure the columns together
    while the hypothesis is not to be trusted: pay for the answer, and learn

**What is private.** Gaussian noise on the number of rows, on marginals at the start, on whole marginals and on
single answers later; and the runs of the sentry. Each has a ρ, fixed by public facts and released numbers, and is
set aside in the journal before it is drawn; together they never exceed the ρ that was charged when the oracle was
made. By adaptive (and, since runs and payments take turns, concurrent) composition of zCDP the whole is ρ-zCDP.
Everything else (the hypothesis, whom to trust, what to measure next) is computed from these releases.

**What an answer promises.** Whatever the analyst does, each answer is outside its interval with probability at
most 1 − confidence: the chances that it is free and wrong, that the payment after an alarm misses, or that the gap
does, add up to no more (`discreet.oracle.pricing`). This is said of each answer before it is given: of the answers
that were free, or of those that were alarms, more may miss. Theory: docs/theory/oracle.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from threading import Lock
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from discreet.errors import BudgetExceeded, DiscreetError, NotForRelease, ParameterError
from discreet.noise.random_bits import generation
from discreet.noise.testing import test_bits as bits_in_use
from discreet.oracle import answer as answers
from discreet.oracle.answer import OracleAnswer, Part
from discreet.oracle.dense_table import Floats
from discreet.oracle.exact_sums import Sums
from discreet.oracle.fit import Columns, Measurement, Prior
from discreet.oracle.guard import Guard
from discreet.oracle.hypothesis import hypothesis
from discreet.oracle.journal import Journal
from discreet.oracle.linear_query import Query, selected
from discreet.oracle.marginals import Marginals
from discreet.oracle.pricing import FINE, PAID, Terms, narrowest, prices
from discreet.oracle.threshold_test import Run, Side
from discreet.query import cache_key
from discreet.query.bins import Axis

if TYPE_CHECKING:
    from discreet.schema.metadata import TableMetadata


class Oracle:
    """Made by `vault.oracle`; see there.

    It belongs to one process at a time, and its state is in its journal: closed, or killed, it is opened again by
    the call that made it.
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
    ):
        self._journal, self._sums, self._axes = journal, sums, tuple(axes)
        self._terms, self._description, self._prior = terms, metadata, prior
        self._lock, self._generation = Lock(), generation()
        self._cache: dict[str, Part] = {}
        self._seen, self._bad = 0, 0
        self._marginals = Marginals(journal, sums, self._axes, terms)
        self._test = bits_in_use() is not None
        known = self._total()
        self._prices = prices(terms, float(known.values))
        self._guard = Guard(journal, terms, self._prices)
        self._believed = hypothesis([axis.size for axis in self._axes], known, prior)
        self._believed.fit(self._marginals.start(self._prices))
        self._replay()

    # -- what anyone may ask ----------------------------------------------------------------------------------

    def ask(self, question: Any, *, unchecked: bool = False) -> OracleAnswer:
        """Answer a count, a sum or an average over a condition, in SQL or made with `dp.where` or `dp.select`.

        Where the budget of the oracle is used up, `unchecked=True` asks for what the hypothesis says, without an
        interval.
        """
        self._refuse_elsewhere()  # before the lock, which a thread may have held when this process was forked
        query = cache_key.parsed(question, self._description)
        wanted = selected(query, self._axes)
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
                confidence=self._sure(parts),
                how=tuple(part.how for part in parts),
                cost=self._journal.spent - before,
                spent=self._journal.spent,
                total=self._journal.rho,
                test_bits=self._test or bits_in_use() is not None,
            )

    @property
    def spent(self) -> Fraction:
        """What was spent of ρ so far."""
        return self._journal.spent

    @property
    def total(self) -> Fraction:
        """What may be spent of ρ: the charge."""
        return self._journal.rho

    @property
    def width(self) -> float:
        """How far off an answer may be, in rows."""
        return self._prices.width / FINE

    @property
    def rows(self) -> float:
        """How many rows there are, as far as is known."""
        return self._believed.total

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The columns it is about, with their bins."""
        return self._axes

    @property
    def measured(self) -> tuple[Measurement, ...]:
        """All that was measured so far: released, and so public."""
        return tuple(self._believed.measured)

    @property
    def path(self) -> str:
        """Where its state is."""
        return str(self._journal.path)

    @property
    def identity(self) -> str:
        """What tells it from every other oracle."""
        return str(self._journal.header["identity"])

    @property
    def test_bits(self) -> bool:
        """Whether it was made from test bits: then nothing of it may be shown."""
        return bool(self._journal.header.get("test_bits"))

    def marginal(self, *columns: str) -> Floats:
        """Return what the hypothesis says of some columns, in rows by bin. It is public, and nobody checked it."""
        names = [axis.name for axis in self._axes]
        if strange := [name for name in columns if name not in names] or (not columns and ["nothing"]):
            raise ParameterError(f"this oracle knows {', '.join(names)}, and not {strange[0]}.")
        places = [names.index(name) for name in columns]
        table = self._believed.marginal(tuple(sorted(places)))
        return table.transpose(np.argsort(np.argsort(places)))

    def close(self) -> None:
        """Let go of the journal. Nothing is lost."""
        self._journal.close()

    def __enter__(self) -> Oracle:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        names = ", ".join(axis.name for axis in self._axes)
        return f"<oracle over {names}: ρ = {float(self.spent):.3g} of {float(self.total):.3g} is spent>"

    def __str__(self) -> str:
        from discreet.oracle import render

        return "\n".join(render.lines(self))

    def _repr_html_(self) -> str:
        from discreet.oracle import render

        return render.page(self)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("An oracle is not copied or pickled: open it where it is needed, vault.oracle(…).")

    # -- one query --------------------------------------------------------------------------------------------

    def _part(self, query: Query, unchecked: bool) -> Part:
        if query.text in self._cache:
            found = self._cache[query.text]
            return Part(found.value, found.low, found.high, found.how)
        statement = self._sums.prepare(query)  # what cannot be asked is refused here, and is free
        believed = self._says(query)
        runs = self._trusted(query)
        try:
            if runs is not None:
                found = self._checked(query, statement, believed, runs)
            else:
                found = self._measured_whole(query) or self._paid(query, statement, believed, self._terms.alpha)
        except BudgetExceeded:
            if not unchecked:
                raise BudgetExceeded(self._used_up()) from None
            return Part(believed, 0, 0, "unchecked")
        self._cache[query.text] = found
        return found

    def _says(self, query: Query) -> int:
        """What the hypothesis gives for a query: a public integer."""
        mass = float((self._believed.marginal(query.columns) * query.weights).sum())
        return round(min(max(mass, 0.0), 2.0**37) * FINE)

    def _trusted(self, query: Query) -> dict[Side, Run] | None:
        """Both runs of the sentry, if the hypothesis is likely enough to pass; None if it is cheaper to pay.

        An alarm uses up a run. Its chance is taken to be what it was so far: none, until there is one.
        """
        known = self._prices
        chance = Fraction(self._bad, self._seen + 1)
        cheaper = chance * known.run > known.single or self._untrained(query.columns)
        return None if cheaper and self._purse() >= known.single else self._guard.ready()

    def _untrained(self, columns: Columns) -> bool:
        """Whether nothing was ever measured about two of these columns together, and no prior speaks of them."""
        if self._prior is not None:
            return False
        together = [set(m.columns) for m in self._believed.measured if m.fine]
        pairs = [{a, b} for a in columns for b in columns if a < b]
        return any(not any(pair <= known for known in together) for pair in pairs)

    def _purse(self) -> Fraction:
        """What payments may use: what is left, but for the runs that the sentry has still to come."""
        return self._journal.left - self._guard.to_come * self._prices.run

    def _checked(self, query: Query, statement: Any, believed: int, runs: dict[Side, Run]) -> Part:
        known = self._prices
        numbers = [run.number for run in runs.values()]
        step = self._journal.begin("check", Fraction(0), question=query.text, runs=numbers)
        for side, distance in self._sums.distances(query, statement, believed).items():
            gap = runs[side].gap(distance)
            if gap is not None:
                return self._alarm(query, statement, step, believed, runs[side], int(gap))
        found = _within(believed, known.width, "checked")
        self._journal.end(step, False, part=found.as_json())  # lost, it costs the runs and nothing more
        self._seen += 1
        return found

    def _alarm(self, query: Query, statement: Any, step: int, believed: int, run: Run, gap: int) -> Part:
        """Answer a query that the hypothesis is wrong about, and measure its columns together.

        The gap says by how much, within its radius, and costs nothing. But of many comparisons those that raise an
        alarm by their own noise are among the alarms, and their gaps are the wrong ones: the answer is paid for
        where there is enough left, and the gap is the answer where there is not.
        """
        distance = run.mechanism.threshold + gap
        value = believed + (distance if run.side == "up" else -distance)
        found = _within(value, self._prices.reach, "alarm")
        self._journal.end(step, part=found.as_json(), over=run.number)
        self._seen, self._bad = self._seen + 1, self._bad + 1
        with suppress(BudgetExceeded):
            found = self._paid(query, statement, believed, PAID * self._terms.alpha)
        self._measure(query.columns)
        return found

    def _paid(self, query: Query, statement: Any, believed: int, alpha: Fraction) -> Part:
        known = self._prices
        if known.payment is None or known.single > self._purse():
            raise BudgetExceeded(self._used_up())
        step = self._journal.begin("payment", known.single, question=query.text)
        noisy = int(known.payment.release(self._sums.value(query, statement)))
        found = _within(noisy, known.payment.error(1 - alpha), "paid", known.single)
        # Learning from noise does harm: a payment teaches only what its own noise, within one width, cannot be.
        surprised = abs(noisy - believed) > 3 * known.width
        lesson = {"value": noisy} if surprised else {}
        self._journal.end(step, part=found.as_json(), **lesson)
        self._seen, self._bad = self._seen + 1, self._bad + surprised
        if surprised and (taught := self._lesson(query, noisy)) is not None:
            self._believed.learn(taught)
        return found

    def _lesson(self, query: Query, value: int) -> Measurement | None:
        """What one payment teaches. A query that cuts bins, or weighs them, teaches nothing."""
        payment = self._prices.payment
        if payment is None or not query.crisp or not query.columns:
            return None
        variance = float(payment.variance) / FINE**2
        return Measurement(query.columns, np.array(value / FINE), variance, query.weights)

    # -- whole marginals --------------------------------------------------------------------------------------

    def _measured_whole(self, query: Query) -> Part | None:
        """Measure columns together where nothing is known of them, and answer the query if that is enough."""
        if not self._untrained(query.columns) or not self._measure(query.columns) or not query.crisp:
            return None
        known = self._prices
        newest = self._believed.measured[-1]
        marked = int(np.count_nonzero(query.weights))
        variance = Fraction(newest.variance) * marked * FINE**2
        radius = math.ceil(FINE + math.sqrt(variance) * _quantile(self._terms.alpha))
        if radius > known.width:
            return None
        value = round(float((newest.values * query.weights).sum()) * FINE)
        found = _within(value, radius, "measured", known.marginal)
        self._journal.end(self._journal.begin("answer", Fraction(0), question=query.text), part=found.as_json())
        return found

    def _measure(self, columns: Columns) -> bool:
        """Measure a whole marginal, if that says more than what was measured of it, and there is enough left."""
        known = self._prices
        if known.marginal > self._purse() or not self._marginals.worth(columns, known.marginal):
            return False
        self._believed.fit([self._marginals.take("whole", columns, known.marginal)])
        return True

    # -- starting, and starting again -------------------------------------------------------------------------

    def _total(self) -> Measurement:
        """The number of rows, measured now if it was not before."""
        if self._journal.header.get("test_bits") and not self._test:
            raise NotForRelease("This oracle was made from test bits. Make another one.")
        return self._marginals.total()

    def _replay(self) -> None:
        """Take up what was asked before: answers, runs, and lessons. A check without an end is an alarm."""
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
            self._believed.fit(learned)

    def _remembered(self, record: dict[str, Any], ended: dict[str, Any]) -> list[Measurement]:
        """Take up one answer, and return what it taught."""
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
        """A query from its own text."""
        _, _, question = text.partition(": ") if text.startswith(("count: ", "sum: ")) else ("", "", text)
        wanted = selected(cache_key.parsed(question, self._description), self._axes)
        return wanted.total if text.startswith("sum: ") and wanted.total is not None else wanted.count

    # -- small things -----------------------------------------------------------------------------------------

    def _sure(self, parts: Sequence[Part]) -> Fraction:
        """How sure an answer of these parts is: not at all, if nobody checked one of them."""
        checked = all(part.how != "unchecked" for part in parts)
        return max(1 - len(parts) * self._terms.alpha, Fraction(0)) if checked else Fraction(0)

    def _used_up(self) -> str:
        left, price = float(self._journal.left), float(self._prices.single)
        width = f"{self.width:,.0f}" if self.width >= 1 else f"{self.width:.2g}"
        another = "make another oracle"
        if not self._prices.answers(self._terms) and (least := narrowest(self._terms)) is not None:
            another += f", which for as much answers within {least} rows: vault.oracle(…, within={least})"
        return (
            f"An answer within {width} rows costs ρ = {price:.3g}, and {left:.3g} of {float(self.total):.3g} is "
            f"left of this oracle. Ask with unchecked=True for what its hypothesis says, or {another}."
        )

    def _refuse_elsewhere(self) -> None:
        if generation() != self._generation:
            raise DiscreetError("This oracle was opened by another process. Open it here: vault.oracle(…).")


def _within(value: int, radius: int, how: str, cost: Fraction = Fraction(0)) -> Part:
    """Nothing is below zero: weights are not."""
    return Part(max(value, 0), max(value - radius, 0), max(value + radius, 0), how, cost)


def _quantile(alpha: Fraction) -> float:
    from statistics import NormalDist

    return -NormalDist().inv_cdf(float(alpha) / 2)
