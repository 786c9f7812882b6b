"""Show sums that exceed their declared sensitivity.

Noise hides a person if the sum before the noise changes by no more than the declared sensitivity, whichever person
joins or leaves. That is a statement about the code that adds up, and about every table: so the code is run on a
small table and on its neighbours (record and replay), and the change of the sum is compared with its declared
sensitivity. The two versions of each pair differ only in the mistake.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.audit.museum.exhibit import Exhibit
from discreet.audit.replay.recorder import primitive
from discreet.audit.replay.replay import replay

Rows: TypeAlias = list[dict[str, Any]]

_STEPS = 2**10  # grid steps of the noise per unit


@primitive
def with_laplace_noise(value: float, *, sensitivity: float, epsilon: int | Fraction = 1) -> float:
    """Return `value` with Laplace noise of scale sensitivity/ε: a library's function that trusts its caller."""
    if not sensitivity:
        return value
    return value + noise.discrete_laplace(Fraction(sensitivity) / epsilon * _STEPS) / _STEPS


def within(value: Any, low: int, high: int) -> int:
    """Return any value as an integer between the bounds; a value that is not a number counts as the lower bound.

    >>> [within(value, 0, 60) for value in (38.5, 1e9, float("nan"), None)]
    [38, 60, 0, 0]
    """
    # max(low, NaN) is low, because NaN > low is false; the other way round it would be NaN.
    return int(min(max(low, value), high)) if isinstance(value, int | float) else low


# -- nan-passes-clamp -------------------------------------------------------------------------------------------

_HOURS: Rows = [{"hours": hours} for hours in (38.5, 12.0, 60.0, 41.25)]
_MOST_HOURS = 60


def _as_floats(rows: Rows, column: str) -> NDArray[np.float64]:
    """Read a column as data frames do: a value that is not a number is NaN."""
    return np.array([row[column] if isinstance(row[column], float) else math.nan for row in rows])


def clipped_sum(rows: Rows) -> float:
    """Release the whole hours worked, each clipped to 0…60."""
    hours = np.floor(np.clip(_as_floats(rows, "hours"), 0, _MOST_HOURS))
    return with_laplace_noise(float(hours.sum()), sensitivity=_MOST_HOURS)


def filled_sum(rows: Rows) -> float:
    """Release the whole hours worked, each clipped to 0…60, where a missing one counts as 0."""
    hours = np.floor(np.clip(np.nan_to_num(_as_floats(rows, "hours"), nan=0.0), 0, _MOST_HOURS))
    return with_laplace_noise(float(hours.sum()), sensitivity=_MOST_HOURS)


NAN = Exhibit(
    name="nan-passes-clamp",
    title="NaN is neither below the lower bound nor above the upper one, so it passes the clamp",
    story=(
        "Every value is clamped to its bounds before it is added, so one person should change the sum by at most "
        "the upper bound. But NaN, which stands for a missing number in floating point, compares false with "
        "everything: it is not below the lower bound, not above the upper one, and passes the clamp unchanged. "
        "The sum is then NaN, and so is the answer, whatever the noise. One person with an empty field is "
        "revealed with certainty."
    ),
    sources=("google/differential-privacy#405", "opendp/opendp#2935", "np.clip lets NaN through"),
    broken=lambda: replay(clipped_sum, _HOURS, name="a clipped sum"),
    mended=lambda: replay(filled_sum, _HOURS, name="a clipped sum, NaN counted as 0"),
    ours=(
        "An exact value consists of integers, which have no NaN; a float is refused by its type and not by its "
        "value (test_only_integers_are_taken and test_a_refusal_does_not_depend_on_what_is_inside in "
        "tests/mechanisms/test_exact.py)."
    ),
)


# -- float-order ------------------------------------------------------------------------------------------------

_START = 1_750_000_000  # of some minute, in seconds since 1970
_MINUTE = 60
_TIMES: Rows = [{"time": float(_START + 7 * i % _MINUTE)} for i in range(40)]


def _seconds(rows: Rows) -> list[int]:
    return [within(row["time"], _START, _START + _MINUTE) for row in rows]


def sum_then_shift(rows: Rows) -> float:
    """Release the seconds of the minute, summed: times added in single precision, then the minute taken off."""
    total = np.float32(0)
    for time in _seconds(rows):
        total += np.float32(time)
    return with_laplace_noise(float(total) - len(rows) * _START, sensitivity=_MINUTE)


def shift_then_sum(rows: Rows) -> float:
    """Release the seconds of the minute, summed: the minute taken off each, and seconds added as integers."""
    return with_laplace_noise(sum(time - _START for time in _seconds(rows)), sensitivity=_MINUTE)


