"""Express each number of an answer as a formula over noisy linear queries.

    count(*)     N/U                      N   weight of all rows
    count(x)     N_x/U                    N_x weight of the rows that have a value
    persons      P/U                      P   persons, each at most once in a group
    sum(x)       unit·S/U                 S   sum of w·value                           (measured by itself), or
                 (unit·A + c·N_x)/U       A   sum of w·(value − c), c the middle of the bounds
    avg(x)       c + unit·A/N_x
    variance(x)  unit²·(q + Q/N_x − (A/N_x)²)   Q sum of w·((code − centre)² − q), q the middle of its range
    stddev(x)    the root of the variance; both use the weighted rows and divide by n, not n − 1
    covariance   unit_x·unit_y·(P/N − A_x·A_y/N²)   P sum of w·f_x·f_y, over the rows that have both values
    correlation  the covariance divided by both standard deviations of these rows
    quantile(x)  discreet.query.plan.quantiles

**A sum, from S or from A and N_x?** Let values lie within c ± h, so |value| ≤ V = |c| + h. By itself a sum needs S
at all of ε, with squared error V²/ε²; split over A and N_x it has (h^{2/3} + |c|^{2/3})³/ε² ≥ (h + |c|)²/ε²,
because t ↦ t^{2/3} is subadditive. Under zCDP the two are equal. So a sum alone is measured as S. Beside count(x)
or avg(x), which are charged for N_x and perhaps A, the other way is often better. The planner computes both, and
takes the one with the smaller total error.

The best division of the budget depends on a guess of the answers. A wrong guess costs accuracy, never privacy. The
guess: an average lies half-way between the middle and the end of its bounds, and a mean square in the middle.
Theory: docs/theory/queries.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

from discreet.errors import Fix, ParameterError, QuestionRefused
from discreet.query.plan import allocation, linear_queries
from discreet.query.plan.affine import centred
from discreet.query.plan.linear_queries import LinearQuery
from discreet.query.question import Aggregate, Term
from discreet.schema.metadata import UNIT

KINDS = (
    *("count", "count_of", "persons", "sum", "avg", "variance", "stddev"),
    *("covariance", "correlation", "quantile"),
)

_Identity = tuple[object, ...]  # of a term: its expression, bounds, scale and offset


@dataclass(frozen=True)
class Linear:
    """Σ coefficient·query: counts, persons and sums."""

    aggregate: Aggregate
    parts: tuple[tuple[Fraction, LinearQuery], ...]

    @property
    def queries(self) -> tuple[LinearQuery, ...]:
        """The linear queries that it needs."""
        return tuple(query for _, query in self.parts)


@dataclass(frozen=True)
class Mean:
    """centre + unit·deviation/count, always between `least` and `most`; no deviation if those are equal."""

    aggregate: Aggregate
    count: LinearQuery
    deviation: LinearQuery | None
    centre: Fraction
    least: Fraction
    most: Fraction

    @property
    def queries(self) -> tuple[LinearQuery, ...]:
        """The linear queries that it needs."""
        return tuple(part for part in (self.count, self.deviation) if part is not None)


@dataclass(frozen=True)
class Spread:
    """A variance, or its root: unit²·(mean square − square of the mean)."""

    aggregate: Aggregate
    mean: Mean
    square: linear_queries.Square | None

    @property
    def queries(self) -> tuple[LinearQuery, ...]:
        """The linear queries that it needs."""
        squares = () if self.square is None or self.square.query is None else (self.square.query,)
        return (*self.mean.queries, *squares)


@dataclass(frozen=True)
class Rank:
    """A quantile of a term."""

    aggregate: Aggregate
    term: Term
    probability: Fraction

    @property
    def queries(self) -> tuple[LinearQuery, ...]:
        """None: a quantile is selected, not summed."""
        return ()


@dataclass(frozen=True)
class Joint:
    """A covariance, or a correlation: the mean product minus the product of the means; both terms have values."""

    aggregate: Aggregate
    x: Mean
    y: Mean
    product: LinearQuery | None
    squares: tuple[linear_queries.Square, ...] = ()
    """Of x and of y, for a correlation."""

    @property
    def queries(self) -> tuple[LinearQuery, ...]:
        """The linear queries that it needs, each once: the count, both deviations, the product, the squares."""
        parts = (*self.x.queries, *self.y.queries, self.product, *(square.query for square in self.squares))
        return tuple(dict.fromkeys(part for part in parts if part is not None))


Formula = Linear | Mean | Spread | Joint | Rank


def formulas(
    aggregates: Sequence[Aggregate], rows_per_person: int, groups: int, *, pure: bool, alone: bool = False
) -> tuple[Formula, ...]:
    """Return a formula for each aggregate; each sum is measured in the way that makes the total error least.

    Args:
        aggregates: The numbers that the question asks for.
        rows_per_person: The number of rows of one person that count in full.
        groups: The largest number of groups.
        pure: Whether the ledger adds up ε, not ρ.
        alone: Whether every sum is measured by itself, so that its margin does not depend on another number. False
            by default.
    """
    if not aggregates:
        raise QuestionRefused(
            "A question must ask for at least one number.", fix="Select an aggregate, such as count(*)."
        )
    # Terms and queries are compared many times, and their numbers in less time.
    terms: dict[_Identity, int] = {}
    sums = [
        terms.setdefault(_identity(_term(aggregate)), len(terms)) if aggregate.kind == "sum" else None
        for aggregate in aggregates
    ]
    numbers: dict[LinearQuery, int] = {}

    @cache  # a formula does not depend on how the other sums are measured
    def formula(place: int, by_itself: bool) -> Formula:
        return _formula(aggregates[place], rows_per_person, by_itself)

    def made(whole: frozenset[int]) -> tuple[Formula, ...]:
        return tuple(formula(place, term in whole) for place, term in enumerate(sums))

    @cache  # nor does the importance of its own noises
    def squares(place: int, by_itself: bool) -> tuple[tuple[int, float], ...]:
        own = _squares(formula(place, by_itself), rows_per_person, groups, pure)
        return tuple((numbers.setdefault(query, len(numbers)), square) for query, square in own)

    def cost(whole: frozenset[int]) -> float:
        found: dict[int, float] = {}
        for place, term in enumerate(sums):
            for query, square in squares(place, term in whole):
                found[query] = found.get(query, 0.0) + square
        return allocation.least(list(found.values()), pure=pure)

    whole = frozenset(terms.values())
    least = cost(whole)
    for identity in [] if alone else sorted(terms, key=_written):
        term = terms[identity]
        if (fewer := cost(whole - {term})) < least:
            whole, least = whole - {term}, fewer
    return made(whole)


def ranked_terms(formulas: Iterable[Formula]) -> list[tuple[Term, tuple[Fraction, ...]]]:
    """Return each term that has quantiles, once, with the ranks that are asked of it.

    >>> from discreet.query.question import Aggregate
    >>> age = Term(linear_queries.rows().tree, 0, 110)
    >>> half, most = (Rank(Aggregate("quantile", age, p, ""), age, p) for p in (Fraction(1, 2), Fraction(9, 10)))
    >>> [ranks for _, ranks in ranked_terms([half, most, half])]
    [(Fraction(1, 2), Fraction(9, 10))]
    """
    found: dict[_Identity, tuple[Term, dict[Fraction, None]]] = {}
    for formula in formulas:
        if isinstance(formula, Rank):
            found.setdefault(_identity(formula.term), (formula.term, {}))[1][formula.probability] = None
    return [(term, tuple(ranks)) for term, ranks in found.values()]


def rank_place(formulas: Iterable[Formula], wanted: Rank) -> int:
    """Return the place of the term of a quantile among `ranked_terms`."""
    identities = list(dict.fromkeys(_identity(f.term) for f in formulas if isinstance(f, Rank)))
    return identities.index(_identity(wanted.term))


def possible(aggregate: Aggregate) -> tuple[float, float] | None:
    """Return the least and the largest number that is possible at all; None for counts and sums.

    >>> from discreet.query.question import Aggregate
    >>> possible(Aggregate("stddev", Term(linear_queries.rows().tree, 0, 110), None, ""))
    (0.0, 55.0)
    """
    if aggregate.kind not in ("avg", "quantile", "variance", "stddev", "covariance", "correlation"):
        return None
    if aggregate.kind == "correlation":
        return -1.0, 1.0
    least, most = sorted(_ends(_term(aggregate)))
    if aggregate.kind == "covariance" and aggregate.other is not None:
        first, last = sorted(_ends(aggregate.other))
        largest = float((most - least) * (last - first) / 4)
        return -largest, largest
    if aggregate.kind in ("avg", "quantile"):
        return float(least), float(most)
    widest = (most - least) / 2
    return 0.0, float(widest if aggregate.kind == "stddev" else widest**2)


def importance(
    formulas: Iterable[Formula], rows_per_person: int, groups: int, *, pure: bool
) -> dict[LinearQuery, float]:
    """Return the importance of the squared noise of each linear query, in units that make all answers comparable.

    The unit of noise is the query's sensitivity. The unit of an error is the largest amount that one person can
    add to that answer.

    Args:
        formulas: The formulas of the answers.
        rows_per_person: The number of rows of one person that count in full.
        groups: The largest number of groups.
        pure: Whether noise is scaled by the L1 sensitivity, not by L2.

    >>> from discreet.query.question import Aggregate
    >>> count = Linear(Aggregate("count", None, None, "n"), ((Fraction(1, UNIT), linear_queries.rows()),))
    >>> importance([count, count], 8, 1, pure=True)
    {LinearQuery(key='w', ...): 2.0}
    """
    found: dict[LinearQuery, float] = {}
    for formula in formulas:
        for query, square in _squares(formula, rows_per_person, groups, pure):
            found[query] = found.get(query, 0.0) + square
    return found


def rank_importance(probabilities: Sequence[Fraction], levels: int) -> float:
    """Return the importance of the quantiles of a term, whose errors grow with the logarithm of levels.

    >>> rank_importance([Fraction(1, 2)], 1)
    1.0
    """
    hardest = max(max(probability, 1 - probability) for probability in probabilities)
    return (2 * float(hardest) * (1 + math.log(levels) / 3)) ** 2


def _squares(
    formula: Formula, rows_per_person: int, groups: int, pure: bool
) -> Iterable[tuple[LinearQuery, float]]:
    match formula:
        case Linear():
            adds = _adds(formula.aggregate, rows_per_person)
            for coefficient, query in formula.parts:
                sensitivity = query.sensitivity(rows_per_person, groups)
                squared = (sensitivity.l1 or 0) ** 2 if pure else sensitivity.l2_squared or 0
                yield query, float(squared * (coefficient / adds) ** 2)
        case Mean():
            yield formula.count, 1 / 4
            if formula.deviation is not None:
                yield formula.deviation, 1.0
        case Spread():
            yield from _squares(formula.mean, rows_per_person, groups, pure)
            if formula.square is not None and formula.square.query is not None:
                yield formula.square.query, 1 / 4

        case Joint():
            for mean in (formula.x, formula.y):
                yield from ((query, square / 4) for query, square in _squares(mean, rows_per_person, groups, pure))
            if formula.product is not None:
                yield formula.product, 1.0
            yield from ((square.query, 1 / 8) for square in formula.squares if square.query is not None)


def _adds(aggregate: Aggregate, rows_per_person: int) -> Fraction:
    """Return the largest amount that one person can add to a count or a sum."""
    if aggregate.kind == "persons":
        return Fraction(1)
    if aggregate.kind != "sum":
        return Fraction(rows_per_person)
    return rows_per_person * (max(abs(end) for end in _ends(_term(aggregate))) or Fraction(1))


def _formula(aggregate: Aggregate, rows_per_person: int, by_itself: bool) -> Formula:
    one = Fraction(1, UNIT)
    match aggregate.kind:
        case "count":
            return Linear(aggregate, ((one, linear_queries.rows()),))
        case "persons":
            return Linear(aggregate, ((one, linear_queries.persons()),))
        case "count_of":
            return Linear(aggregate, ((one, linear_queries.rows_with(_term(aggregate))),))
        case "sum":
            return _sum(aggregate, rows_per_person, by_itself)
        case "avg":
            return _mean(aggregate, rows_per_person)
        case "variance" | "stddev":
            mean = _mean(aggregate, rows_per_person)
            squares = linear_queries.square(_term(aggregate), rows_per_person) if mean.deviation else None
            return Spread(aggregate, mean, squares)
        case "covariance" | "correlation" if aggregate.other is not None:
            return _joint(aggregate, aggregate.other, rows_per_person)
        case "quantile" if aggregate.probability is not None and 0 <= aggregate.probability <= 1:
            return Rank(aggregate, _term(aggregate), aggregate.probability)
    raise ParameterError(
        f"An aggregate must be one of {', '.join(KINDS)}; a quantile has a probability from 0 to 1.",
        found=f"{aggregate.kind} with probability {aggregate.probability}",
        fix=Fix("kind", "count"),
    )


def _sum(aggregate: Aggregate, rows_per_person: int, by_itself: bool) -> Linear:
    term = _term(aggregate)
    if by_itself and (whole := _total(term, rows_per_person)) is not None:
        return Linear(aggregate, ((whole.unit / UNIT, whole),))
    mean = _mean(aggregate, rows_per_person)
    parts = [(mean.centre / UNIT, mean.count)]
    if mean.deviation is not None:
        parts.insert(0, (mean.deviation.unit / UNIT, mean.deviation))
    return Linear(aggregate, tuple(part for part in parts if part[0] or len(parts) == 1))


def _mean(aggregate: Aggregate, rows_per_person: int) -> Mean:
    term = _term(aggregate)
    count, (least, most) = linear_queries.rows_with(term), sorted(_ends(term))
    if least == most:
        return Mean(aggregate, count, None, least, least, most)
    line, _ = centred(term, linear_queries.MOST // (rows_per_person * UNIT))
    centre = term.offset - term.scale * Fraction(line.start, line.slope)
    return Mean(aggregate, count, linear_queries.deviation(term, rows_per_person), centre, least, most)


def _joint(aggregate: Aggregate, other: Term, rows_per_person: int) -> Joint:
    terms = _term(aggregate), _term(replace(aggregate, term=other))
    x, y = (_mean(replace(aggregate, term=term), rows_per_person) for term in terms)
    varies = x.deviation is not None and y.deviation is not None
    y = replace(y, count=x.count)  # the same rows have both values, so one count serves both
    squares: tuple[linear_queries.Square, ...] = ()
    if aggregate.kind == "correlation" and varies:
        squares = tuple(linear_queries.square(term, rows_per_person) for term in terms)
    return Joint(aggregate, x, y, linear_queries.product(*terms, rows_per_person) if varies else None, squares)


def _total(term: Term, rows_per_person: int) -> LinearQuery | None:
    """Return the sum of the values themselves; None if it does not fit into an integer or is always 0."""
    try:
        query = linear_queries.total(term, rows_per_person)
    except QuestionRefused:
        return None
    return query if query.bound and term.high > term.low else None


def _term(aggregate: Aggregate) -> Term:
    term = aggregate.term
    if term is None or term.high < term.low:
        raise ParameterError(
            f"The aggregate {aggregate.name} ({aggregate.kind}) needs a term with bounds, low not above high.",
            found="no term" if term is None else f"from {term.low} to {term.high}",
            fix="Give the term bounds, such as low 0 and high 110.",
        )
    if not term.scale:
        return replace(term, high=term.low, scale=Fraction(1), offset=term.offset - term.low)
    return term


def _identity(term: Term) -> _Identity:
    return term.code, term.low, term.high, term.scale, term.offset


def _written(identity: _Identity) -> str:
    return " ".join(map(str, identity))  # an order that does not depend on that of the aggregates


def _ends(term: Term) -> tuple[Fraction, Fraction]:
    return term.offset + term.scale * term.low, term.offset + term.scale * term.high
