"""Show structure that depends on the data: shapes, codes, bounds, exceptions and post-processing.

The noise here is right and in its place. The leak is around it: in the number of numbers, in their meaning, in
whether there is an answer at all, in what is done with the answer afterwards. Record and replay sees this, because
it runs the code on a neighbour with the noisy answers of the first run: a difference was then not hidden by noise.
Where only one side has an answer, all draws are enumerated instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any, TypeAlias

from discreet import noise, privacy
from discreet.audit.attacks import exact
from discreet.audit.inputs.subject import Subject
from discreet.audit.museum.exhibit import Exhibit
from discreet.audit.replay.replay import replay
from discreet.audit.report.verdict import Verdict
from discreet.mechanisms import Exact, Gaussian, Laplace, Sensitivity

Rows: TypeAlias = list[dict[str, Any]]


def _noisy(counts: Sequence[int], sensitivity: int = 1) -> list[int]:
    """Return counts with noise for ε = 1; one person changes one of them, by at most the sensitivity."""
    noisy = Laplace.for_epsilon(1, sensitivity).release(Exact(list(counts), sensitivity))
    return [int(count) for count in noisy]  # type: ignore[union-attr]


# -- labels-off-the-data ----------------------------------------------------------------------------------------

_DIAGNOSES: Rows = [{"diagnosis": name} for name in ("asthma", "flu", "flu", "kuru", "asthma")]
_LISTED = ("asthma", "flu", "other")


def histogram_of_what_occurs(rows: Rows) -> dict[str, int]:
    """Release how often each diagnosis of the table occurs."""
    counts = Counter(str(row["diagnosis"]) for row in rows)
    return dict(zip(sorted(counts), _noisy([counts[label] for label in sorted(counts)]), strict=True))


def histogram_of_what_was_listed(rows: Rows) -> dict[str, int]:
    """Release how often each listed diagnosis occurs, and all others together."""
    counts = Counter(row["diagnosis"] if row["diagnosis"] in _LISTED else "other" for row in rows)
    return dict(zip(_LISTED, _noisy([counts[label] for label in _LISTED]), strict=True))


LABELS = Exhibit(
    name="labels-off-the-data",
    title="The list of categories is read from the data and published without noise",
    story=(
        "A histogram has noise on every bar, but the list of bars comes from the table: all values that occur in "
        "the column. One patient with a rare disease adds a bar with its name. A classifier that finds its "
        "classes in the labels does the same: the shape of the model reveals that a person in the training data "
        "had that label. Noise on the numbers cannot hide how many numbers there are."
    ),
    sources=("IBM/differential-privacy-library#106", "alan-turing-institute/reprosyn#38"),
    broken=lambda: replay(histogram_of_what_occurs, _DIAGNOSES, name="a histogram of what occurs"),
    mended=lambda: replay(histogram_of_what_was_listed, _DIAGNOSES, name="a histogram of what was listed"),
    ours=(
        "A mechanism releases a vector whose length its caller gave, and the replay attack compares shapes before "
        "it compares numbers (tests/audit/museum/test_structure.py runs it on both)."
    ),
)


# -- one-neighbour-raises ---------------------------------------------------------------------------------------

_DAYS = ("2021-03-14", "2023-07-02")
_GARBLED = (*_DAYS, "287396-10-12")  # one person more, whose date is in no calendar
_PAIRS = [(_GARBLED, _DAYS), (_DAYS, _DAYS[:1])]


def years_read_strictly(days: Sequence[str]) -> int:
    """Release how many dates lie in 2021 or later; a date that cannot be read raises."""
    return sum(date.fromisoformat(day).year >= 2021 for day in days) + noise.discrete_laplace(1)


def years_read_kindly(days: Sequence[str]) -> int:
    """Release how many dates lie in 2021 or later; a date that cannot be read does not count."""
    return sum(_year(day, otherwise=0) >= 2021 for day in days) + noise.discrete_laplace(1)


def _year(day: str, otherwise: int) -> int:
    try:
        return date.fromisoformat(day).year
    except ValueError:
        return otherwise


def _counted(name: str, release: Callable[[Sequence[str]], int]) -> Verdict:
    return exact.attack(Subject(name=name, release=release, loss=privacy.Pure(1), pairs=_PAIRS))


RAISES = Exhibit(
    name="one-neighbour-raises",
    title="A row that cannot be read stops the program, and an analyst sees that it stopped",
    story=(
        "An error message is an answer, too. A date from the year 287396, a probability that underflows to 0/0, a "
        "value that is not of its column's type: the library is strict and raises an exception, which reveals "
        "that there is such a row, with certainty and often with its number. An attacker who may add a row, or "
        "who knows that one person's record is garbled, needs to ask only once."
    ),
    sources=("opendp/opendp#2942", "opendp/opendp#2580", "IBM/differential-privacy-library#107"),
    broken=lambda: _counted("years, read strictly", years_read_strictly),
    mended=lambda: _counted("years, read kindly", years_read_kindly),
    ours=(
        "A mechanism refuses by type, shape and declared sensitivity, never by what is inside "
        "(test_a_refusal_does_not_depend_on_what_is_inside in tests/mechanisms/test_exact.py); values out of "
        "range are clamped silently."
    ),
)


# -- rewritten-key ----------------------------------------------------------------------------------------------

_CLINICS = {"a": "north", "b": "north", "c": "north", "d": "south"}
_COUNTIES = ("north", "south")
_VISITS: Rows = [
    {"person": "ann", "clinic": "a"},
    {"person": "ann", "clinic": "b"},
    {"person": "ann", "clinic": "c"},
    {"person": "bob", "clinic": "a"},
    {"person": "cat", "clinic": "d"},
]


def _county(clinic: object) -> str:
    return _CLINICS.get(str(clinic), "south")


def _at_most(most: int, pairs: Sequence[tuple[Any, str]]) -> list[tuple[Any, str]]:
    """Keep one row of each person at each place, and at most `most` places of each person."""
    kept: list[tuple[Any, str]] = []
    for person, place in dict.fromkeys(pairs):
        if sum(other == person for other, _ in kept) < most:
            kept.append((person, place))
    return kept


def _counties(kept: Sequence[tuple[Any, str]]) -> list[int]:
    """Release how many rows each county has; one person is in each county at most once."""
    counts = Counter(county for _, county in kept)
    once_each = Sensitivity(entries=len(_COUNTIES), each=1)
    exact_counts = Exact([counts[county] for county in _COUNTIES], once_each)
    noisy = Gaussian.for_rho("0.5", once_each).release(exact_counts)
    return [int(count) for count in noisy]  # type: ignore[union-attr]


def bounded_then_rewritten(rows: Rows) -> list[int]:
    """Bound each person to one row per clinic, in three clinics, and then replace clinics by counties."""
    kept = _at_most(3, [(row["person"], str(row["clinic"])) for row in rows])
    return _counties([(person, _county(clinic)) for person, clinic in kept])


def rewritten_then_bounded(rows: Rows) -> list[int]:
    """Replace clinics by counties, and then bound each person to one row per county."""
    return _counties(_at_most(2, [(row["person"], _county(row["clinic"])) for row in rows]))


REWRITTEN_KEY = Exhibit(
    name="rewritten-key",
    title="A bound per person and group is still trusted after the groups were renamed",
    story=(
        "Each person is cut down to one row per clinic, and the planner remembers: one row per person and group. "
        "Then the column is overwritten with the clinic's county, and the rows are counted by county. Three "
        "clinics in one county are three rows of one person in one group, where the planner still promises one. "
        "In OpenDP a hundred groups were merged into one: ρ = 0.5 was claimed where the truth was 5,000. A "
        "planner that rewrites a key must drop what it knew about the old key."
    ),
    sources=("opendp/opendp#2949",),
    broken=lambda: replay(bounded_then_rewritten, _VISITS, person="person", name="bounded, then rewritten"),
    mended=lambda: replay(rewritten_then_bounded, _VISITS, person="person", name="rewritten, then bounded"),
    ours=(
        "A vault bounds the total weight of a person once, before any key: after any filter and any rewritten "
        "key, a person's weights still add up to no more (discreet.query.plan.linear_queries, replayed through "
        "whole questions in tests/vault/test_replay.py). Bounds of values belong to the expression that is asked "
        "for (test_arithmetic_is_exact_and_within_its_bounds_on_every_row in "
        "tests/query/bounds/test_arithmetic.py)."
    ),
)


# -- codes-by-appearance ----------------------------------------------------------------------------------------

_SIZES: Rows = [{"size": "large"}, *({"size": "small"} for _ in range(20))]


def sum_of_codes_by_appearance(rows: Rows) -> list[int]:
    """Release the sum of codes 0 and 1, assigned to the sizes in the order of their first rows."""
    codes = {size: min(code, 1) for code, size in enumerate(dict.fromkeys(row["size"] for row in rows))}
    return _noisy([sum(codes[row["size"]] for row in rows)])


def sum_of_listed_codes(rows: Rows) -> list[int]:
    """Release the sum of codes 0 and 1, assigned to the sizes in advance."""
    return _noisy([sum(row["size"] == "large" for row in rows)])


CODES = Exhibit(
    name="codes-by-appearance",
    title="Categories are numbered in the order of their appearance, so one row renumbers all others",
    story=(
        "Replacing a category by its number looks like a step that treats each row by itself. If the numbers are "
        "assigned in the order in which categories first appear, it is not: remove the first row and every other "
        "row has another number. A sum of codes between 0 and 1, with noise for sensitivity 1, changes by the "
        "size of the table."
    ),
    sources=("opendp/opendp#2944",),
    broken=lambda: replay(sum_of_codes_by_appearance, _SIZES, name="codes by appearance"),
    mended=lambda: replay(sum_of_listed_codes, _SIZES, name="codes listed in advance"),
    ours=(
        "The code of a category is its position in the declared list, whatever the rows hold, and a value that is "
        "not in the list is missing or has a declared code too (test_categories_match_to_the_last_character in "
        "tests/schema/test_schema.py)."
    ),
)


# -- size-in-the-normaliser -------------------------------------------------------------------------------------

_GRADIENTS: Rows = [{"gradient": gradient} for gradient in (3, -1, 2, 4)]
_BATCH = 4


def _summed(rows: Rows) -> int:
    """Release the sum of gradients, each clipped to ±4 whole units."""
    gradients = (row["gradient"] if isinstance(row["gradient"], int) else 0 for row in rows)
    return _noisy([sum(max(-4, min(4, gradient)) for gradient in gradients)], sensitivity=4)[0]


def step_over_the_rows_there_are(rows: Rows) -> float:
    """Release the noisy sum of gradients divided by the number of rows."""
    return _summed(rows) / max(len(rows), 1)


def step_over_the_stated_batch(rows: Rows) -> float:
    """Release the noisy sum of gradients divided by a number that was fixed in advance."""
    return _summed(rows) / _BATCH


NORMALISER = Exhibit(
    name="size-in-the-normaliser",
    title="The noisy gradient is divided by the exact number of people",
    story=(
        "Gradients are clipped, summed, and get their noise: all is well. Then the sum is turned into a mean: it "
        "is divided by the expected size of a batch, which is the sampling rate times the size of the data set, "
        "and that size is a secret. The multiples of a quarter and the multiples of a fifth have little in "
        "common. With a few people, or with many coordinates that were all divided by the same number, the size "
        "is visible."
    ),
    sources=("meta-pytorch/opacus#571", "meta-pytorch/opacus#819"),
    broken=lambda: replay(step_over_the_rows_there_are, _GRADIENTS, name="a step over the rows there are"),
    mended=lambda: replay(step_over_the_stated_batch, _GRADIENTS, name="a step over the stated batch"),
    ours=(
        "An exact value has no length to divide by and no arithmetic: what a mechanism returns can be divided "
        "only by numbers that are public or noisy themselves "
        "(test_every_way_to_look_inside_is_refused_and_says_nothing in tests/mechanisms/test_exact.py)."
    ),
)


# -- post-processing-reads-data ---------------------------------------------------------------------------------

_WARDS = (1, 2, 3)
_BEDS: Rows = [{"ward": 1}, {"ward": 1}, {"ward": 3}]


def _by_ward(rows: Rows) -> list[int]:
    counts = Counter(row["ward"] for row in rows if row["ward"] in _WARDS)
    return [counts[ward] for ward in _WARDS]


def zeros_put_back(rows: Rows) -> list[int]:
    """Release the patients of each ward, and then correct the answer: an empty ward has no patients."""
    truth = _by_ward(rows)
    return [count if there else 0 for count, there in zip(_noisy(truth), truth, strict=True)]


def negatives_cut_off(rows: Rows) -> list[int]:
    """Release the patients of each ward, and then correct the answer: no count is negative."""
    return [max(count, 0) for count in _noisy(_by_ward(rows))]


POST_PROCESSING = Exhibit(
    name="post-processing-reads-data",
    title="Post-processing reads the data once more",
    story=(
        "Post-processing keeps a private answer private, as long as it uses the answer alone. The rule is so "
        "convenient that any code after the noise gets called post-processing: here a function that knows that "
        "ward 2 is empty sets its noisy 3 back to 0. The function has access to the table, or to the clock, and "
        "the library that runs it cannot tell. The only patient of a ward turns a certain zero into a noisy "
        "number."
    ),
    sources=("OpenDP 0.12 (changelog, PR #2130): callbacks that post-process need “honest-but-curious”",),
    broken=lambda: replay(zeros_put_back, _BEDS, name="zeros put back"),
    mended=lambda: replay(negatives_cut_off, _BEDS, name="negatives cut off"),
    ours=(
        "The exact value is sealed: code that receives it to correct an answer cannot look at it, compare it or "
        "branch on it (test_every_way_to_look_inside_is_refused_and_says_nothing in "
        "tests/mechanisms/test_exact.py)."
    ),
)

EXHIBITS = (LABELS, RAISES, REWRITTEN_KEY, CODES, NORMALISER, POST_PROCESSING)
"""Exhibits about structure, in the order of a visit."""