FLOAT_ORDER = Exhibit(
    name="float-order",
    title="A sum of floats is rounded at every step, and one person changes all later roundings",
    story=(
        "Forty people each have a time within the same minute, so in real numbers one of them changes the sum of "
        "the seconds by at most 60. In floating point every addition rounds, and the rounding depends on all "
        "terms before it. Remove one person and every later step may round differently. Here the times are "
        "seconds since 1970 in single precision, the default of learning frameworks: the last steps round by "
        "thousands of seconds, and the sum changes by many times its sensitivity. Double precision needs more "
        "rows or narrower bounds for the same effect, and another order of the terms causes it too."
    ),
    sources=(
        "Casacuberta, Shoemate, Vadhan and Wagaman 2022, Widespread underestimation of sensitivity",
        "google/differential-privacy#126",
        "opendp/opendp#2923",
    ),
    broken=lambda: replay(sum_then_shift, _TIMES, name="a sum in single precision"),
    mended=lambda: replay(shift_then_sum, _TIMES, name="a sum of integers"),
    ours=(
        "Values are integers before they are added, and sums of integers are exact in any order: the sensitivity "
        "is a theorem (mechanisms.exact, test_only_integers_are_taken in tests/mechanisms/test_exact.py)."
    ),
)


# -- integer-overflow -------------------------------------------------------------------------------------------

_MOST_PENCE = 2**30
_PENCE: Rows = [{"pence": pence} for pence in (2**30, 2**29, 2**29 - 1)]  # one short of 2³¹


def _pence(rows: Rows) -> NDArray[np.int64]:
    return np.array([within(row["pence"], 0, _MOST_PENCE) for row in rows], dtype=np.int64)


def sum_in_32_bits(rows: Rows) -> float:
    """Release the pence, summed in the type of their column."""
    return with_laplace_noise(int(_pence(rows).sum(dtype=np.int32)), sensitivity=_MOST_PENCE)


def saturated_sum(rows: Rows) -> float:
    """Release the pence, with a sum that saturates: clamping does not increase the sensitivity."""
    return with_laplace_noise(min(int(_pence(rows).sum()), 2**31 - 1), sensitivity=_MOST_PENCE)


OVERFLOW = Exhibit(
    name="integer-overflow",
    title="A sum that is one too large becomes a very negative number",
    story=(
        "Integers do not round, but their range ends. The amounts are clamped to 2³⁰, and three people together "
        "are one penny short of 2³¹, where 32 bits are full. A fourth person with a single penny turns the sum "
        "into −2³¹: a change of four thousand million, where the noise was made for one. An exception at that "
        "point would reveal as much. (If the noise is added in the same 32 bits, and so wraps as well, nothing is "
        "lost: then everything happens on a circle.)"
    ),
    sources=(
        "opendp/opendp#178",
        "opendp/opendp#2925, claimed 2 and moved by 4,294,967,296",
        "google/differential-privacy#40",
    ),
    broken=lambda: replay(sum_in_32_bits, _PENCE, name="a sum in 32 bits"),
    mended=lambda: replay(saturated_sum, _PENCE, name="a sum that saturates"),
    ours=(
        "Exact values are clamped silently to ±(2⁶² − 1) and noise lies within ±2⁶², so that every sum of the two "
        "is an int64 (test_values_are_clamped_without_a_word and test_no_sum_with_noise_leaves_int64 in "
        "tests/mechanisms/test_exact.py)."
    ),
)


# -- data-dependent-denominator ---------------------------------------------------------------------------------

_AGES: Rows = [{"age": age} for age in (34, 71, 19)]
_OLDEST = 100


def _ages(rows: Rows) -> list[int]:
    return [within(row["age"], 0, _OLDEST) for row in rows]


def mean_over_the_number_of_rows(rows: Rows) -> float:
    """Release the mean age with noise for 100/n, where n is the number of rows."""
    n = max(len(rows), 1)
    return with_laplace_noise(sum(_ages(rows)) / n, sensitivity=_OLDEST / n)


def mean_of_noisy_parts(rows: Rows) -> float:
    """Release the mean age as a noisy sum divided by a noisy count, with half of ε for each."""
    total = with_laplace_noise(sum(_ages(rows)), sensitivity=_OLDEST, epsilon=Fraction(1, 2))
    count = with_laplace_noise(len(rows), sensitivity=1, epsilon=Fraction(1, 2))
    return total / max(count, 1.0)


