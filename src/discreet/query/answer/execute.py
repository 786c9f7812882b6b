"""Execute a plan on sealed rows: the one place where a vault's exact sums meet their noise.

`prepare` writes all statements before the charge, and `execute` runs them after it. Exact sums come from the
engine, become `Exact` with the sensitivity that their linear query proves, and are released by the plan's own
mechanisms. Everything afterwards is computed from the released numbers. If a plan has string keys, their
partitions are selected first, and are then used like declared groups. Groups without rows are in the answer, with
noise, like all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from discreet.mechanisms import Exact
from discreet.mechanisms.exact import LIMIT, ExactByKey, Integers
from discreet.query import ir
from discreet.query.answer import estimates
from discreet.query.answer.estimates import Estimate, Estimates
from discreet.query.plan import partition_selection, quantiles
from discreet.query.plan.estimators import Joint, Linear, Mean, Rank, Spread
from discreet.query.plan.group_index import dense
from discreet.query.plan.linear_queries import LinearQuery
from discreet.query.plan.partition_selection import Partition, marked
from discreet.query.plan.plan import Plan
from discreet.query.plan.quantiles import Ranking
from discreet.schema.metadata import UNIT

if TYPE_CHECKING:
    from discreet.engines.engine import Engine, Groups
    from discreet.engines.nodes import Expression
    from discreet.engines.statement import Rows, Statement


@dataclass(frozen=True)
class Prepared:
    """A plan with its statements. Preparing reads no row and may be refused."""

    plan: Plan
    selection: Statement | None
    sums: Statement | None
    persons: Statement | None
    rankings: tuple[Statement, ...]


def prepare(plan: Plan, rows: Rows) -> Prepared:
    """Write all statements of a plan, so that a question which an engine cannot answer is refused for free.

    It must be called before the charge.
    """
    where, keys = plan.question.where, plan.cells.trees()
    linear = [query.tree for query in plan.noises if query.tree is not None and not query.persons]
    counted = any(query.persons for query in plan.noises)
    opened = [key.code for key in plan.cells.open]
    return Prepared(
        plan,
        selection=_persons(plan, rows, marked(where), opened) if plan.selection else None,
        sums=rows.sums(where=where, keys=keys, sums=linear) if linear else None,
        persons=_persons(plan, rows, where, keys) if counted else None,
        rankings=tuple(
            rows.sums(where=where, keys=[*keys, ranking.cell()], sums=[ir.sealed("w")])
            for ranking in plan.rankings
        ),
    )


def _persons(plan: Plan, rows: Rows, where: Expression | None, keys: Sequence[Expression]) -> Statement:
    """Write the sum over persons of the weight of each, at most that of one whole row.

    Where one row of a person counts in full, the weights of all of a person's rows add up to no more than that:
    the sum of the weights is the same number, without a group for every person.
    """
    if plan.setting.rows_per_person == 1:
        return rows.sums(where=where, keys=keys, sums=[ir.sealed("w")])
    return rows.persons(where=where, keys=keys, cap=UNIT)


def execute(prepared: Prepared, engine: Engine) -> Estimates:
    """Return the answer to a question. It must be called once for each charge of the plan's losses."""
    plan = prepared.plan
    partitions = _select(prepared, engine)
    groups = plan.cells.declared * (1 if partitions is None else len(partitions))
    noisy = _measure(prepared, engine, partitions, groups)
    chosen = [
        _choose(plan, ranking, engine, statement, partitions, groups)
        for ranking, statement in zip(plan.rankings, prepared.rankings, strict=True)
    ]
    columns: list[Estimate] = []
    for formula in plan.formulas:
        match formula:
            case Linear():
                columns.append(estimates.linear(formula, noisy, plan.noises, plan.setting.alpha))
            case Mean():
                columns.append(estimates.mean(formula, noisy, plan.noises, plan.setting.alpha))
            case Spread():
                columns.append(estimates.spread(formula, noisy, plan.noises, plan.setting.alpha))
            case Joint():
                columns.append(estimates.joint(formula, noisy, plan.noises, plan.setting.alpha))
            case Rank():
                ranking = plan.ranking_of(formula)
                own = chosen[plan.rankings.index(ranking)][ranking.place(formula.probability)]
                columns.append(estimates.ranked(formula.aggregate, ranking, own))
    return Estimates(plan.cells.tuples(partitions), tuple(columns), plan.confidence)


def _select(prepared: Prepared, engine: Engine) -> list[Partition] | None:
    plan = prepared.plan
    if plan.selection is None or prepared.selection is None:
        return None
    found = engine.run(prepared.selection)
    counted = {key: int(total) for key, total in zip(found.keys, found.sums[:, 0], strict=True)}
    presence = ExactByKey(counted, partition_selection.sensitivity(plan.setting.rows_per_person))
    return plan.selection.release(presence, plan.cells.most_partitions)


def _measure(
    prepared: Prepared, engine: Engine, partitions: Sequence[Partition] | None, groups: int
) -> dict[LinearQuery, Integers]:
    plan = prepared.plan
    exact: dict[LinearQuery, Integers] = {}
    for persons, statement in ((False, prepared.sums), (True, prepared.persons)):
        if statement is not None:
            queries = [query for query in plan.noises if query.persons is persons]
            exact |= zip(queries, _vectors(plan, engine.run(statement), partitions, groups), strict=True)
    return {query: _release(plan, query, exact.pop(query)) for query in plan.noises}


def _vectors(plan: Plan, found: Groups, partitions: Sequence[Partition] | None, groups: int) -> list[Integers]:
    places = plan.cells.places(found.keys, partitions)
    return [dense(found.sums[:, j], places, groups) for j in range(found.sums.shape[1])]


def _release(plan: Plan, query: LinearQuery, values: Integers) -> Integers:
    if not len(values):  # no partition was kept
        return values
    exact = Exact(values, query.sensitivity(plan.setting.rows_per_person, len(values)))
    return cast(Integers, plan.noises[query].release(exact))


def _choose(
    plan: Plan,
    ranking: Ranking,
    engine: Engine,
    statement: Statement,
    partitions: Sequence[Partition] | None,
    groups: int,
) -> list[list[Integers]]:
    if not groups:
        return [[np.zeros(0, np.int64)] * 3] * len(ranking.probabilities)
    found = engine.run(statement)
    where = plan.cells.places([key[:-1] for key in found.keys], partitions)
    cell = np.fromiter((_cell(key[-1], ranking.cells) for key in found.keys), np.int64)
    inside = (where >= 0) & (cell >= 0)
    weight = np.clip(found.sums[:, 0], 0, LIMIT).astype(np.int64)
    return quantiles.choose(ranking, groups, where[inside], cell[inside], weight[inside])


def _cell(found: Any, cells: int) -> int:
    return found if found is not None and 0 <= found < cells else -1
