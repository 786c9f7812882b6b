"""What is added up over the rows, and how far one person can move it.

A sealed row has a weight w ≥ 0, and the weights of one person add up to at most K·U (K rows, U = 4096 units each).
A linear measure gives every row an integer factor f, |f| ≤ m, and adds up w·f within each of the declared groups:
one vector M of integers. Filters and groups look at one row at a time, so a person's rows add to M the same d
whoever else is in the table, and with their weights w_r

    ‖d‖₁ ≤ Σ_r w_r·|f_r| ≤ K·U·m,    hence also ‖d‖∞ ≤ K·U·m and ‖d‖₂² ≤ (K·U·m)².

All three are reached by a person whose rows are in one group. If no f is negative, nor is any entry of d: M goes
up.

The number of persons adds up min(U, s) instead, where s is what a person weighs in the group. Each entry moves by
at most U, and Σ_g min(U, s_g) ≤ Σ_g s_g ≤ K·U: ‖d‖∞ ≤ U, ‖d‖₁ ≤ K·U (U if there is one group), ‖d‖₂² ≤ U·‖d‖₁.

**The bound m is enforced where it is used**: the tree that is summed takes a code outside [low, high] for the
nearer end, whatever was derived about the term, and is NULL where the code is, which sums pass over. **Centring**:
with d = high − low the factor code − (low + high)/2, doubled if that is no integer, has m = d/2 in units of a
code, the least there is. Its square lies in an interval too, and is centred likewise. **Coarsening**: noise grows
with K·U·m, and so that it stays within int64, a factor with K·U·m > 2³⁶ is rounded to the nearest multiple of a
power of two: ⌊f/2^s + ½⌋. This moves no row by more than 2^{s−1}, or by about K·2⁻²⁵ of the range, and leans
neither way. `slack` says by how much.

Theory: docs/theory/queries.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING

from discreet.mechanisms.sensitivity import Sensitivity
from discreet.query.plan.affine import Line, centred, half_step, rounded, shifted, signed
from discreet.schema.metadata import UNIT

if TYPE_CHECKING:
    from discreet.engines.nodes import Expression
    from discreet.query.question import Term

MOST = 2**36
"""What one person may move a measure by, at most: with ε ≥ 2⁻¹⁶ its noise fits in int64."""


@dataclass(frozen=True)
class LinearQuery:
    """One integer per group: the sum of weight·factor over its rows, or of min(U, weight) over its persons.

    Equal measures are equal expressions: aggregates that need the same one share it. `key` tells them apart, and
    `grow` makes the expression, for a plan weighs more measures than it takes. One unit of the factor stands for
    `unit`, and rounding moved a row by at most `slack`, both in the terms' own values.
    """

    key: str | tuple[str, Expression]
    grow: Callable[[], Expression] | None = field(compare=False, repr=False)
    bound: int = field(compare=False, default=1)
    unit: Fraction = field(compare=False, default=Fraction(1))
    slack: Fraction = field(compare=False, default=Fraction(0))
    rises: bool = field(compare=False, default=False)
    words: str = field(compare=False, default="")

    @property
    def persons(self) -> bool:
        """Whether it counts persons; the others add up rows."""
        return self.grow is None

    @cached_property
    def tree(self) -> Expression | None:
        """What is added up over the rows; None for persons."""
        return None if self.grow is None else self.grow()

    def sensitivity(self, rows_per_person: int, groups: int) -> Sensitivity:
        """Return how far one person moves the vector over all groups.

        >>> rows().sensitivity(rows_per_person=2, groups=10)
        Sensitivity(entries=10, each=8192, l1=8192, l2_squared=67108864, monotonic='up')
        >>> persons().sensitivity(rows_per_person=2, groups=10)
        Sensitivity(entries=10, each=4096, l1=8192, l2_squared=33554432, monotonic='up')
        """
        whole = rows_per_person * UNIT
        each = UNIT if self.persons else whole * self.bound
        return _moving(groups, whole * self.bound, each, self.rises)


@lru_cache(maxsize=1024)  # a plan asks for the same few again and again
def _moving(groups: int, l1: int, each: int, rises: bool) -> Sensitivity:
    return Sensitivity(entries=groups, l1=l1, each=each, monotonic="up" if rises else None)


def rows() -> LinearQuery:
    """Return how much all rows weigh.

    >>> rows().tree.sql()
    'w'
    """
    return LinearQuery("w", _weight, rises=True, words="rows")


def persons() -> LinearQuery:
    """Return how many persons there are, nobody counting for more than one in a group.

    >>> persons().persons
    True
    """
    return LinearQuery("persons", None, rises=True, words="persons")


def rows_with(term: Term) -> LinearQuery:
    """Return how much the rows weigh that have a value.

    >>> from discreet.query import ir
    >>> from discreet.query.question import Term
    >>> rows_with(Term(ir.sealed("c0"), 0, 110)).tree.sql()
    'CASE WHEN c0 IS NULL THEN 0 ELSE w END'
    """
    if not term.nullable:
        return rows()

    def tree() -> Expression:
        from discreet.query import ir

        return ir.case([(ir.is_null(term.code), ir.number(0))], _weight())

    return LinearQuery(("w with", term.code), tree, rises=True, words="rows with a value")


def deviation(term: Term, rows_per_person: int) -> LinearQuery:
    """Return the sum of code − centre over the rows that have a value, one of |code − centre| ≤ m each."""
    line, unit = centred(term, MOST // (rows_per_person * UNIT))
    return LinearQuery(
        (f"w·{line} of", term.code),
        partial(_weighed, term, line.at, line.tree),
        bound=line.bound,
        unit=unit,
        slack=half_step(line.shift) * abs(term.scale),
        words="sum of values, from the middle of their bounds",
    )


def total(term: Term, rows_per_person: int) -> LinearQuery:
    """Return the sum of the values themselves: value = (slope·code + start)·unit, the least integers that do."""
    ratio = term.offset / term.scale
    fine = Line(ratio.denominator, ratio.numerator, term.low, term.high)
    line = fine.coarse(MOST // (rows_per_person * UNIT))
    unit = term.scale / ratio.denominator
    return LinearQuery(
        (f"w·{line} of", term.code),
        partial(_weighed, term, line.at, line.tree),
        bound=line.bound,
        unit=unit * 2**line.shift,
        slack=half_step(line.shift) * abs(unit),
        rises=min(line.at(term.low), line.at(term.high)) >= 0,
        words="sum of values",
    )


@dataclass(frozen=True)
class Square:
    """What is measured of (code − centre)²: its distance from `middle`.

    With f the centred factor, (f/unit of f)² rounded to steps of 2^shift lies in [middle − half, middle + half].
    """

    measure: LinearQuery | None
    middle: Fraction
    half: Fraction
    slack: Fraction


def square(term: Term, rows_per_person: int) -> Square:
    """Return the sum of (code − centre)² − middle over the rows that have a value.

    f² lies between f₀² and m², where f₀ is the factor nearest 0 (0, or 1 for doubled codes), and steps of 2^s are
    taken so that half of what lies between is within the limit. All numbers are in units of f². For two levels f²
    is always 1, and nothing has to be measured.
    """
    from discreet.query import ir

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
        from discreet.engines.nodes import Mul

        factor = line.tree(code)
        squared = ir.plus(ir.binary(Mul, factor, factor), int(half_step(shift)))
        return ir.plus(ir.times(shifted(squared, shift), double), start)

    measure = LinearQuery(
        (f"w·({double}·{line}²/{step} + {start}) of", term.code),
        partial(_weighed, term, at, tree),
        bound=(largest - least) * double // 2,
        unit=step / double,
        words="sum of squared steps, from the middle of their bounds",
    )
    return Square(measure, middle, (largest - least) * step / 2, slack)


def _weighed(term: Term, at: Callable[[int], int], tree: Callable[[Expression], Expression]) -> Expression:
    """Return weight·factor: NULL where there is no value, and the factor of the nearer end outside the bounds."""
    from discreet.engines.nodes import Mul
    from discreet.query import ir

    within = ir.case(
        [
            (ir.compared("<", term.code, signed(term.low)), signed(at(term.low))),
            (ir.compared(">", term.code, signed(term.high)), signed(at(term.high))),
        ],
        tree(term.code),
    )
    return ir.binary(Mul, _weight(), within)


def _weight() -> Expression:
    from discreet.query import ir

    return ir.sealed("w")
