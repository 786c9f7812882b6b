"""JSON has numbers where a program needs numbers, and records of version 1 are still read."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from discreet.errors import ParameterError
from discreet.ledger import Budget
from discreet.release import serialize
from discreet.release.estimate import Estimate
from discreet.release.release import Release
from discreet.schema import Integer
from discreet.vault.vault import Vault
from tests.vault.releases import answer, by_city, label, receipt, release

OLD = Path(__file__).parent / "release_1.json"
"""A release as discreet 0.1 wrote it, before version 2 of the format."""


def as_version_1(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record as version 1 wrote it."""
    old = json.loads(json.dumps(record))
    old["schema"] = "discreet release 1"
    del old["receipt"]
    old["label"]["cost"] = old["label"].pop("receipt")
    for noise in old["label"]["noise"]:
        noise["moves"] = noise.pop("sensitivity")
    for part in (*old["keys"], *old["aggregates"]):
        del part["column"]
    for aggregate in old["aggregates"]:
        del aggregate["basis"]
    return old  # type: ignore[no-any-return]


def test_a_record_of_version_1_is_read() -> None:
    old = json.loads(OLD.read_text(encoding="utf-8"))
    found = Release.from_json(old)
    assert found["count(*)"].values == (42.3, 1042.3, 2042.3)
    assert found.label.noise[0].sensitivity == 8
    assert found.receipt.spent == "ρ = 0.005 and δ = 1e-11"
    assert Release.from_json(found.to_json()) == found
    assert as_version_1(found.to_json()) == old


@pytest.mark.parametrize("part", ["cost", "noise", "columns"])
def test_a_damaged_record_of_version_1_is_refused(part: str) -> None:
    old = json.loads(OLD.read_text(encoding="utf-8"))
    old["label"][part] = 5
    with pytest.raises(ParameterError, match="The release is damaged"):
        Release.from_json(old)
    del old["label"][part]
    with pytest.raises(ParameterError, match="The release lacks"):
        Release.from_json(old)


def test_a_vault_that_was_asked_before_answers_from_its_old_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = pyarrow.table({"who": [1, 2], "age": [30, 40]})
    columns = {"age": Integer(0, 110)}
    question = "select count(*), avg(age) from people"
    with Vault.seal(
        rows, to=tmp_path / "v", name="people", person="who", columns=columns, budget=Budget(2)
    ) as vault:
        new = serialize.written
        monkeypatch.setattr(serialize, "written", lambda made: as_version_1(new(made)))
        first = vault.ask(question, epsilon="0.5")
        monkeypatch.setattr(serialize, "written", new)
        again = vault.ask(question, epsilon="0.5")
    assert again.free
    assert again.aggregates == first.aggregates
    assert again.receipt.whole.used == Fraction(1, 2)


def test_whole_numbers_are_integers_and_read_back_to_the_same_floats() -> None:
    values = [3.0, -7.0, 0.0, -0.0, 0.5, 2.0**53, 2.0**60]
    record = release({"n": list(range(7))}, [answer("count(*)", values, 1.0)]).to_json()
    written = record["aggregates"][0]["values"]
    assert [type(number) for number in written] == [int, int, int, float, float, int, float]
    back = Release.from_json(json.loads(json.dumps(record)))["count(*)"].values
    assert [number.hex() for number in back if number is not None] == [number.hex() for number in values]


def test_ends_that_are_infinite_are_texts() -> None:
    made = release(answers=[Estimate("x", [1.5], [-math.inf], [math.inf])])
    aggregate = made.to_json()["aggregates"][0]
    assert (aggregate["low"], aggregate["high"]) == (["-inf"], ["inf"])


def test_a_program_finds_the_columns_by_identifiers() -> None:
    record = by_city().to_json()
    assert [key["column"] for key in record["keys"]] == ["city"]
    assert [(a["name"], a["column"]) for a in record["aggregates"]] == [
        ("count(*)", "count"),
        ("avg(age)", "avg_age"),
    ]


def test_the_receipt_has_exact_amounts_and_floats_and_the_share_of_the_budget() -> None:
    numbers = release().to_json()["receipt"]
    assert numbers == {
        "unit": "epsilon",
        "spent": {"exact": "1/10", "value": 0.1},
        "left": {"exact": "19/10", "value": 1.9},
        "share": 0.05,
        "guarantee": {"epsilon": 0.1, "delta": 0.0},
        "accounts": [
            {"analyst": None, "purpose": None, "left": {"exact": "19/10", "value": 1.9}, "left_share": 0.95}
        ],
    }


def test_the_receipt_of_a_budget_with_delta_is_in_rho() -> None:
    paid = receipt("1e-9", analyst="ana")
    numbers = release(label=label(receipt=paid)).to_json()["receipt"]
    assert numbers["unit"] == "rho"
    assert numbers["spent"] == {"exact": "1/200", "value": 0.005}
    assert numbers["guarantee"] == {"epsilon": float(paid.promise.epsilon), "delta": 1e-9}
    assert [account["analyst"] for account in numbers["accounts"]] == [None, "ana"]
    assert numbers["share"] == pytest.approx(0.005 / float(paid.whole.total or 1))
