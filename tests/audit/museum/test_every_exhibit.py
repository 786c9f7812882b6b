"""Every exhibit is caught, every mended twin passes, and the files and tests that they name exist."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest

from discreet.audit.museum import exhibits
from discreet.audit.museum.exhibit import Exhibit
from tests.audit.museum.verdicts import verdicts

ROOT = Path(__file__).parents[3]
EXHIBITS = exhibits()

# This one takes seconds, and test_budgets.py looks at its numbers: one worker computes them once.
LONG = {"reused-sample": pytest.mark.xdist_group("reused sample")}
every_exhibit = pytest.mark.parametrize(
    "exhibit", [pytest.param(one, id=one.name, marks=LONG.get(one.name, ())) for one in EXHIBITS]
)

# The first exhibits of the museum; it may have more.
FOUNDED_FOR = {
    *(f"sparse-vector-{variant}" for variant in (3, 4, 5, 6)),
    *("literal-exponential", "gaussian-objective-perturbation", "classical-gaussian", "float-laplace"),
    *("precision-attack", "scaled-after-rounding", "lie-may-be-truth", "true-bit-never-flipped"),
    *("true-value-first", "nan-passes-clamp", "float-order", "integer-overflow", "data-dependent-denominator"),
    *("labels-off-the-data", "one-neighbour-raises", "flip-as-exponential", "boundary-missing-from-delta"),
    *("rewritten-key", "natural-filter", "spent-twice", "rounded-to-zero", "reused-sample", "memoised-redrawn"),
    "forked-generator",
}


def test_the_museum_has_what_it_was_founded_for_each_under_a_name_of_its_own() -> None:
    names = [exhibit.name for exhibit in EXHIBITS]
    assert set(names) >= FOUNDED_FOR
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in names)


@every_exhibit
def test_the_broken_one_is_caught_and_the_mended_one_is_not(exhibit: Exhibit) -> None:
    broken, mended = verdicts(exhibit)
    assert broken.caught, broken.words
    assert not mended.caught, mended.words
    assert broken.attack == mended.attack, "an attack that only the broken one is put to shows nothing"
    assert broken.words != mended.words
    if broken.claimed is not None and broken.found is not None:
        assert broken.found > broken.claimed


@every_exhibit
def test_every_field_of_it_is_filled_in(exhibit: Exhibit) -> None:
    assert 5 < len(exhibit.title) < 120
    assert len(exhibit.story) > 150
    assert exhibit.sources
    assert exhibit.ours


@functools.cache
def every_test() -> str:
    return " ".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))


@every_exhibit
def test_the_files_and_tests_it_refers_to_exist(exhibit: Exhibit) -> None:
    for path in re.findall(r"\b(?:src|tests|docs)/[\w/.-]+\.(?:py|md)\b", exhibit.ours):
        assert (ROOT / path).exists(), path
    for name in re.findall(r"\btest_\w+\b(?!\.py)", exhibit.ours):
        assert f"def {name}(" in every_test() or list((ROOT / "tests").rglob(f"{name}.py")), name
