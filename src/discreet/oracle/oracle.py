"""Answer thousands of adaptive questions on one charge, most of them for free: what all oracles share.

    cache ─▶ what was released: does it answer? ─▶ yes: free
                                                └▶ no: fresh noise

An oracle is charged once, with ρ, when it is made. Every step that touches data has a ρ of its own, fixed by
public facts and released numbers, which is set aside in the journal before the noise is drawn; together they
never exceed the charge. By adaptive composition of zCDP the whole is ρ-zCDP. `SpanOracle` measures first and
answers from that; `ThresholdOracle` answers from a hypothesis that a threshold test checks. Theory:
docs/theory/oracle.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from discreet.errors import BudgetExceeded, DiscreetError, Fix, NotForRelease, ParameterError
from discreet.kernel.journal import Journal
from discreet.mechanisms import Gaussian
from discreet.noise.random_bits import generation
from discreet.noise.testing import test_bits as bits_in_use
from discreet.oracle import answer as answers
from discreet.oracle import render
from discreet.oracle.answer import OracleAnswer, Part
from discreet.oracle.dense_table import Floats
from discreet.oracle.exact_sums import Sums
from discreet.oracle.fit import Measurement, Prior
from discreet.oracle.hypothesis import Hypothesis, hypothesis
from discreet.oracle.label import label
from discreet.oracle.linear_query import Decomposition, Query, decompose
from discreet.oracle.marginals import Marginals
from discreet.oracle.pricing import FINE, Prices, Terms, used_up
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
        self._marginals = Marginals(journal, sums, self._axes, terms)
        self._test = bits_in_use() is not None
        if journal.header.get("test_bits") and not self._test:
            raise NotForRelease(
                "This oracle was made from test bits.", fix=Fix("name", "second", note="another oracle")
            )
        self._prices = self._begun()
        self._label = label(metadata, self._axes, terms, self._prices, receipt, self._certificate_noise)
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
        self._expect_answerable(wanted)
        with self._lock:
            before = self._journal.spent
            size = 1 if wanted.total is None else 2
            count = self._part(wanted.count, unchecked, size)
            parts = [count]
            if wanted.total is not None and wanted.term is not None:
                total = self._part(wanted.total, unchecked, size)
                count, total = self._halved(count), self._halved(total)
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
                promise=self._terms.promise,
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

    def __enter__(self) -> Self:
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

    def _expect_answerable(self, wanted: Decomposition) -> None:
        """Refuse a question that a hypothesis cannot predict, before a part of it is charged."""
        wanted.count.expect_table()
        if wanted.total is not None:
            wanted.total.expect_table()

    def _part(self, query: Query, unchecked: bool, parts: int) -> Part:
        """Answer one query of a question that is made of so many."""
        if query.text in self._cache:
            found = self._cache[query.text]
            return Part(found.value, found.low, found.high, found.how)
        if (known := self._released(query, parts)) is not None:
            return known
        statement = self._sums.prepare(query)  # a question that no engine can run is refused here, for free
        try:
            found = self._fresh(query, statement, parts)
        except BudgetExceeded:
            if not unchecked:
                raise self._used_up() from None
            return Part(self._predicted(query), 0, 0, "unchecked")
        self._cache[query.text] = found
        return found

    def _released(self, query: Query, parts: int) -> Part | None:
        """Return an answer from what was released before; None if that has none."""
        return None

    def _halved(self, part: Part) -> Part:
        """Return a part of two with an interval that misses with half of alpha, so that both hold as asked."""
        return part

    def _fresh(self, query: Query, statement: Any, parts: int) -> Part:
        """Answer a query that nothing released answers, or raise BudgetExceeded."""
        raise NotImplementedError

    def _predicted(self, query: Query) -> int:
        """Return what the hypothesis gives for a query: a public integer."""
        query.expect_table()  # before the hypothesis makes one
        mass = float((self._hypothesis.marginal(query.columns) * query.weights).sum())
        return round(min(max(mass, 0.0), 2.0**37) * FINE)

    # -- start and restart -------------------------------------------------------------------------------------

    @property
    def _certificate_noise(self) -> Gaussian | None:
        """The noise of a certificate that this oracle may buy."""
        return None

    def _begun(self) -> Prices:
        """Begin, or go on where the journal ends, and return the costs of all steps."""
        raise NotImplementedError

    @cached_property
    def _known(self) -> Measurement:
        """The noisy number of rows, measured now if it was not before."""
        return self._marginals.total()

    @cached_property
    def _hypothesis(self) -> Hypothesis:
        """The public table that predicts answers, fitted to what is measured at the start."""
        sizes = [axis.size for axis in self._axes]
        found = hypothesis(sizes, self._known, self._prior, estimated=self._terms.start == "span")
        found.fit(self._start())
        return found

    def _start(self) -> list[Measurement]:
        """Return the measurements of the start, from the journal or made now."""
        return self._marginals.start(self._prices)

    def _replay(self) -> None:
        """Restore the answers of the journal."""
        for number, record in self._journal.begun.items():
            ended = self._journal.ended.get(number)
            if "question" in record and ended is not None:
                self._cache[record["question"]] = Part.from_json(ended["part"])

    # -- confidence and errors ---------------------------------------------------------------------------------

    def _confidence(self, parts: Sequence[Part]) -> Fraction:
        """Return the confidence of an answer of these parts: 0 if one of them was not checked."""
        return Fraction(0) if any(part.how == "unchecked" for part in parts) else 1 - self._terms.alpha

    def _used_up(self) -> BudgetExceeded:
        return used_up(self._terms, self._prices, self._journal.left)

    def _refuse_elsewhere(self) -> None:
        if generation() != self._generation:
            raise DiscreetError("This oracle was opened by another process.", fix="Open it again in this process.")
