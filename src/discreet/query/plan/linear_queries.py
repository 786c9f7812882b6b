"""Define the linear queries that are summed over the rows, and prove their sensitivity.

A sealed row has a weight w ≥ 0, and the weights of one person add up to at most K·U (K rows, U = 4096 units each).
A linear query gives every row an integer factor f, |f| ≤ m, and adds up w·f within each of the declared groups:
one vector M of integers. Filters and groups look at one row at a time, so a person's rows add the same d to M,
independent of all other persons, and with their weights w_r

    ‖d‖₁ ≤ Σ_r w_r·|f_r| ≤ K·U·m,    hence also ‖d‖∞ ≤ K·U·m and ‖d‖₂² ≤ (K·U·m)².

All three are attained by a person whose rows are in one group. If no f is negative, no entry of d is negative: M
is monotonic.

The number of persons adds up min(U, s) instead, where s is the weight of a person in the group. Each entry changes
by at most U, and Σ_g min(U, s_g) ≤ Σ_g s_g ≤ K·U: ‖d‖∞ ≤ U, ‖d‖₁ ≤ K·U (U if there is one group), ‖d‖₂² ≤ U·‖d‖₁.

**The bound m is enforced where it is used**: the summed tree replaces a code outside [low, high] by the nearer
end, independent of the bounds derived for the term, and is NULL where the code is NULL, which sums skip.
**Centring**: with d = high − low the factor code − (low + high)/2, doubled if that is not an integer, has m = d/2
in units of a code, the least possible. Its square lies in an interval too, and is centred in the same way.
**Coarsening**: noise grows with K·U·m. To keep it within int64, a factor with K·U·m > 2³⁶ is rounded to the
nearest multiple of a power of two: ⌊f/2^s + ½⌋. This changes no row by more than 2^{s−1}, or by about K·2⁻²⁵ of
the range, and has no bias. `slack` is this largest change.

Theory: docs/theory/queries.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING

from discreet.engines.nodes import Mul
from discreet.mechanisms.sensitivity import Sensitivity
from discreet.query import ir
from discreet.query.plan.affine import AffineMap, centred, half_step, rounded, shifted, signed
from discreet.schema.metadata import UNIT

if TYPE_CHECKING:
    from discreet.engines.nodes import Expression
    from discreet.query.question import Term

MOST = 2**36
"""The largest L1 sensitivity of a linear query: with ε ≥ 2⁻¹⁶ its noise fits in int64."""


@dataclass(frozen=True)
class LinearQuery:
    """One integer per group: the sum of weight·factor over its rows, or of min(U, weight) over its persons.

    Equal queries are equal expressions, so aggregates that need the same query share it.

    Args:
        key: The identity of the query.
        build: Returns the summed expression, built on demand because a plan compares more queries than it uses.
            None for persons.
        bound: The largest absolute value of the factor, m.
        unit: The value of one unit of the factor, in the term's own values.
        slack: The largest change of a row by rounding, in the term's own values.
        monotonic: Whether no factor is negative.
        description: What is summed, for the explanation of a plan.
    """

    key: str | tuple[str, *tuple[Expression, ...]]
    build: Callable[[], Expression] | None = field(compare=False, repr=False)
    bound: int = field(compare=False, default=1)
    unit: Fraction = field(compare=False, default=Fraction(1))
    slack: Fraction = field(compare=False, default=Fraction(0))
    monotonic: bool = field(compare=False, default=False)
    description: str = field(compare=False, default="")

    @property
    def persons(self) -> bool:
        """Whether it counts persons; the other queries sum over rows."""
        return self.build is None

    @cached_property
    def tree(self) -> Expression | None:
        """The expression that is summed over the rows; None for persons."""
        return None if self.build is None else self.build()

    def sensitivity(self, rows_per_person: int, groups: int) -> Sensitivity:
        """Return the sensitivity of the vector over all groups to one person.

        >>> rows().sensitivity(rows_per_person=2, groups=10)
        Sensitivity(entries=10, each=8192, l1=8192, l2_squared=67108864, monotonic='up')
        >>> persons().sensitivity(rows_per_person=2, groups=10)
        Sensitivity(entries=10, each=4096, l1=8192, l2_squared=33554432, monotonic='up')
        """
        whole = rows_per_person * UNIT
        each = UNIT if self.persons else whole * self.bound
        return _sensitivity(groups, whole * self.bound, each, self.monotonic)


@lru_cache(maxsize=1024)  # a plan needs the same few sensitivities many times
def _sensitivity(groups: int, l1: int, each: int, monotonic: bool) -> Sensitivity:
    return Sensitivity(entries=groups, l1=l1, each=each, monotonic="up" if monotonic else None)


def rows() -> LinearQuery:
    """Return the weight of all rows.

    >>> rows().tree.sql()
    'w'
    """
    return LinearQuery("w", _weight, monotonic=True, description="rows")


def persons() -> LinearQuery:
    """Return the number of persons, each counted at most once in a group.

    >>> persons().persons
    True
    """
    return LinearQuery("persons", None, monotonic=True, description="persons")


def rows_with(term: Term) -> LinearQuery:
    """Return the weight of the rows that have a value.

    >>> from discreet.query import ir
    >>> from discreet.query.question import Term
    >>> rows_with(Term(ir.sealed("c0"), 0, 110)).tree.sql()
    'CASE WHEN c0 IS NULL THEN 0 ELSE w END'
    """
    if not term.nullable:
        return rows()

    def tree() -> Expression:
        return ir.case([(ir.is_null(term.code), ir.number(0))], _weight())

    return LinearQuery(("w with", term.code), tree, monotonic=True, description="rows with a value")


def deviation(term: Term, rows_per_person: int) -> LinearQuery:
    """Return the sum of code − centre over the rows that have a value, with |code − centre| ≤ m."""
    line, unit = centred(term, MOST // (rows_per_person * UNIT))
    return LinearQuery(
        (f"w·{line} of", term.code),
        partial(_weighed, term, line.at, line.tree),
        bound=line.bound,
        unit=unit,
        slack=half_step(line.shift) * abs(term.scale),
        description="sum of values, from the middle of their bounds",
    )


def total(term: Term, rows_per_person: int) -> LinearQuery:
    """Return the sum of the values: value = (slope·code + start)·unit, with the least integers possible."""
    ratio = term.offset / term.scale
    fine = AffineMap(ratio.denominator, ratio.numerator, term.low, term.high)
    line = fine.coarse(MOST // (rows_per_person * UNIT))
    unit = term.scale / ratio.denominator
    return LinearQuery(
        (f"w·{line} of", term.code),
        partial(_weighed, term, line.at, line.tree),
        bound=line.bound,
        unit=unit * 2**line.shift,
        slack=half_step(line.shift) * abs(unit),
        monotonic=min(line.at(term.low), line.at(term.high)) >= 0,
        description="sum of values",
    )


@dataclass(frozen=True)
class Square:
    """The linear query for (code − centre)², as its distance from `middle`.

    With f the centred factor, (f/unit of f)² rounded to steps of 2^shift lies in [middle − half, middle + half].
    """

    query: LinearQuery | None
    middle: Fraction
    half: Fraction
    slack: Fraction


def square(term: Term, rows_per_person: int) -> Square:
    """Return the sum of (code − centre)² − middle over the rows that have a value.

    f² lies between f₀² and m², where f₀ is the factor nearest 0 (0, or 1 for doubled codes). The step 2^s is
    chosen so that half of this range is within the limit. All numbers are in units of f². For two levels f² is
    always 1, and no query is needed.
    """
    most = MOST // (rows_per_person * UNIT)
    line, _ = centred(term, most)
    nearest = 0 if line.slope == 1 else 1
    shift = 0
    while rounded(line.bound**2, shift) - rounded(nearest, shift) > most:
        shift += 1
    least, largest = rounded(nearest, shift), rounded(line.bound**2, shift)
    step, slack = Fraction(2**shift), half_step(shift)
    middle = (least + largest) * step / 2
    if least == largest:
        return Square(None, middle, Fraction(0), slack)
    double = 1 if (least + largest) % 2 == 0 else 2
    start = -(least + largest) * double // 2

    def at(code: int) -> int:
        return double * rounded(line.at(code) ** 2, shift) + start

    def tree(code: Expression) -> Expression:
        factor = line.tree(code)
        squared = ir.plus(ir.binary(Mul, factor, factor), int(half_step(shift)))
        return ir.plus(ir.times(shifted(squared, shift), double), start)

    measure = LinearQuery(
        (f"w·({double}·{line}²/{step} + {start}) of", term.code),
        partial(_weighed, term, at, tree),
        bound=(largest - least) * double // 2,
        unit=step / double,
        description="sum of squared steps, from the middle of their bounds",
    )
    return Square(measure, middle, (largest - least) * step / 2, slack)


def product(x: Term, y: Term, rows_per_person: int) -> LinearQuery:
    """Return the sum of (x − centre)·(y − centre) over the rows that have both values.

    With |f| ≤ m_x and |g| ≤ m_y the product lies in ±m_x·m_y, and all of it is attained: no shift would lower its
    bound. It is rounded to a multiple of 2^s like every factor, after a multiple of 2^s was added that makes it
    positive.

    >>> from discreet.query.question import Term
    >>> product(Term(ir.sealed("c0"), 0, 2), Term(ir.sealed("c1"), 0, 10), rows_per_person=1).bound
    5
    """
    most = MOST // (rows_per_person * UNIT)
    (f, unit_f), (g, unit_g) = centred(x, most), centred(y, most)
    largest, shift = f.bound * g.bound, 0
    while rounded(largest, shift) > most:
        shift += 1
    lift = rounded(largest, shift) + 1

    def tree() -> Expression:
        multiplied = ir.binary(Mul, _clamped(x, f.at, f.tree), _clamped(y, g.at, g.tree))
        if shift:
            positive = ir.plus(multiplied, (lift << shift) + int(half_step(shift)))
            multiplied = ir.plus(shifted(positive, shift), -lift)
        return ir.binary(Mul, _weight(), multiplied)

    return LinearQuery(
        (f"w·{f}·{g}/2^{shift} of", x.code, y.code),
        tree,
        bound=max(rounded(largest, shift), -rounded(-largest, shift)),
        unit=unit_f * unit_g * 2**shift,
        slack=half_step(shift) * abs(unit_f * unit_g),
        description="sum of products, from the middle of both bounds",
    )


def _weighed(term: Term, at: Callable[[int], int], tree: Callable[[Expression], Expression]) -> Expression:
    """Return weight·factor: NULL where there is no value, and the factor of the nearer end outside the bounds."""
    return ir.binary(Mul, _weight(), _clamped(term, at, tree))


def _clamped(term: Term, at: Callable[[int], int], tree: Callable[[Expression], Expression]) -> Expression:
    return ir.case(
        [
            (ir.compared("<", term.code, signed(term.low)), signed(at(term.low))),
            (ir.compared(">", term.code, signed(term.high)), signed(at(term.high))),
        ],
        tree(term.code),
    )


def _weight() -> Expression:
    return ir.sealed("w")
