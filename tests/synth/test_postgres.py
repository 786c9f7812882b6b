"""A synthetic table of a vault in PostgreSQL: the same measurements by another engine."""

from __future__ import annotations

import pytest

from discreet.synth import synthesize
from discreet.vault.vault import Vault
from tests.servers.postgres import Server
from tests.synth.tables import people, sealed
from tests.vault.postgres_vaults import loaded

pytestmark = pytest.mark.xdist_group("postgres")


def test_a_vault_in_postgresql_is_synthesized_like_any_other(postgres: Server, postgres_address: str) -> None:
    """At ε = 12 noise is a row or so in each cell: what differs by more is wrongly counted."""
    rows = people(600)
    kinds = ["bigint", "bigint", "text", "double precision", "boolean", "date"]
    with sealed(loaded(postgres, rows, kinds), postgres_address) as vault:
        assert vault.metadata.engine == "postgres"
        made = synthesize(vault, ["age", "city", "married"], epsilon=12, bins={"age": [0, 18, 65]}, persons=True)
        spent = vault.ledger.balance().spent
        frame = rows.to_pandas()
        found = made.marginal(["city", "married"])
        for i, city in enumerate(found.levels[0]):
            for j, married in enumerate(found.levels[1]):
                truth = ((frame["city"] == city) & (frame["married"] == married)).sum()
                assert abs(found.counts[i, j] - truth) < 25
        assert abs(made.marginal(["age"]).counts[-1] - frame["age"].isna().sum()) < 15
        assert made.to_arrow().column_names == ["who", "age", "city", "married"]
        paid = made.compare(epsilon=3, show=[["city"]])
        assert abs(paid.shown[0].table.sum() - 600) < 40
        assert vault.ledger.balance().spent.rho - spent.rho == 9 / 2
    with Vault(postgres_address) as again:
        free = synthesize(again, ["age", "city", "married"], epsilon=12, bins={"age": [0, 18, 65]}, persons=True)
        assert free.free
