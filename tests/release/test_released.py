"""Every result that leaves has a label, a receipt and JSON, and none leaves that was made from test bits."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass, replace
from fractions import Fraction

import pytest

from discreet.errors import Code, Fix, NotForRelease, ParameterError
from discreet.ledger import Budget, Cost
from discreet.release import Estimate, Release, Released
from discreet.release.receipt import Receipt
from discreet.release.released import Guarded, expect_release, expect_schema
from discreet.release.serialize import read_label, read_receipt, written_label, written_receipt
from tests.vault.releases import answer, by_city, label, receipt, release


def test_a_release_is_released() -> None:
    made: Released = by_city()
    assert isinstance(made, Released)
    assert made.receipt is made.label.receipt
    assert Release.from_json(made.to_json()) == made


def test_old_names_still_work() -> None:
    made = by_city()
    assert made.cost is made.receipt is made.label.cost
    assert made.as_json() == made.to_json()


@dataclass(frozen=True)
class Result(Guarded):
    number: float
    test_bits: bool = False


@pytest.mark.parametrize("way", [pickle.dumps, copy.copy, copy.deepcopy, lambda made: made.expect_release("x")])
def test_any_result_can_be_guarded(way: object) -> None:
    assert callable(way)
    way(Result(1.0))
    with pytest.raises(NotForRelease, match=r"test bits.*predictable") as refused:
        way(Result(1.0, test_bits=True))
    assert "noise.deterministic" in str(refused.value.fixes[0])


def test_the_error_names_what_would_let_it_out() -> None:
    with pytest.raises(NotForRelease, match="and save would let it out"):
        expect_release(Result(1.0, test_bits=True), "save")


@pytest.mark.parametrize(
    ("record", "found"), [({}, "no version"), ([], "no version"), (None, "no version"), ({"schema": 5}, "5")]
)
def test_a_record_of_another_version_is_refused(record: object, found: str) -> None:
    with pytest.raises(ParameterError, match=r'reads "a 2" and "a 1" \(found: ' + found):
        expect_schema(record, "a 2", "a 1")


# -- estimates --------------------------------------------------------------------------------------------------


def test_a_single_number_has_value_margin_and_interval() -> None:
    one = Estimate("x", [10.0], [8.0], [12.0])
    assert (one.value, one.margin, one.interval) == (10.0, 2.0, (8.0, 12.0))
    assert one.error == one.margins == (2.0,)


def test_of_several_numbers_none_is_the_value() -> None:
    with pytest.raises(ParameterError, match="2 groups"):
        _ = answer("x", [1.0, 2.0], 1.0).value


def test_an_estimate_has_the_confidence_of_its_release() -> None:
    made = release(answers=[answer("x", [1.0], 1.0)], confidence=Fraction(9, 10))
    assert made["x"].confidence == Fraction(9, 10)
    assert Release.from_json(made.to_json()) == made


def test_a_basis_that_is_unknown_is_refused() -> None:
    with pytest.raises(ParameterError, match="basis of an estimate must be one of noise"):
        Estimate("x", [1.0], [0.0], [2.0], basis="hearsay")


# -- receipts ---------------------------------------------------------------------------------------------------


def test_a_receipt_says_how_much_of_the_budget_was_used_and_is_left() -> None:
    assert receipt().used == "5 % of the budget"
    assert receipt(analyst="ana").remaining == '95 % is left; 95 % is left for analyst "ana"'


def test_shares_are_rounded_towards_caution() -> None:
    third = replace(receipt(), cost=Cost(Fraction(2, 3)))
    assert third.used == "33.4 % of the budget"
    whole = third.whole
    assert replace(third, balances=[replace(whole, spent=third.cost)]).remaining == "66.6 % is left"


@pytest.mark.parametrize("delta", [0, "1e-9"])
def test_a_free_receipt_charges_nothing_and_promises_everything(delta: str | int) -> None:
    free = Receipt.free_of(receipt(delta))
    assert free.free
    assert not receipt(delta).free
    assert free.promise.epsilon == 0
    assert free.left == receipt(delta).left
    assert free.in_numbers()["spent"]["value"] == 0


def test_a_receipt_without_the_whole_vault_says_what_to_give() -> None:
    with pytest.raises(ParameterError, match="begins with the balance of the whole vault") as refused:
        Receipt(cost=Cost(), losses=[], balances=[])
    assert refused.value.fixes == (Fix("balances", Code("[ledger.balance()]")),)


def test_a_receipt_of_a_device_has_no_accounts_and_does_not_know_what_is_left() -> None:
    device = Receipt(Cost(Fraction(1, 2)), ["one report"], (), lifetime=Budget(2))
    assert (device.spent, device.used) == ("ε = 0.5", "25 % of the budget")
    assert device.left == device.remaining == "what a device has left is known to that device only"
    assert (device.promise.epsilon, device.total.epsilon) == (Fraction(1, 2), Fraction(2))
    assert device.in_numbers()["left"] is None
    assert Receipt.free_of(device).free
    assert read_receipt(written_receipt(device)) == device
    with pytest.raises(ParameterError, match="no accounts of a vault"):
        Receipt(Cost(Fraction(1, 2)), [], receipt().balances, lifetime=Budget(2))


def test_a_label_of_the_local_model_has_the_receipt_of_a_device_and_no_other() -> None:
    device = Receipt(Cost(Fraction(1, 2)), ["one report"], (), lifetime=Budget(2))
    made = label(receipt=device, model="local")
    assert read_label(written_label(made)) == made
    for receipt_, model in ((device, "central"), (receipt(), "local")):
        with pytest.raises(ParameterError, match="label of the local model"):
            label(receipt=receipt_, model=model)


# -- columns ----------------------------------------------------------------------------------------------------


def test_columns_without_a_name_get_identifiers_and_are_found_by_both() -> None:
    made = release(answers=[answer("count(*)", [1.0], 1.0), answer("count", [2.0], 1.0)])
    assert list(made.table()) == [
        *("count_2", "count_2_low", "count_2_high"),
        *("count", "count_low", "count_high"),
    ]
    assert made["count(*)"] is made["count_2"]
    assert made["count"].values == (2.0,)
