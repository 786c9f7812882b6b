from __future__ import annotations

import re
from pathlib import Path

import pytest

from discreet.audit.museum import floats, structure, sums, thresholds
from discreet.audit.museum.exhibit import Exhibit
from discreet.audit.replay.recorder import recording
from discreet.audit.replay.replay import findings


@pytest.mark.parametrize(
    ("exhibit", "said"),
    [
        (structure.LABELS, ["never seen before", "shape (4,) instead of (3,)"]),
        (structure.RAISES, ["287396-10-12", "against 0."]),
        (structure.REWRITTEN_KEY, ["Gaussian.release, changes by 3 (each), but the declared sensitivity is 1"]),
        (structure.CODES, ["without row 0", "changes by 20 (each), but the declared sensitivity is 1"]),
        (structure.NORMALISER, ["the result changes although every release is held fixed"]),
        (structure.POST_PROCESSING, ["the result changes although every release is held fixed"]),
    ],
    ids=lambda part: part.name if isinstance(part, Exhibit) else "",
)
def test_the_words_name_what_reveals_the_person(exhibit: Exhibit, said: list[str]) -> None:
    words = exhibit.broken().words
    assert all(part in words for part in said), words


def test_the_one_patient_with_a_rare_disease_is_revealed_by_leaving() -> None:
    rows = [{"diagnosis": "flu"}, {"diagnosis": "flu"}, {"diagnosis": "kuru"}]
    found = [f.words for f in findings(structure.histogram_of_what_occurs, rows, seed=1) if "as given" in f.words]
    assert any("without row 2" in words for words in found)
    assert not any("without row 0" in words or "without row 1" in words for words in found)


def test_a_garbled_date_raises_and_a_kind_reader_passes_over_it() -> None:
    with pytest.raises(ValueError, match="287396"):
        structure.years_read_strictly(["287396-10-12"])
    assert isinstance(structure.years_read_kindly(["287396-10-12"]), int)


def test_the_mended_reader_spends_what_it_claims_and_no_more() -> None:
    verdict = structure.RAISES.mended()
    assert verdict.claimed == 1
    assert verdict.found == pytest.approx(1, abs=0.01)


def test_three_clinics_in_one_county_are_three_rows_of_one_person() -> None:
    rows = [{"person": "ann", "clinic": clinic} for clinic in "abc"] + [{"person": "bob", "clinic": "d"}]
    found = [f.words for f in findings(structure.bounded_then_rewritten, rows, person="person", seed=1)]
    assert any("without person 'ann'" in words and "changes by 3 (each)" in words for words in found), found


def test_bounded_after_the_rewriting_a_person_is_once_in_each_county() -> None:
    rows = [{"person": "ann", "clinic": clinic} for clinic in "abcd"] + [{"person": "bob", "clinic": "a"}]
    with recording(seed=1) as tape:
        structure.rewritten_then_bounded(rows)
        structure.bounded_then_rewritten(rows)
    assert [call.value.tolist() for call in tape.calls] == [[2, 1], [4, 0]]


def test_with_one_clinic_to_a_county_the_rewriting_would_have_been_harmless() -> None:
    rows = [{"person": "ann", "clinic": "a"}, {"person": "ann", "clinic": "d"}, {"person": "bob", "clinic": "d"}]
    found = [f.words for f in findings(structure.bounded_then_rewritten, rows, person="person", seed=1)]
    assert not any("as given, without" in words for words in found)


def test_a_first_row_gone_renumbers_all_others() -> None:
    rows = [{"size": "large"}] + [{"size": "small"}] * 7
    found = [f for f in findings(structure.sum_of_codes_by_appearance, rows, seed=1) if "without row" in f.words]
    assert max(finding.excess for finding in found) == 7


def test_a_last_step_that_looks_at_the_data_is_seen_and_one_that_looks_at_the_answer_is_not() -> None:
    rows = [{"ward": 1}, {"ward": 3}]
    assert {f.kind for f in findings(structure.zeros_put_back, rows, seed=1)} == {"result"}
    assert not findings(structure.negatives_cut_off, rows, seed=1)


@pytest.mark.parametrize(
    "exhibit",
    floats.EXHIBITS + sums.EXHIBITS + structure.EXHIBITS + thresholds.EXHIBITS,
    ids=lambda exhibit: exhibit.name,
)
def test_the_tests_that_an_exhibit_names_exist(exhibit: Exhibit) -> None:
    root = Path(__file__).parents[3]
    files = [root / name for name in re.findall(r"tests/[\w/]+\.py", exhibit.ours)]
    texts = [file.read_text(encoding="utf-8") for file in files]
    named = [
        name for name in re.findall(r"\btest_\w+(?!\.py)\b", exhibit.ours) if f"{name}.py" not in exhibit.ours
    ]
    assert all(any(f"def {name}(" in text for text in texts) for name in named), exhibit.ours
