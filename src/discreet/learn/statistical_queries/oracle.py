"""Answer statistical queries E[q(x, y)] within a tolerance, with privacy or without.

`StatisticalOracle` is the face that learners are written against: it answers a bounded query with an `Estimate`,
and states its tolerance. `SampleOracle` answers exactly, and is not private. `SQOracle` adds noise. A learner that
asks only through this face becomes private when the oracle is changed (Blum, Dwork, McSherry, Nissim 2005).

Claim. Neighbours add or remove one person: one row of a sample, all rows of a person in a vault. All answers of an
`SQOracle`, to at most `queries` queries that may each depend on the answers before, together with the private
count if one is made, are ε-differentially private (Laplace noise), or ρ-zCDP and so (ε, δ)-DP (Gaussian noise).
The queries are declared in number, not in content. The same query again is free. Sums are exact integers with a
sensitivity that interval arithmetic proves (`query`), and refusals depend on the query and the schema alone.

The mean is a sum divided by a number of rows: the declared one (`rows=`), which must be public, or a private
count, which is measured once and costs as much as a query. The note of each estimate says which. Its interval
covers the noise: it holds the mean over the rows that there are. How far that is from the population is a question
of sample size (`learn.theorems`). All intervals of one oracle hold together with the confidence. Theory:
docs/theory/statistical-queries.md.
"""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import Any, NoReturn, Protocol

from discreet.errors import DiscreetError, Fix, ParameterError
from discreet.kernel import SealedTable, amount_of, strictest_budget
from discreet.learn.statistical_queries import pricing, state
from discreet.learn.statistical_queries.exact_sums import EngineSums, ExactSums, SampleSums
from discreet.learn.statistical_queries.label import label
from discreet.learn.statistical_queries.pricing import WHOLE, Price
from discreet.learn.statistical_queries.query import GRAIN, Condition, StatisticalQuery, predicate
from discreet.learn.statistical_queries.sample import Sample
from discreet.ledger.costs import cost, described
from discreet.mechanisms import Exact, Sensitivity
from discreet.noise.random_bits import generation
from discreet.noise.testing import test_bits as bits_in_use
from discreet.privacy.losses import Loss
from discreet.privacy.theorems.calibration import rho_for
from discreet.query import cache_key, ir
from discreet.rational import Rational, positive, whole
from discreet.release import Estimate, Label, Receipt
from discreet.schema.metadata import TableMetadata

_COUNT = StatisticalQuery("the number of rows", ir.number(GRAIN))


class StatisticalOracle(Protocol):
    """What a statistical-query learner may do: read the public schema and the tolerance, and ask."""

    @property
    def metadata(self) -> TableMetadata:
        """The public schema."""

    @property
    def tolerance(self) -> float:
        """A bound on the error of every answer."""

    def ask(self, query: StatisticalQuery | Condition) -> Estimate:
        """Return the mean of a query, within the tolerance; of a condition, the share of rows that meet it."""


class SampleOracle:
    """Exact means over a sample. It is NOT private: it is for public rows, and to compare with.

    >>> from discreet.schema import Boolean, Integer
    >>> columns = {"age": Integer(0, 110), "ill": Boolean()}
    >>> oracle = SampleOracle(Sample.of({"age": [30, 71, 80, 12], "ill": [False, True, True, False]}, columns))
    >>> oracle.ask("age >= 65 and ill").value
    0.5
    """

    def __init__(self, sample: Sample):
        self._sums = SampleSums(sample)
        self.asked = 0

    @property
    def metadata(self) -> TableMetadata:
        """The public schema."""
        return self._sums.metadata

    @property
    def tolerance(self) -> float:
        """Zero: the answers are exact."""
        return 0.0

    def ask(self, query: StatisticalQuery | Condition) -> Estimate:
        """Return the exact mean of a query over the sample; 0 if there are no rows."""
        wanted = _query(query, self.metadata)
        total, count = self._sums.run(self._sums.prepare([wanted.tree, _COUNT.tree]))
        self.asked += 1
        value = total / count if count else 0.0
        return Estimate(wanted.text, [value], [value], [value], note="exact, and not private", kind="mean")


