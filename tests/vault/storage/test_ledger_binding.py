"""A vault is asked with the ledger that it was sealed with, or not at all."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pytest

from discreet.errors import DiscreetError, LedgerMissing, LedgerTampered, ParameterError
from discreet.ledger import Budget, Ledger
from discreet.privacy import Pure
from discreet.schema import Integer
from discreet.vault.vault import Vault

COUNT = "select count(*) from people"


def sealed(place: Path) -> Path:
    Vault.seal(
        pyarrow.table({"who": [1, 2], "age": [30, 40]}),
        to=place,
        person="who",
        columns={"age": Integer(0, 110)},
        budget=Budget(1),
    ).close()
    return place


@pytest.fixture(scope="module")
def spent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault whose budget is nearly spent."""
    place = sealed(tmp_path_factory.mktemp("spent") / "people.vault")
    with Vault(place) as vault:
        vault.ask(COUNT, epsilon="0.9")
    return place


@pytest.fixture
def place(spent: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(spent, tmp_path / "people.vault"))


@pytest.mark.parametrize(
    "lose", [Path.unlink, lambda path: path.write_bytes(b""), lambda path: path.write_bytes(b"a letter" * 999)]
)
def test_a_lost_ledger_is_to_be_restored_and_a_new_one_is_not_believed(
    place: Path, lose: Callable[[Path], object]
) -> None:
    lose(place / "ledger.sqlite")
    with pytest.raises(
        LedgerMissing, match=r"ledger of .*people.vault is gone\. Restore it from a backup"
    ) as told:
        Vault(place)
    assert "Ledger.create" not in str(told.value)
    (place / "ledger.sqlite").unlink(missing_ok=True)
    Ledger.create(place / "ledger.sqlite", Budget(1)).close()
    with pytest.raises(LedgerTampered, match=r"is not its own.*Restore that ledger from a backup"):
        Vault(place)


def test_the_ledger_of_another_vault_is_not_believed(place: Path, tmp_path: Path) -> None:
    other = sealed(tmp_path / "other.vault")
    shutil.copy(other / "ledger.sqlite", place)
    with pytest.raises(LedgerTampered, match="is not its own"):
        Vault(place)


@pytest.mark.parametrize("name", ["", "its own"])
def test_a_description_that_is_made_to_fit_a_new_ledger_does_not_fit_the_rows(place: Path, name: str) -> None:
    (place / "ledger.sqlite").unlink()
    with Ledger.create(place / "ledger.sqlite", Budget(1)) as ledger:
        described = json.loads((place / "description.json").read_text())
        described["ledger"] = name and ledger.first.hash
        (place / "description.json").write_text(json.dumps(described))
        with Vault(place) as vault, pytest.raises(ParameterError, match="not those that its rows"):
            vault.ask(COUNT, epsilon="0.5")
        assert ledger.balance().charges == 0


def test_an_older_copy_of_the_ledger_is_the_vaults_own(place: Path, tmp_path: Path) -> None:
    with Vault(place) as vault:
        head = vault.ledger.head()
    shutil.copy(place / "ledger.sqlite", tmp_path / "backup")
    with Vault(place) as vault:
        vault.ask(f"{COUNT} where age > 30", epsilon="0.1")
        later = vault.ledger.head()
    shutil.copy(tmp_path / "backup", place / "ledger.sqlite")
    with Vault(place) as vault:
        assert vault.ledger.verify(since=head) == head
        with pytest.raises(LedgerTampered):
            vault.ledger.verify(since=later)
        assert vault.ask(COUNT, epsilon="0.9").free


def test_a_new_version_keeps_its_ledger(place: Path) -> None:
    with Vault(place) as vault:
        vault.reseal(pyarrow.table({"who": [1], "age": [30]}))
    with Vault(place) as vault:
        assert vault.metadata.ledger == vault.ledger.first.hash
        assert vault.ledger.balance().remaining == Budget("0.1").epsilon


def test_what_takes_the_place_of_an_open_vault_is_not_asked_in_its_name(place: Path, tmp_path: Path) -> None:
    other = sealed(tmp_path / "other.vault")
    with Vault(place) as vault:
        shutil.copy(other / "description.json", place)
        with pytest.raises(ParameterError, match=r"There is another vault at .*\. Open it again"):
            vault.ask(COUNT, epsilon="0.05")
    assert Ledger.open(place / "ledger.sqlite").balance().charges == 1


def test_a_ledger_that_took_the_place_of_an_open_one_is_not_charged(place: Path) -> None:
    with Vault(place) as vault:
        (place / "ledger.sqlite").unlink()
        with Ledger.create(place / "ledger.sqlite", Budget(1)) as new:
            with pytest.raises(DiscreetError, match="replaced"):
                vault.ask(f"{COUNT} where age > 30", epsilon="0.5")
            with pytest.raises(DiscreetError, match="replaced"):
                vault.ledger.reserve(Pure("0.5"), question="?")
            assert new.balance().charges == 0