DENOMINATOR = Exhibit(
    name="data-dependent-denominator",
    title="The mean is divided by a number of people that is itself a secret",
    story=(
        "The mean of n ages up to 100 changes by at most 100/n if one of them is replaced. If a person is added "
        "or removed instead, n is not fixed: the noise is made for the n of this table, that of the neighbour for "
        "another n, and the two releases have different laws even where the means agree. In a table of one person "
        "the noise is wide, and without that person there is nothing to divide. Proofs that start from “let n be "
        "the size of the table” consider the neighbours of one table, not all pairs of neighbours."
    ),
    sources=(
        "opendp/smartnoise-core#356, taken up in #355",
        "diffprivlib's tools.mean, with noise for (upper − lower)/n",
    ),
    broken=lambda: replay(mean_over_the_number_of_rows, _AGES, name="a mean over n"),
    mended=lambda: replay(mean_of_noisy_parts, _AGES, name="a noisy sum over a noisy count"),
    ours=(
        "A mechanism is built with its sensitivity before it meets an exact value, and refuses one that declares "
        "more (test_a_value_more_sensitive_than_the_mechanism_was_built_for_is_refused in "
        "tests/mechanisms/test_exact.py). A mean is two releases and a division afterwards."
    ),
)


# -- sensitivity-of-bounds --------------------------------------------------------------------------------------


def _sum_of_squares(rows: Rows, bounds: Iterable[int]) -> float:
    """Release the sum of squared ages, with noise for the largest square between the bounds."""
    largest = max(abs(bound) for bound in bounds) ** 2
    return with_laplace_noise(sum(age**2 for age in _ages(rows)), sensitivity=largest)


def squares_by_the_lower_bound_twice(rows: Rows) -> float:
    """Release the sum of squared ages, with the lower bound written where the upper one was meant."""
    low, _high = 0, _OLDEST
    return _sum_of_squares(rows, (low, low))


def squares_by_both_bounds(rows: Rows) -> float:
    """Release the sum of squared ages, with noise for the larger of the two bounds."""
    return _sum_of_squares(rows, (0, _OLDEST))


BOUNDS = Exhibit(
    name="sensitivity-of-bounds",
    title="The lower bound is written twice, and a column that starts at 0 gets no noise",
    story=(
        "A regression needs the sum of squares of each column. Its sensitivity is the larger of the two bounds, "
        "squared. In the code the lower bound stands in both places. For a column between −1 and 1 this makes no "
        "difference, and no test notices. For ages between 0 and 100 the sensitivity becomes 0: the sum is "
        "released exactly, to the last digit, under the name of differential privacy."
    ),
    sources=("IBM/differential-privacy-library#104 and #105, PR #110",),
    broken=lambda: replay(squares_by_the_lower_bound_twice, _AGES, name="squares, by the lower bound twice"),
    mended=lambda: replay(squares_by_both_bounds, _AGES, name="squares, by both bounds"),
    ours=(
        "A sensitivity is at least 1, and a scale above 0, or the value is refused "
        "(test_a_sensitivity_that_has_no_meaning_is_refused in tests/mechanisms/test_exact.py)."
    ),
)


# -- unbounded-contribution -------------------------------------------------------------------------------------

_VISITS: Rows = [{"patient": patient} for patient in ("ann", "bob", "ann", "ann", "cat", "ann", "ann")]


def count_of_rows(rows: Rows) -> float:
    """Release the number of visits, as if each were by another person."""
    return with_laplace_noise(len(rows), sensitivity=1)


def count_of_at_most_two_each(rows: Rows) -> float:
    """Release the number of visits, with at most two of each patient."""
    number = dict.fromkeys((row["patient"] for row in rows), 0)
    for row in rows:
        number[row["patient"]] += 1
    return with_laplace_noise(sum(min(visits, 2) for visits in number.values()), sensitivity=2)


CONTRIBUTION = Exhibit(
    name="unbounded-contribution",
    title="A person with many rows is protected as if they had one",
    story=(
        "The table has a row for every visit, and adding or removing a row changes the count by one. But the "
        "promise to a patient is about all of their visits. A patient with five visits changes the count by five, "
        "at five times the ε; a patient who comes every day is not hidden at all. Unless the rows of one person "
        "are bounded, no sensitivity is true."
    ),
    sources=(
        "google/differential-privacy#84, a bound that outliers got past",
        "Wilson, Zhang, Lam, Desfontaines, Simmons-Marengo and Gipson 2020, Differentially private "
        "SQL with bounded user contribution",
    ),
    broken=lambda: replay(count_of_rows, _VISITS, person="patient", name="a count of visits"),
    mended=lambda: replay(count_of_at_most_two_each, _VISITS, person="patient", name="a count of two visits each"),
    ours=(
        "A sensitivity is declared per person and belongs to the exact value (mechanisms.sensitivity), and the "
        "replay attack removes all rows of a person at once (audit.neighbours)."
    ),
)

EXHIBITS = (NAN, FLOAT_ORDER, OVERFLOW, DENOMINATOR, BOUNDS, CONTRIBUTION)
"""Exhibits about sums, in the order of a visit."""
