"""A label states facts, all of them, and no more; so do the checklist and the registry's entry made from it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.ledger import Account, Balance, Budget, Cost
from discreet.privacy import explain
from discreet.privacy.theorems.calibration import largest_rho
from discreet.privacy.theorems.conversions import zcdp_to_approximate
from discreet.release.label import Label, Noise
from discreet.release.nist import CURATOR, NOT_APPLICABLE
from discreet.release.receipt import Promise, Receipt, largest_question, together
from discreet.release.registry import written
from discreet.release.serialize import read_label, written_label
from discreet.release.statements import BIAS
from discreet.schema import Boolean, Category, Date, Datetime, Integer, Real, Text, describe
from discreet.vault.vault import Vault
from tests.vault.releases import label, receipt

# -- numbers -----------------------------------------------------------------------------------------------------


def test_the_size_of_noise_is_written_as_people_read_it() -> None:
    said = str(Noise(on="sum of values", law="discrete Laplace noise", spread=2_000_000.4, sensitivity=1e6))
    assert said == ("sum of values: discrete Laplace noise of scale 2,000,000; sensitivity 1,000,000")
    assert "of standard deviation 0.00001235;" in str(Noise("rows", "discrete Gaussian noise", 0.000012346, 1))


# -- receipts and promises -----------------------------------------------------------------------------------


def test_without_delta_the_promise_is_the_epsilon_that_was_charged() -> None:
    assert receipt().promise == Promise(Fraction(1, 10), Fraction(0))
    assert receipt().spent == "ε = 0.1"
    assert receipt().left == "ε = 1.9 of 2 is left"


def test_with_delta_the_promise_is_the_conversion_at_half_the_delta_of_the_ledger() -> None:
    promise = receipt("1e-9").promise
    assert float(promise.epsilon) == zcdp_to_approximate("0.005", "5e-10")
    assert promise.delta == Fraction(1, 10**9)
    assert receipt("1e-9").spent == "ρ = 0.005"


def test_the_delta_of_found_groups_is_in_the_other_half() -> None:
    found = receipt("1e-9", keys="4e-10").promise
    assert float(found.epsilon) == zcdp_to_approximate("0.005", "5e-10")
    assert found.delta == Fraction(1, 10**9)
    # A budget that was amended since: the keys took more than half, and the rest is what ρ converts at.
    assert float(receipt("1e-9", keys="9e-10").promise.epsilon) == zcdp_to_approximate("0.005", "1e-10")
    assert receipt("1e-9", keys="4e-10").spent == "ρ = 0.005 and δ = 4e-10"


def test_a_pure_question_keeps_its_pure_promise_in_a_ledger_with_delta() -> None:
    pure = replace(receipt("1e-9"), cost=Cost(Fraction(1, 10), Fraction(1, 200)))
    assert pure.promise == Promise(Fraction(1, 10), Fraction(0))


def test_every_account_that_paid_says_what_is_left() -> None:
    assert receipt(analyst="ana").left == 'ε = 1.9 of 2 is left; ε = 1.9 of 2 is left for analyst "ana"'


def test_a_receipt_begins_with_the_whole_vault() -> None:
    with pytest.raises(ParameterError, match=r"ledger\.balance\(\)"):
        Receipt(cost=Cost(), losses=[], balances=[Balance(Account(analyst="ana"), Budget(1))])


@given(st.fractions(0, 10**6, max_denominator=10**9))
def test_what_is_said_to_be_left_for_a_question_is_enough_for_it_and_nearly_all(rho: Fraction) -> None:
    epsilon = largest_question(Balance(Account(), Budget(1, "1e-9"), rho=rho))
    assert epsilon is not None
    assert not epsilon or largest_rho(epsilon, Fraction(1, 2 * 10**9)) <= rho
    assert largest_rho(epsilon * (1 + Fraction(1, 10**5)) + Fraction(1, 10**12), Fraction(1, 2 * 10**9)) >= rho


@pytest.mark.parametrize("epsilon", ["0.001", "0.05", "0.7", "1", "2"])
@pytest.mark.parametrize("question", ["select count(*) from t", "select word, count(*) from t group by word"])
def test_the_label_repeats_what_was_asked(tmp_path: Path, epsilon: str, question: str) -> None:
    rows = pyarrow.table({"word": [f"w{i % 3}" for i in range(300)]})
    with Vault.seal(
        rows,
        to=tmp_path / "t.vault",
        name="t",
        person=None,
        columns={"word": Text()},
        budget=Budget(2, "1e-9"),
    ) as vault:
        release = vault.ask(question, epsilon=epsilon)
    assert release.receipt.promise.epsilon <= Fraction(epsilon)
    assert release.label.facts["Privacy"]["This release"].startswith(f"ε = {epsilon} at δ = 1e-9 ")


def test_a_proven_guarantee_is_stated_written_and_not_added_up() -> None:
    proven = replace(receipt("1e-9"), proven=Promise(Fraction(1, 2), Fraction(1, 10**9)))
    assert str(proven.promise) == "ε = 0.5 at δ = 1e-9"
    record = written_label(label(receipt=proven))
    assert read_label(record).receipt.proven == proven.proven
    assert together([proven, proven]).promise.epsilon > proven.promise.epsilon
    assert "proven" not in written_label(label(receipt=receipt("1e-9")))["receipt"]
    record["receipt"]["proven"] = ["-1", "0"]
    with pytest.raises(ValueError, match="below zero"):
        read_label(record)


# -- the label --------------------------------------------------------------------------------------------------


def test_it_says_whom_it_protects_and_how_well() -> None:
    privacy = label().facts["Privacy"]
    assert privacy["Unit"] == "one person: all rows with the same user_id"
    assert "all rows of one person" in privacy["Neighbours"]
    assert privacy["Contribution"].startswith("8 rows per person count in full")
    assert privacy["This release"] == f"ε = 0.1. {explain('0.1')}"
    assert privacy["All releases together"] == f"ε = 2. {explain(2)}"
    assert privacy["Left"] == "ε = 1.9 of 2 is left"


def test_without_a_person_column_the_unit_is_a_row() -> None:
    privacy = label(person=None, rows_per_person=1).facts["Privacy"]
    assert privacy["Unit"] == "one row"
    assert "lacks one row" in privacy["Neighbours"]
    assert "person of its own" in privacy["Contribution"]


def test_it_says_which_filter_adds_up() -> None:
    assert "the ε of all questions" in label().composition
    assert "stop at 0.0541" in label(receipt=receipt("1e-9")).composition


def test_it_names_noise_its_scale_and_its_sensitivity() -> None:
    gaussian = Noise(on="sum", law="discrete Gaussian noise", spread=1234.5678, sensitivity=12.0)
    assert label(noise=[gaussian]).facts["Means"]["Noise"] == (
        "sum: discrete Gaussian noise of standard deviation 1,235; sensitivity 12"
    )
    assert str(Noise(on="median", law="the exponential mechanism")) == "median: the exponential mechanism"
    assert str(Noise(on="texts", law="Gaussian noise and a threshold", spread=7.0)) == (
        "texts: Gaussian noise of standard deviation 7 and a threshold"
    )


@pytest.mark.parametrize(
    ("groups", "words"), [(None, "one answer for the whole table"), (50, "50, all declared"), (0, "δ = 1e-11")]
)
def test_it_says_where_groups_come_from(groups: int | None, words: str) -> None:
    assert words in label(groups=groups, receipt=receipt("1e-9", keys="1e-11")).grouping


def test_it_says_what_intervals_leave_out() -> None:
    assert label().facts["Bounds"]["Not in the intervals"] == BIAS
    assert "scaled down" in BIAS


@pytest.mark.parametrize(
    ("column", "domain", "fate"),
    [
        (Integer(0, 110, missing=0), "whole numbers from 0 to 110", "missing values become 0"),
        (Real(0, 1, step="0.1", outside="missing"), "in steps of 0.1", "values outside are missing"),
        (Category(["a"], other="b"), "one of a, b", "not in the list become b"),
        (Category(list("abcdefgh")), "a, b, c, d, e, f and 2 more", "not in the list are missing"),
        (Boolean(), "true or false", "neither are missing"),
        (Date("2024-01-01", "2024-12-31"), "days from 2024-01-01 to 2024-12-31", "nearer bound"),
        (Datetime("2024-01-01", "2024-01-02", step="1h"), "in steps of 1:00:00", "nearer bound"),
        (Text(), "any string", "missing values form a group"),
    ],
)
def test_every_kind_of_column_describes_its_bounds_and_the_fate_of_other_values(
    column: Any, domain: str, fate: str
) -> None:
    assert domain in describe.domain(column)
    assert fate in describe.fate(column)
    assert domain in label(columns={"x": column}).facts["Bounds"]["x"]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_its_text_fits_a_terminal_and_holds_every_fact(width: int) -> None:
    shown = label().as_text(width)
    assert max(map(len, shown.splitlines())) <= width
    words = " ".join(shown.split())
    for facts in label().facts.values():
        for name in facts:
            assert name in words
    assert "An attacker who starts at even odds" in words


def test_its_page_is_escaped_and_its_text_moves_no_cursor() -> None:
    hostile = label(table="<script>", notes=["\x1b[2J"])
    assert "<script>" not in hostile.as_html()
    assert "&lt;script&gt;" in hostile.as_html()
    assert "\x1b" not in hostile.as_text()


# -- the checklist ----------------------------------------------------------------------------------------------


def test_all_questions_are_answered() -> None:
    items = label().checklist()
    assert [item.number for item in items] == list(range(1, 22))
    assert all(item.question.endswith("?") and item.answer.endswith(".") for item in items)


def test_facts_stand_in_the_answers() -> None:
    answers = {item.number: item.answer for item in label(receipt=receipt("1e-9")).checklist()}
    assert "zCDP" in answers[1]
    assert "ε = 2 at δ = 1e-9" in answers[2]
    assert "δ = 1e-9" in answers[3]
    assert "user_id" in answers[4]
    assert "discrete Laplace noise of scale 80" in answers[7]


def test_what_does_not_apply_and_what_only_the_curator_knows_is_said_to_be_so() -> None:
    answers = {item.number: item.answer for item in label().checklist()}
    assert all(answers[number].startswith(NOT_APPLICABLE) for number in (3, 12, 13, 14))
    assert all(CURATOR in answers[number] for number in (2, 6, 11, 19, 20))


# -- the registry -----------------------------------------------------------------------------------------------

TIER_1 = {
    "name": "Incomes: by city",
    "curators": ["Office of Statistics"],
    "authors": ["A. N. Author"],
    "intended_use": "planning # of schools",
    "region": "Norway",
    "description": 'counts and "averages"\n\nof people',
    "published": "2026-01-02",
}


def entry(about: Label | None = None, **more: Any) -> dict[str, Any]:
    record: dict[str, Any] = read((about or label()).registry_entry(**{**TIER_1, **more}))
    return record


def test_the_entry_has_the_fields_of_all_tiers() -> None:
    deployed = entry(justification="because", sector="Government")["deployment"]
    assert {part: list(fields) for part, fields in deployed.items()} == {
        "basic": [
            *("name", "data_curators", "intended_use", "data_product_type", "data_product_region", "description"),
            *("publication_date", "data_product_sector"),
        ],
        "dp_variant": ["variant_name", "data_domain", "unprotected_quantities"],
        "privacy_loss": [
            *("privacy_unit", "privacy_unit_details", "privacy_parameters", "privacy_parameters_details"),
        ],
        "deployment_model": [
            *("model_name", "model_name_details", "actors", "release_type", "release_type_details"),
            *("data_source_type", "data_source_type_details", "access_type", "access_type_details"),
        ],
        "accounting": ["post_processing", "composition"],
        "implementation": ["preprocessing_and_hyperparameter_tuning", "mechanisms", "justification"],
        "administrative": ["sources", "registry_authors"],
    }


def test_texts_arrive_as_they_were_given() -> None:
    basic = entry()["deployment"]["basic"]
    assert basic["name"] == "Incomes: by city"
    assert basic["intended_use"] == "planning # of schools"
    assert basic["description"] == 'counts and "averages"\n\nof people'
    assert basic["publication_date"] == "2026-01-02"
    assert entry()["url_slug"] == "incomes_by_city"


def test_the_guarantee_is_that_of_the_release_or_of_the_vault() -> None:
    with_delta = label(receipt=receipt("1e-9"))
    one, all_ = (entry(with_delta, of=of)["deployment"] for of in ("release", "vault"))
    assert one["privacy_loss"]["privacy_parameters"] == {"epsilon": 0.576786, "delta": 1e-9, "rho": 0.005}
    assert all_["privacy_loss"]["privacy_parameters"]["epsilon"] == 2.0
    assert one["dp_variant"]["variant_name"] == "Approximate DP"
    assert (one["deployment_model"]["access_type"], all_["deployment_model"]["access_type"]) == (
        "Non-interactive",
        "Interactive",
    )
    assert entry()["deployment"]["privacy_loss"]["privacy_parameters"] == {"epsilon": 0.1}
    assert entry()["deployment"]["dp_variant"]["variant_name"] == "Pure DP"


def test_without_a_justification_the_entry_is_of_the_second_tier() -> None:
    assert (entry()["tier"], entry(justification="because")["tier"]) == (2, 3)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"product": "A book"}, "product must be one of Summary statistics"),
        ({"sector": "Space"}, "sector must be one of"),
        ({"of": "world"}, "of must be one of"),
        ({"curators": "me"}, "curators must be a list"),
        ({"authors": []}, "authors must be a list"),
        ({"published": "yesterday"}, "must be a date"),
    ],
)
def test_what_the_registry_does_not_know_is_refused(more: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        entry(**more)


# -- YAML -------------------------------------------------------------------------------------------------------


def read(document: str) -> Any:
    """Read JSON, and by a real reader of YAML too if there is one."""
    assert document.endswith("\n"), "a document ends with a line"
    odd = [character for character in document if not character.isascii() and ord(character) < 0x10000]
    assert not odd, "JSON and YAML disagree about some other characters"
    value = json.loads(document)
    _expect_numbers_of_both_versions(document)
    try:
        import yaml  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        return value
    assert yaml.safe_load(document) == value
    return value


def _expect_numbers_of_both_versions(document: str) -> None:
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', '""', document)
    for number in re.findall(r"[-0-9.e+]{2,}|[0-9]", bare):
        # What YAML 1.1 and 1.2 both take for a number.
        assert re.fullmatch(r"-?[0-9]+|-?[0-9]+\.[0-9]+(e[+-][0-9]+)?", number), number


writable = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    writable,
    st.sampled_from(
        ["no", "Yes", "null", "1e5", "a: b", "- a", "# a", "a\nb", "a\n\n b", "~", "", " a", "2024-01-01", '"1e-9']
    ),
)
documents = st.dictionaries(
    writable, st.one_of(scalars, st.lists(scalars), st.dictionaries(writable, scalars)), min_size=1
)


@given(documents)
def test_whatever_is_written_reads_back_the_same(document: dict[str, Any]) -> None:
    assert read(written(document)) == document


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_keep_every_digit(number: float) -> None:
    assume(number != 0)
    assert read(written({"x": number}))["x"] == number


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_has_no_plain_form_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        written({"x": value})
