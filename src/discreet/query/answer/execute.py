"""From a plan and sealed rows to estimates: the one place where a vault's exact sums meet their noise.

What the engine will be asked is written out before the charge (`prepare`), and run after it. Exact sums come from
the engine, become `Exact` with the sensitivity that their measure proves, and are opened by the plan's own
mechanisms; everything afterwards is computed from what those returned. If a plan needs texts, they are selected
first, and then stand for declared groups. Groups that do not occur are in the answer, with noise, like all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from discreet.mechanisms import Exact
from discreet.mechanisms.exact import LIMIT, Integers
from discreet.query import ir
from discreet.query.answer import estimates
from discreet.query.answer.estimates import Estimate, Estimates
from discreet.query.plan import partition_selection as keys
from discreet.query.plan import quantiles
from discreet.query.plan.estimators import Linear, Mean, Rank, Spread
from discreet.query.plan.group_index import dense
from discreet.query.plan.linear_queries import LinearQuery
from discreet.query.plan.partition_selection import Text, spot
from discreet.query.plan.plan import Plan
from discreet.query.plan.quantiles import Ranking
from discreet.schema.metadata import UNIT

if TYPE_CHECKING:
    from discreet.engines.engine import Engine, Groups
    from discreet.engines.statement import Rows, Statement


@dataclass(frozen=True)
class Prepared:
    """A plan with the statements that it will have run. To make one touches no row and may be refused."""

    plan: Plan
    texts: Statement | None
    sums: Statement | None
    persons: Statement | None
    rankings: tuple[Statement, ...]


def prepare(plan: Plan, rows: Rows) -> Prepared:
    """Write out everything that the engine will be asked, so that what cannot be asked is refused before it costs.

    To be called before anything is charged.
    """
    where, keys = plan.question.where, plan.cells.trees()
    linear = [measure.tree for measure in plan.noises if measure.tree is not None and not measure.persons]
    counted = any(measure.persons for measure in plan.noises)
    texts = [key.code for key in plan.cells.open]
    return Prepared(
        plan,
        texts=rows.persons(where=spot(where), keys=texts, cap=UNIT) if plan.selection is not None else None,
        sums=rows.sums(where=where, keys=keys, sums=linear) if linear else None,
        persons=rows.persons(where=where, keys=keys, cap=UNIT) if counted else None,
        rankings=tuple(
            rows.sums(where=where, keys=[*keys, ranking.tree()], sums=[ir.sealed("w")])
            for ranking in plan.rankings
        ),
    )


def execute(prepared: Prepared, engine: Engine) -> Estimates:
    """Return the answer to a question. To be called once for each charge of the plan's losses."""
    plan = prepared.plan
    names = _texts(prepared, engine)
    groups = plan.cells.declared * (1 if names is None else len(names))
    noisy = _measured(prepared, engine, names, groups)
    ranks = zip(plan.rankings, prepared.rankings, strict=True)
    columns: list[Estimate] = []
    for formula in plan.formulas:
        match formula:
            case Linear():
                columns.append(estimates.linear(formula, noisy, plan.noises, plan.setting.alpha))
            case Mean():
                columns.append(estimates.mean(formula, noisy, plan.noises, plan.setting.alpha))
            case Spread():
                columns.append(estimates.spread(formula, noisy, plan.noises, plan.setting.alpha))
            case Rank():
                ranking, statement = next(ranks)
                chosen = _ranked(plan, ranking, engine, statement, names, groups)
                columns.append(estimates.ranked(formula.aggregate, ranking, chosen))
    return Estimates(plan.cells.tuples(names), tuple(columns), plan.confidence)


def _texts(prepared: Prepared, engine: Engine) -> list[Text] | None:
    plan = prepared.plan
    if plan.selection is None or prepared.texts is None:
        return None
    found = engine.run(prepared.texts)
    presence = [int(total) for total in found.sums[:, 0]]
    return keys.select(plan.selection, cast(list[Text], found.keys), presence, plan.cells.most_names)


def _measured(
    prepared: Prepared, engine: Engine, names: Sequence[Text] | None, groups: int
) -> dict[LinearQuery, Integers]:
    plan = prepared.plan
    exact: dict[LinearQuery, Integers] = {}
    for persons, statement in ((False, prepared.sums), (True, prepared.persons)):
        if statement is not None:
            asked = [measure for measure in plan.noises if measure.persons is persons]
            exact |= zip(asked, _vectors(plan, engine.run(statement), names, groups), strict=True)
    return {measure: _released(plan, measure, exact.pop(measure)) for measure in plan.noises}


def _vectors(plan: Plan, found: Groups, names: Sequence[Text] | None, groups: int) -> list[Integers]:
    places = plan.cells.places(found.keys, names)
    return [dense(found.sums[:, j], places, groups) for j in range(found.sums.shape[1])]


def _released(plan: Plan, measure: LinearQuery, values: Integers) -> Integers:
    if not len(values):  # no text was named
        return values
    exact = Exact(values, measure.sensitivity(plan.setting.rows_per_person, len(values)))
    return cast(Integers, plan.noises[measure].release(exact))


def _ranked(
    plan: Plan,
    ranking: Ranking,
    engine: Engine,
    statement: Statement,
    names: Sequence[Text] | None,
    groups: int,
) -> list[Integers]:
    if not groups:
        return [np.zeros(0, np.int64)] * 3
    found = engine.run(statement)
    where = plan.cells.places([key[:-1] for key in found.keys], names)
    cell = np.fromiter((_cell(key[-1], ranking.cells) for key in found.keys), np.int64)
    inside = (where >= 0) & (cell >= 0)
    weight = np.clip(found.sums[:, 0], 0, LIMIT).astype(np.int64)
    return quantiles.choose(ranking, groups, where[inside], cell[inside], weight[inside])


def _cell(found: Any, cells: int) -> int:
    return found if found is not None and 0 <= found < cells else -1
