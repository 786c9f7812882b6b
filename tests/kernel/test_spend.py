"""A number takes one path: a record is looked up first, a refusal is free, the charge comes before the noise."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pyarrow
import pytest

from discreet import noise
from discreet.errors import BudgetExceeded, ParameterError
from discreet.kernel import Job, Payer, Ready, SealedTable, spend
from discreet.learn import LogisticRegression
from discreet.ledger import Budget
from discreet.ledger.charge import Charge
from discreet.privacy import Pure, ZeroConcentrated
from discreet.schema import Category, Column, Integer, Text
from discreet.synth.synthetic import Synthetic
from discreet.vault.vault import Vault

ROWS = {
    "who": list(range(2000)),
    "age": [i % 90 for i in range(2000)],
    "city": ["Oslo" if i % 3 else "Bergen" for i in range(2000)],
    "word": ["yes" if i % 2 else "no" for i in range(2000)],
}
COLUMNS: dict[str, Column] = {"age": Integer(0, 110), "city": Category(["Oslo", "Bergen"]), "word": Text()}


def sealed(folder: Path) -> Vault:
    return Vault.seal(
        pyarrow.table(ROWS),
        to=folder / "people.vault",
        person="who",
        columns=COLUMNS,
        budget=Budget(20, "1e-6"),
    )


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    with sealed(tmp_path) as made:
        yield made


class Refusing:
    """An engine whose rows cannot be asked, as PostgreSQL's after another process sealed them again."""

    def __init__(self, engine: Any):
        self._engine = engine

    @property
    def rows(self) -> Any:
        raise ParameterError("The rows have changed.", fix="Ask again.")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def made(vault: Vault) -> Synthetic:
    return vault.synthesize(["age", "city"], epsilon=2)


CALLERS: dict[str, Callable[[Vault, Synthetic], Any]] = {
    "ask": lambda vault, _: vault.ask("select count(*) from people", epsilon=1),
    "oracle": lambda vault, _: vault.oracle(["city"], epsilon=2, within=200).close(),
    "synthesize": lambda vault, _: vault.synthesize(["city"], epsilon=1),
    "compare": lambda _, table: table.compare(epsilon=1),
    "fit": lambda vault, _: vault.fit(LogisticRegression(), target="city", features=["age"], epsilon=1),
}


@pytest.mark.parametrize("caller", CALLERS)
def test_rows_that_refuse_cost_nothing_and_a_retry_is_charged_once(
    vault: Vault, monkeypatch: pytest.MonkeyPatch, caller: str
) -> None:
    table = made(vault)
    before = vault.ledger.balance()
    with monkeypatch.context() as patch:
        for fingerprint, engine in list(vault._engines.items()):
            patch.setitem(vault._engines, fingerprint, cast(Any, Refusing(engine)))
        for _ in range(2):
            with pytest.raises(ParameterError, match="The rows have changed"):
                CALLERS[caller](vault, table)
    assert vault.ledger.balance() == before
    assert vault.ledger.unfinished() == []
    CALLERS[caller](vault, table)
    CALLERS[caller](vault, table)  # the second time it is recorded
    assert vault.ledger.balance().charges == before.charges + 1


def test_a_recorded_release_is_free_for_an_analyst_whose_account_is_pure(vault: Vault) -> None:
    """Only a budget with δ pays for strings as keys; what was released with one is public."""
    asked: dict[str, Any] = {"question": "select word, count(*) from people group by word", "epsilon": 2}
    first = vault.ask(**asked)
    vault.ledger.allot(analyst="ana", budget=Budget(1))
    with Vault(vault.place, analyst="ana") as hers:
        again = hers.ask(**asked)
        assert again.free
        assert again["count(*)"].values == first["count(*)"].values
        assert hers.ledger.balance(analyst="ana").charges == 0


@pytest.mark.parametrize("given", [{"epsilon": 2}, {"spend": "10%"}], ids=str)
def test_a_recorded_table_and_its_comparison_are_free_for_an_analyst_whose_account_is_pure(
    vault: Vault, given: dict[str, Any]
) -> None:
    first = vault.synthesize(["age", "city"], **given)
    compared = first.compare(**given)
    vault.ledger.allot(analyst="ana", budget=Budget(1))
    with Vault(vault.place, analyst="ana") as hers:
        again = hers.synthesize(["age", "city"], **given)
        assert again.free
        assert again.compare(**given).distances == compared.distances
        with pytest.raises(ParameterError, match="takes a budget with δ"):
            hers.synthesize(["city"], **given)
        assert hers.ledger.balance(analyst="ana").charges == 0


