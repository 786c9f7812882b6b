"""Choices and statistical queries on vaults in PostgreSQL and in Spark: the same sums by another engine."""

from __future__ import annotations

from pathlib import Path

import pyarrow
import pytest

from discreet.learn import finite
from discreet.learn.statistical_queries import Halfspace, Sample, SampleOracle, SQOracle, moment, predicate, schema
from discreet.learn.statistical_queries.exact_sums import EngineSums, SampleSums
from discreet.learn.statistical_queries.query import condition
from discreet.learn.statistical_queries.rules import errors
from tests.learn.statistical_queries import tables
from tests.oracle.servers import SERVERS, loaded

KINDS = ["bigint", "text", "double precision", "boolean"]


@pytest.mark.parametrize("server", SERVERS)
def test_a_vault_in_a_server_gives_the_same_sums_and_is_learned_from(
    server: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    rows = tables.rows(400)
    source, address, options = loaded(server, pyarrow.table(rows), KINDS, request, tmp_path)
    people = schema(tables.COLUMNS)
    ill = condition(people, "ill")
    trees = [
        *(errors(tree, ill) for tree in finite.stumps(people, ["age", "city", "pay"], cuts=4).trees),
        moment(people, "pay", signed=True, flip="ill").tree,
        predicate(people, Halfspace(("age", "pay"), (70_000, -30_000), 5).mistaken(people, ill)).tree,
        predicate(people, "pay < age").tree,
    ]
    with tables.sealed(address, source, **options) as vault:
        assert vault.metadata.engine == server
        by_engine = EngineSums(vault.table().engine(), vault.metadata)
        by_sample = SampleSums(Sample.of(rows, tables.COLUMNS))
        assert by_engine.run(by_engine.prepare(trees)) == by_sample.run(by_sample.prepare(trees))
        stumps = finite.stumps(vault.table(), ["age", "city"], cuts=4)
        found = finite.choose(vault.table(), stumps, label="ill", epsilon=5)
        assert finite.choose(vault.table(), stumps, label="ill", epsilon=5) == found
        with SQOracle(vault.table(), queries=2, epsilon=5, path=tmp_path / "q.oracle") as oracle:
            truth = SampleOracle(by_sample.sample).ask("ill").value or 0
            assert abs((oracle.ask("ill").value or 0) - truth) < 0.1
