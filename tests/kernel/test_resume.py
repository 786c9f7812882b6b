"""One charge shows one answer: a retry after a failed record is free, and so is one after a killed process."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from discreet import noise
from discreet.errors import AnswerUnrecorded, NotForRelease
from discreet.kernel import Job, Payer, Ready, SealedTable, spend
from discreet.learn import LogisticRegression
from discreet.ledger import Budget, Ledger
from discreet.ledger.charge import Charge
from discreet.noise.testing import scripted
from discreet.privacy import Pure
from discreet.schema import Category, Integer
from discreet.vault.vault import Vault

COUNT = "select count(*) from people"


def sealed(folder: Path) -> Vault:
    rows = {"age": [i % 90 for i in range(500)], "city": ["Oslo" if i % 3 else "Bergen" for i in range(500)]}
    return Vault.seal(
        pyarrow.table(rows),
        to=folder / "people.vault",
        person=None,
        columns={"age": Integer(0, 110), "city": Category(["Oslo", "Bergen"])},
        budget=Budget(20, "1e-6"),
    )


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    with sealed(tmp_path) as made:
        yield made


def impatient(vault: Vault) -> SealedTable:
    """Return the table with a ledger that does not wait for other writers."""
    table = vault.table()
    ledger = Ledger.open(Path(vault.place) / "ledger.sqlite", timeout=0.01)
    return replace(table, payer=Payer(ledger, table.payer.analyst, table.payer.purpose))


class Locked:
    """Another process that writes, for as long as it likes."""

    def __init__(self, vault: Vault):
        self._connection = sqlite3.connect(Path(vault.place) / "ledger.sqlite", isolation_level=None)

    def begin(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def end(self) -> None:
        self._connection.execute("ROLLBACK")


def asked(table: SealedTable, run: Callable[[Charge], str], *, silent: bool = True, key: str = "a key") -> str:
    def prepare(_: Ready) -> Job[str]:
        return Job(Pure("0.5"), run, json.dumps, silent=silent)

    return spend(table, [key], read=lambda standing: str(json.loads(standing.answer or "")), prepare=prepare)


def refused(*_: object) -> str:
    raise AssertionError("it was drawn again")


@pytest.mark.parametrize("silent", [True, False])
def test_an_answer_that_could_not_be_recorded_is_kept_and_the_retry_is_free(vault: Vault, silent: bool) -> None:
    table, rival = impatient(vault), Locked(vault)

    def run(_: Charge) -> str:
        rival.begin()
        return "forty-two"

    with pytest.raises(AnswerUnrecorded, match="This was charged, but the answer could not be recorded") as error:
        asked(table, run, silent=silent)
    assert "it is not charged a second time" in str(error.value)
    assert "forty-two" not in str(error.value)
    with pytest.raises(AnswerUnrecorded):  # it is locked still
        asked(table, refused, silent=silent)
    rival.end()
    assert asked(vault.table(), refused, silent=silent) == "forty-two"  # also of a vault that is opened again
    assert asked(vault.table(), refused, silent=silent) == "forty-two"  # now from the record
    assert vault.ledger.balance().charges == 1
    assert vault.ledger.unfinished() == []
    vault.ledger.verify()


def test_what_could_not_be_recorded_is_kept_for_the_account_that_paid(vault: Vault) -> None:
    """What is kept may be the journal of an oracle: another analyst would ask on the charge of the first."""
    rival = Locked(vault)

    def run(_: Charge) -> str:
        rival.begin()
        return "an oracle of ana"

    with pytest.raises(AnswerUnrecorded):
        asked(impatient(vault.for_account(analyst="ana")), run, silent=False)
    rival.end()
    others = vault.for_account(analyst="bo").table()
    assert asked(others, lambda _: "an oracle of bo", silent=False) == "an oracle of bo"
    assert vault.ledger.balance(analyst="bo").charges == 1


KILLED = """
import os, signal, sys
from discreet.vault.vault import Vault
import discreet.ledger.ledger as ledger, discreet.query.answer.execute as execute
vault = Vault(sys.argv[1], analyst=sys.argv[3] or None)
def die(*_, **__): os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[2] == "before the noise": execute.execute = die
if sys.argv[2] == "before the record": ledger.Ledger.record = die
vault.ask("select count(*) from people", epsilon=1)
"""


def killed(vault: Vault, moment: str, analyst: str = "") -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, vault.place, moment, analyst], check=False, timeout=600)
    assert done.returncode == -signal.SIGKILL
    assert len(vault.ledger.unfinished()) == 1


@pytest.mark.parametrize("moment", ["before the noise", "before the record"])
def test_a_question_whose_process_was_killed_is_resumed_and_charged_once(vault: Vault, moment: str) -> None:
    killed(vault, moment)
    killed(vault, moment)
    before = vault.ledger.balance()
    assert before.charges == 1
    answer = vault.ask(COUNT, epsilon=1)
    assert answer.value is not None
    assert abs(answer.value - 500) < 100
    assert vault.ledger.balance() == before
    assert vault.ledger.unfinished() == []
    again = vault.ask(COUNT, epsilon=1)
    assert again.free
    assert again.value == answer.value
    vault.ledger.verify()


def test_only_the_same_price_and_the_same_account_resume_a_charge(vault: Vault) -> None:
    killed(vault, "before the record", "ana")
    vault.ask(COUNT, epsilon=2)
    with Vault(vault.place, analyst="bob") as his:
        his.ask(COUNT, epsilon=1)
    assert vault.ledger.balance().charges == 3
    assert vault.ledger.balance(analyst="bob").charges == 1
    assert [entry.content["analyst"] for entry in vault.ledger.unfinished()] == ["ana"]


def test_what_shows_something_before_it_is_recorded_is_not_resumed(vault: Vault) -> None:
    """It would catch: an oracle or a model that is drawn again for nothing, after its progress was seen."""
    table = vault.table()
    table.payer.reserve(Pure("0.5"), "a key", resumable=True)
    assert asked(table, lambda _: "another", silent=False) == "another"
    assert vault.ledger.balance().charges == 2


def test_a_charge_of_a_job_that_is_not_silent_is_not_resumed_by_one_that_is(vault: Vault) -> None:
    table = vault.table()
    table.payer.reserve(Pure("0.5"), "a key")
    assert asked(table, lambda _: "another") == "another"
    assert vault.ledger.balance().charges == 2


def test_a_failure_that_was_seen_closes_its_charge(vault: Vault) -> None:
    """It would catch: an analyst who sees a failure that depends on the noise, and draws again for nothing."""

    def fail(_: Charge) -> str:
        raise RuntimeError("not a finite number")

    for attempt in (1, 2):
        with pytest.raises(RuntimeError):
            asked(vault.table(), fail)
        assert vault.ledger.balance().charges == attempt
    assert [entry.kind for entry in vault.ledger.entries()][1:] == ["charge", "failure"] * 2
    assert len(vault.ledger.unfinished()) == 2  # spent, and without an answer
    assert asked(vault.table(), lambda _: "fine") == "fine"
    assert vault.ledger.balance().charges == 3
    vault.ledger.verify()


def test_a_failure_that_the_ledger_cannot_be_told_looks_like_a_failed_record(vault: Vault) -> None:
    table, rival = impatient(vault), Locked(vault)

    def fail(_: Charge) -> str:
        rival.begin()
        raise RuntimeError("not a finite number")

    with pytest.raises(AnswerUnrecorded) as hidden:
        asked(table, fail)
    assert hidden.value.__cause__ is None
    rival.end()

    def unrecorded(_: Charge) -> str:
        rival.begin()
        return "x"

    with pytest.raises(AnswerUnrecorded) as failed:
        asked(table, unrecorded, key="another key")
    rival.end()
    assert str(hidden.value) == str(failed.value)


def test_of_two_processes_on_one_charge_both_show_what_was_recorded_first(vault: Vault) -> None:
    """It would catch: two draws on one charge, of which each process shows its own."""

    def run(_: Charge) -> str:
        return asked(vault.table(), lambda _: "the faster") and "the slower"

    assert asked(vault.table(), run) == "the faster"
    assert vault.ledger.balance().charges == 1


def test_a_silent_job_records_what_it_shows(vault: Vault) -> None:
    def prepare(_: Ready) -> Job[str]:
        return Job(Pure("0.5"), lambda _: "x", lambda _: None, silent=True)

    with pytest.raises(AssertionError, match="does not record"):
        spend(vault.table(), ["a key"], read=lambda _: "", prepare=prepare)
    assert asked(vault.table(), lambda _: "y") == "y"
    assert vault.ledger.balance().charges == 2


# -- test bits --------------------------------------------------------------------------------------------------

CALLERS: dict[str, Callable[[Vault], Any]] = {
    "ask": lambda vault: vault.ask(COUNT, epsilon=1),
    "relative": lambda vault: vault.ask(COUNT, within="20%"),
    "oracle": lambda vault: vault.oracle(["city"], epsilon=2, within=200).close(),
    "synthesize": lambda vault: vault.synthesize(["city"], epsilon=1),
    "fit": lambda vault: vault.fit(LogisticRegression(), target="city", features=["age"], epsilon=1),
    "holdout": lambda vault: vault.holdout("city", epsilon=1).close(),
    "stream": lambda vault: vault.stream("visits", epsilon=1, horizon=10).close(),
}
BITS: dict[str, Callable[[], Any]] = {
    "deterministic": lambda: noise.deterministic(1),
    "scripted": lambda: scripted(lambda _: 0),
}


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("caller", CALLERS)
def test_a_real_vault_is_not_asked_with_predictable_noise(vault: Vault, caller: str, bits: str) -> None:
    """It would catch: noise.deterministic around a question: with the noise, the truth is known."""
    with BITS[bits](), pytest.raises(NotForRelease, match="Nothing was computed"):
        CALLERS[caller](vault)
    assert vault.ledger.balance().spent.rho == Fraction(0)
    assert [entry.kind for entry in vault.ledger.entries()] == ["opening"]
    assert not [*Path(vault.place).glob("*.oracle"), *Path(vault.place).glob("*.stream")]


def test_not_even_a_recorded_answer_is_taken_among_test_bits(vault: Vault) -> None:
    vault.ask(COUNT, epsilon=1)
    with noise.deterministic(1), pytest.raises(NotForRelease):
        vault.ask(COUNT, epsilon=1)


def test_a_vault_that_was_sealed_among_test_bits_is_for_tests_and_says_so(tmp_path: Path) -> None:
    with noise.deterministic(1):
        vault = sealed(tmp_path)
        first = vault.ask(COUNT, epsilon=1)
    assert first.test_bits
    assert vault.ledger.for_tests
    assert "for tests" in str(vault)
    with Vault(vault.place) as again, noise.deterministic(2):
        assert again.ask(COUNT, epsilon=1).test_bits
    assert not vault.ask(COUNT, epsilon=1).test_bits
    assert vault.ledger.balance().charges == 3
    vault.ledger.verify()
