"""Streams that a vault pays for: charged once, opened again for nothing, refused before the charge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow
import pytest

from discreet import noise
from discreet.errors import BudgetExceeded, ParameterError
from discreet.ledger import Budget
from discreet.privacy.losses import Pure, ZeroConcentrated
from discreet.schema import Integer
from discreet.stream import Counter, Histogram, Person, Windowed
from discreet.vault.vault import Vault


def sealed(folder: Path, delta: str = "1e-9") -> Vault:
    table = pyarrow.table({"user": [str(i % 50) for i in range(200)], "age": [30] * 200})
    return Vault.seal(
        table,
        to=folder / "town.vault",
        person="user",
        rows_per_person=4,
        columns={"age": Integer(0, 110)},
        budget=Budget(2, delta),
        name="town",
    )


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return sealed(tmp_path)


def test_a_stream_is_charged_once_and_protects_a_person(vault: Vault) -> None:
    with vault.stream("visits", epsilon=1, horizon=100) as counter:
        assert isinstance(counter, Counter)
        assert isinstance(counter.loss, ZeroConcentrated)
        counter.extend([5] * 10)
        answer = counter.release()
    assert vault.ledger.balance().charges == 1
    assert answer.label.person == "user"
    assert answer.label.rows_per_person == 4
    assert "at most 4 events" in answer.label.notes[0]
    assert float(answer.receipt.promise.epsilon) == pytest.approx(1, rel=1e-3)
    with vault.stream("visits", epsilon=1, horizon=100) as counter:
        assert counter.tick == 10
        assert counter.value == answer.estimate
    assert vault.ledger.balance().charges == 1


def test_other_terms_are_another_stream_at_its_own_cost(vault: Vault) -> None:
    vault.stream("visits", epsilon="0.2", horizon=100).close()
    keys = vault.stream("visits", epsilon="0.2", keys=["home", "cart"])
    window = vault.stream("visits", spend="5%", window=60, unit=Person(1))
    far = vault.stream("visits", epsilon="0.2", horizon=100, unit=Person(4, apart=20))
    pan = vault.stream("visits", epsilon="0.2", horizon=100, pan_private=True)
    assert isinstance(keys, Histogram)
    assert isinstance(window, Windowed)
    assert far.label.noise[0].spread < vault.stream("b", epsilon="0.2", horizon=100).label.noise[0].spread
    assert pan.pan_private
    assert vault.ledger.balance().charges == 6


def test_a_vault_without_delta_has_laplace_noise(tmp_path: Path) -> None:
    with sealed(tmp_path, "0") as vault, vault.stream("visits", epsilon=1, horizon=100) as counter:
        assert counter.loss == Pure(1)
    assert not [*tmp_path.glob("*.stream")]


def test_what_cannot_be_is_refused_before_the_charge(vault: Vault, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("something")
    wrong: list[dict[str, Any]] = [
        {},
        {"epsilon": 1, "window": 5, "horizon": 3},
        {"epsilon": 1, "keys": []},
        {"epsilon": 1, "unit": "visit"},
        {"epsilon": 1, "path": tmp_path / "there"},
        {"epsilon": 1, "horizon": 0},
        {"epsilon": 1, "horizon": 10**10},
        {"epsilon": 1, "path": tmp_path / "nowhere" / "a.stream"},
    ]
    for terms in wrong:
        with pytest.raises(ParameterError):
            vault.stream("visits", **terms)
    with pytest.raises(ParameterError, match="name"):
        vault.stream("", epsilon=1)
    with pytest.raises(BudgetExceeded, match="spend="):
        vault.stream("visits", epsilon=100, horizon=10)
    assert vault.ledger.balance().charges == 0
    assert (tmp_path / "there").read_text() == "something"
    assert not [*(tmp_path / "town.vault").glob("*.stream*")]


def test_a_stream_whose_file_is_gone_counts_as_spent(vault: Vault, tmp_path: Path) -> None:
    vault.stream("visits", epsilon=1, horizon=10).close()
    for file in (tmp_path / "town.vault").glob("*.stream"):
        file.unlink()
    with pytest.raises(ParameterError, match="gone"):
        vault.stream("visits", epsilon=1, horizon=10)


def test_a_stream_of_test_bits_is_not_recorded(tmp_path: Path) -> None:
    with noise.deterministic(1):
        vault = sealed(tmp_path)
        vault.stream("visits", epsilon="0.1", horizon=10).close()
    vault.stream("visits", epsilon="0.1", horizon=10).close()
    assert vault.ledger.balance().charges == 2


def test_a_ledger_of_persons_pays_for_no_single_events(vault: Vault) -> None:
    """The charge would say ε for a person who has four events, and who loses four times as much."""
    with pytest.raises(ParameterError, match=r"protects persons.*Person\(events=4\)"):
        vault.stream("visits", epsilon="0.2", horizon=100, unit="event")
    assert vault.ledger.balance().charges == 0