class SQOracle:
    """Private answers to a declared number of statistical queries, each chosen freely.

    >>> from discreet.schema import Boolean, Integer
    >>> columns = {"age": Integer(0, 110), "ill": Boolean()}
    >>> rows = Sample.of({"age": [30, 71, 80, 12] * 5000, "ill": [False, True, True, False] * 5000}, columns)
    >>> oracle = SQOracle(rows, queries=10, epsilon=1)
    >>> answer = oracle.ask("age >= 65 and ill")
    >>> abs(answer.value - 0.5) < 0.02, answer.margin < 0.02, oracle.left
    (True, True, 9)
    >>> oracle.ask("age >= 65 and ill").value == answer.value, oracle.left
    (True, 9)
    """

    def __init__(
        self,
        table: Sample | SealedTable,
        *,
        queries: int,
        epsilon: Rational | None = None,
        delta: Rational | None = None,
        spend: str | None = None,
        tolerance: Rational | None = None,
        rows: int | None = None,
        confidence: Rational = "0.95",
        name: str = "",
        path: str | Path | None = None,
    ):
        """Make an oracle over a sample, or open one over a vault, which charges for all queries at once.

        Give one of `epsilon`, `spend` (of a vault) and `tolerance` (with `rows`).

        Args:
            table: A sample, or the sealed rows of a vault with who pays.
            queries: How many queries may be asked.
            epsilon: The guarantee of all answers together; at the vault's δ, if it has one.
            delta: The δ of a sample's guarantee, with Gaussian noise; by default ε is pure, with Laplace noise.
            spend: A share of the vault's budget instead, such as "5%".
            tolerance: The largest error of any answer, as a share of `rows`: the least amount for it is spent.
            rows: The number of rows, if it is public; by default a private count is measured.
            confidence: The probability that all intervals hold; 0.95 by default.
            name: Tells apart two oracles of a vault with the same parameters.
            path: The file of the state of a vault's oracle; beside the rows by default.
        """
        count = whole(queries, "queries")
        declared = None if rows is None else whole(rows, "rows")
        terms: dict[str, Any] = {"queries": count, "rows": declared, "confidence": confidence}
        _expect_one(epsilon=epsilon, spend=spend, tolerance=tolerance)
        self._label: Label | None = None
        self._sums: ExactSums
        self._state: state.State
        if isinstance(table, SealedTable):
            _expect_none(delta, "delta", "A vault has its own delta.")
            self._open(table, epsilon, spend, tolerance, terms, name, path)
        else:
            _expect_none(spend, "spend", "A sample has no budget to take a share of.")
            self._sums = SampleSums(table)
            self._price = _priced(self._sums.weight, epsilon, delta, tolerance, terms)
            self._state = state.MemoryState(self._price)
        self._lock, self._generation = Lock(), generation()
        self._test = bits_in_use() is not None
        self._total = declared * WHOLE if declared is not None else self._measured(_COUNT)

    def _open(
        self,
        table: SealedTable,
        epsilon: Rational | None,
        spend: str | None,
        tolerance: Rational | None,
        terms: dict[str, Any],
        name: str,
        path: str | Path | None,
    ) -> None:
        balances = table.payer.balances()
        pure = strictest_budget(balances).pure
        self._sums = EngineSums(table.engine(), table.metadata)
        if tolerance is None:
            amount = amount_of(balances, epsilon=epsilon, spend=spend)
            price = pricing.for_amount(amount, pure, weight=self._sums.weight, **terms)
        else:
            price = pricing.for_tolerance(tolerance, pure, weight=self._sums.weight, **terms)
        called = f" {name!r}" if name else ""
        unit = "epsilon" if pure else "rho"
        facts = f"{unit} {price.amount}, rows {price.rows}, confidence {price.confidence}"
        text = cache_key.text(table.metadata, f"{price.queries} statistical queries{called} [{facts}]")
        self._price = price
        self._state = state.opened(table, text, price, path)
        losses = price.losses
        receipt = Receipt(cost(losses), tuple(described(losses)), table.payer.balances())
        self._label = label(table.metadata, price, receipt)

    # -- for learners -----------------------------------------------------------------------------------------

    @property
    def metadata(self) -> TableMetadata:
        """The public schema."""
        return self._sums.metadata

    @property
    def loss(self) -> Loss:
        """What all answers together cost: fixed when the oracle is made."""
        return self._price.losses

    @property
    def left(self) -> int:
        """How many queries may still be asked."""
        return min(self._price.queries, self._state.left)

    @property
    def rows(self) -> float:
        """The number that sums are divided by: the declared rows, or the private count, at least 1."""
        return max(self._total / WHOLE, 1.0)

    @property
    def tolerance(self) -> float:
        """A bound on the error of every answer, at the confidence, as a share of the rows; at most 1.

        With a private count both the sum and the count are off by at most the margin, and the mean by twice that.
        """
        parts = 1 if self._price.rows is not None else 2
        return min(1.0, parts * self._price.margin / max(self._total, 1))

    @property
    def label(self) -> Label | None:
        """The label of all answers of a vault's oracle; None for a sample."""
        return self._label

    @property
    def receipt(self) -> Receipt | None:
        """What a vault's oracle was charged; None for a sample."""
        return None if self._label is None else self._label.receipt

    def ask(self, query: StatisticalQuery | Condition) -> Estimate:
        """Return the private mean of a query, with the interval of its noise. The same query again is free."""
        wanted = _query(query, self.metadata)
        noisy = self._measured(wanted)
        value, low, high = self._mean(noisy, wanted)
        rows = self._price.rows
        by = "a private count" if rows is None else f"{rows:,} declared rows"
        return Estimate(
            wanted.text,
            [value],
            [low],
            [high],
            note=f"divided by {by}; all {self._price.queries:,} intervals hold together",
            kind="mean",
            test_bits=self._test or bits_in_use() is not None,
            confidence=self._price.confidence,
        )

    def close(self) -> None:
        """Close the state of a vault's oracle. Nothing is lost."""
        self._state.close()

    def __enter__(self) -> SQOracle:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<statistical-query oracle, {self.left:,} of {self._price.queries:,} queries left>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("An oracle is not copied or pickled: two copies would each spend the same budget.")

    # -- one answer -------------------------------------------------------------------------------------------

    def _measured(self, query: StatisticalQuery) -> int:
        if generation() != self._generation:  # before the lock, which a fork may have copied while it was held
            raise DiscreetError("This oracle was made by another process.", fix="Make one in this process.")
        key = query.tree.sql()
        with self._lock:
            known = self._state.known(key)
            if known is not None:
                return known
            prepared = self._sums.prepare([query.tree])  # what cannot be computed is refused here, for free
            number = self._state.begin(key)
            total = self._sums.run(prepared)[0]
            sealed = Exact(total, Sensitivity(entries=1, each=self._sums.weight * GRAIN))
            noisy = int(self._price.mechanism.release(sealed))
            self._state.end(number, key, noisy)
            return noisy

    def _mean(self, noisy: int, query: StatisticalQuery) -> tuple[float, float, float]:
        """Return the mean and its interval, within the range of the query."""
        margin, total = self._price.margin, self._total
        off = margin if self._price.rows is None else 0

        def within(number: float) -> float:
            return min(max(number, float(query.low)), float(query.high))

        def ratio(part: int, up: bool) -> float:
            """Return the least or the largest ratio of this sum to a number of rows within `off` of the total."""
            by = total - off if (part >= 0) == up else total + off
            return within(part / by) if by > 0 else float(query.high if up else query.low)

        value = within(noisy / total) if total > 0 else (query.low + query.high) / 2
        return value, ratio(noisy - margin, up=False), ratio(noisy + margin, up=True)


def _query(given: StatisticalQuery | Condition, metadata: TableMetadata) -> StatisticalQuery:
    return given.admit(metadata) if isinstance(given, StatisticalQuery) else predicate(metadata, given)


def _priced(
    weight: int,
    epsilon: Rational | None,
    delta: Rational | None,
    tolerance: Rational | None,
    terms: dict[str, Any],
) -> Price:
    if tolerance is not None:
        _expect_none(delta, "delta", "A tolerance of a sample is paid for with pure ε.")
        return pricing.for_tolerance(tolerance, True, weight=weight, **terms)
    exact = positive(epsilon or 0, "epsilon")
    amount = exact if delta is None else rho_for(exact, delta)
    return pricing.for_amount(amount, delta is None, weight=weight, **terms)


def _expect_one(**given: Any) -> None:
    if sum(value is not None for value in given.values()) != 1:
        raise ParameterError(
            "An oracle needs one of epsilon, spend and tolerance.",
            fix=[Fix("epsilon", "0.5"), Fix("tolerance", "0.05")],
        )


def _expect_none(value: Any, name: str, problem: str) -> None:
    if value is not None:
        raise ParameterError(problem, found=f"{name}={value}", fix="Leave it out.")