def test_a_recorded_relative_width_is_free_for_an_analyst_whose_account_is_pure(vault: Vault) -> None:
    first = vault.ask("select count(*) from people", within="20%")
    vault.ledger.allot(analyst="ana", budget=Budget("0.0001"))
    with Vault(vault.place, analyst="ana") as hers:
        again = hers.ask("select count(*) from people", within="20%")
    assert again.free
    assert again.value == first.value


def a_job(run: Callable[[Charge], str], record: bool = True) -> Callable[[Ready], Job[str]]:
    return lambda _: Job(ZeroConcentrated("0.001"), run, lambda found: json.dumps(found) if record else None)


def spent(table: SealedTable, key: str, prepare: Callable[[Ready], Job[str]]) -> str:
    return spend(table, [key], read=lambda standing: str(json.loads(standing.answer or "")), prepare=prepare)


def test_the_charge_is_on_the_disk_before_noise_is_drawn(vault: Vault) -> None:
    def look(_: Charge) -> str:
        with Vault(vault.place) as other:
            return str(other.ledger.balance().charges)

    assert spent(vault.table(), "a key", a_job(look)) == "1"


def test_what_preparing_refuses_is_free(vault: Vault) -> None:
    def refuse(_: Ready) -> Job[str]:
        raise ParameterError("No.")

    with pytest.raises(ParameterError):
        spent(vault.table(), "a key", refuse)
    assert vault.ledger.balance().charges == 0


def test_what_fails_after_the_charge_stays_charged_and_is_not_recorded(vault: Vault) -> None:
    def fail(_: Charge) -> str:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        spent(vault.table(), "a key", a_job(fail))
    assert vault.ledger.balance().charges == 1
    assert vault.ledger.find("a key") is None


def test_what_is_not_to_be_recorded_is_not(vault: Vault) -> None:
    assert spent(vault.table(), "a key", a_job(lambda _: "x", record=False)) == "x"
    assert vault.ledger.find("a key") is None


@pytest.mark.parametrize("caller", ["ask", "synthesize", "compare", "fit"])
def test_what_was_made_from_test_bits_is_never_recorded(tmp_path: Path, caller: str) -> None:
    with noise.deterministic(7):
        vault = sealed(tmp_path)
    table = made(vault)
    with noise.deterministic(7):
        CALLERS[caller](vault, table)
    assert len(vault.ledger.unfinished()) == 1


def test_any_of_the_keys_is_looked_up_and_the_last_is_charged(vault: Vault) -> None:
    table = vault.table()
    spent(table, "first", a_job(lambda _: "one"))
    found = spend(
        table,
        ["first", "second"],
        read=lambda standing: str(json.loads(standing.answer or "")),
        prepare=a_job(lambda _: "two"),
    )
    assert found == "one"
    spend(table, ["third", "fourth"], read=lambda _: "", prepare=a_job(lambda _: "two"))
    assert (vault.ledger.find("third"), vault.ledger.find("fourth")) == (None, '"two"')


def test_what_is_held_is_given_back_when_the_charge_is_refused(vault: Vault) -> None:
    events: list[str] = []

    class Held:
        def __enter__(self) -> None:
            events.append("taken")

        def __exit__(self, *_: object) -> None:
            events.append("given back")

    with pytest.raises(BudgetExceeded):
        spend(
            vault.table(),
            ["a key"],
            read=lambda _: "",
            prepare=lambda _: Job(ZeroConcentrated(1000), lambda _: "", lambda _: None, Held()),
        )
    assert events == ["taken", "given back"]


def test_a_payer_charges_its_own_accounts(vault: Vault) -> None:
    vault.ledger.allot(analyst="ana", budget=Budget(1))
    payer = Payer(vault.ledger, analyst="ana")
    assert payer.strictest_budget() == Budget(1)
    assert not payer.can_afford(Pure(2))
    payer.record(payer.reserve(Pure("0.5"), "a key"), "1")
    assert vault.ledger.balance(analyst="ana").spent.epsilon == pytest.approx(0.5)
