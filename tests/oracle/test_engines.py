"""Oracles over vaults in PostgreSQL and in Spark: the same answers by another engine, also after a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow
import pytest

from discreet.errors import ParameterError
from discreet.ledger import Budget
from discreet.oracle import Oracle
from discreet.vault.vault import Vault
from tests.oracle.people import COLUMNS, rows, true_count
from tests.oracle.servers import SERVERS, loaded

ROWS = 2_000
KINDS = ["bigint", "text", "double precision", "bigint"]


def opened(vault: Vault, path: Path | None) -> Oracle:
    """At this confidence a false alarm of the test has a probability below 1e-8."""
    return vault.oracle(
        ["age", "city", "pay"],
        epsilon=4,
        within=150,
        confidence="0.999999999",
        bins={"age": 10, "pay": 9},
        path=path,
    )


@pytest.mark.parametrize("server", SERVERS)
def test_a_vault_in_a_server_has_an_oracle_like_any_other(
    server: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    table = rows(ROWS)
    paid = [pay for pay, city in zip(table["pay"], table["city"], strict=True) if city == "Oslo"]
    truths: dict[str, float] = {
        "select count(*) from people where age between 20 and 39": true_count(table, age=(20, 39)),
        "select count(*) from people where age is null": table["age"].count(None),
        "select count(*) from people where city = 'Oslo' and pay > 1234": sum(pay > 1234 for pay in paid),
        "select sum(pay) from people where city = 'Oslo'": sum(paid),
        "select avg(pay) from people where city = 'Oslo'": sum(paid) / len(paid),
    }
    source, address, options = loaded(server, pyarrow.table(table), KINDS, request, tmp_path)
    path = tmp_path / "people.oracle" if server == "postgres" else None  # a vault in a directory keeps it there
    declared: dict[str, Any] = {
        "name": "people",
        "person": None,
        "columns": COLUMNS,
        "budget": Budget(100, "1e-6"),
    }
    with Vault.seal(source, to=address, **declared, **options) as vault:
        assert vault.metadata.engine == server
        if server == "postgres":
            with pytest.raises(ParameterError, match="path="):
                opened(vault, None)
        assert vault.ledger.balance().charges == 0
        with opened(vault, path) as oracle:
            answers = {question: oracle.ask(question) for question in truths}
            spent = oracle.spent
    for question, truth in truths.items():
        assert answers[question].checked
        assert answers[question].low <= truth <= answers[question].high, question
    with Vault(address) as again, opened(again, path) as oracle:
        assert {question: oracle.ask(question).value for question in truths} == {
            question: answer.value for question, answer in answers.items()
        }
        assert oracle.spent == spent
        assert again.ledger.balance().charges == 1
