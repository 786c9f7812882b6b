"""Synthetic tables of vaults in PostgreSQL and in Spark: the same measurements by another engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.vault.vault import Vault
from tests.oracle.servers import SERVERS, loaded
from tests.synth.tables import people, sealed

KINDS = ["bigint", "bigint", "text", "double precision", "boolean", "date"]


@pytest.mark.parametrize("server", SERVERS)
def test_a_vault_in_a_server_is_synthesized_like_any_other(
    server: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """At ε = 12 the noise of a cell is a few rows: a larger difference is a wrong count."""
    rows = people(600)
    source, address, options = loaded(server, rows, KINDS, request, tmp_path)
    with sealed(source, address, **options) as vault:
        assert vault.metadata.engine == server
        made = vault.synthesize(["age", "city", "married"], epsilon=12, bins={"age": [0, 18, 65]}, persons=True)
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
        assert vault.ledger.balance().spent.rho > spent.rho
    with Vault(address) as again:
        free = again.synthesize(["age", "city", "married"], epsilon=12, bins={"age": [0, 18, 65]}, persons=True)
        assert free.free
