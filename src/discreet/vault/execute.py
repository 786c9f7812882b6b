"""From a plan and sealed rows to estimates: the one place where a vault's exact sums meet their noise.

The caller has charged `plan.losses`. Exact sums come from the engine, become `Exact` with the sensitivity that
their measure proves, and are opened by the plan's own mechanisms; everything afterwards is computed from what
those returned. If a plan needs texts, they are selected first, and then stand for declared groups. Groups that do
not occur are in the answer, with noise, like all others. Tested in tests/vault/test_execute.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from discreet.mechanisms import Exact
from discreet.mechanisms.exact import LIMIT, Integers
from discreet.vault import estimates, keys, quantiles
from discreet.vault.cells import dense
from discreet.vault.description import UNIT
from discreet.vault.estimates import Estimate, Estimates
from discreet.vault.formulas import Linear, Mean, Rank, Spread
from discreet.vault.keys import Text
from discreet.vault.measures import Measure
from discreet.vault.plan import Plan
from discreet.vault.quantiles import Ranking

if TYPE_CHECKING:
    from discreet.engines.contract import Engine, Groups


def execute(plan: Plan, engine: Engine, rows: str) -> Estimates:
    """Return the answer to a question. To be called once for each charge of `plan.losses`."""
    names = _texts(plan, engine, rows)
    groups = plan.cells.declared * (1 if names is None else len(names))
    noisy = _measured(plan, engine, rows, names, groups)
    ranks = iter(plan.rankings)
    columns: list[Estimate] = []
    for formula in plan.formulas:
        match formula:
            case Linear():
                columns.append(estimates.linear(formula, noisy, plan.noises, plan.setting.doubt))
            case Mean():
                columns.append(estimates.mean(formula, noisy, plan.noises, plan.setting.doubt))
            case Spread():
                columns.append(estimates.spread(formula, noisy, plan.noises, plan.setting.doubt))
            case Rank():
                ranking = next(ranks)
                chosen = _ranked(plan, ranking, engine, rows, names, groups)
                columns.append(estimates.ranked(formula.aggregate, ranking, chosen))
    return Estimates(plan.cells.tuples(names), tuple(columns), plan.confidence)


def _texts(plan: Plan, engine: Engine, rows: str) -> list[Text] | None:
    if plan.selection is None:
        return None
    where = keys.spot(plan.question.where)
    found = engine.persons(rows, where=where, keys=[key.code for key in plan.cells.open], cap=UNIT)
    presence = [int(total) for total in found.sums[:, 0]]
    return keys.select(plan.selection, cast(list[Text], found.keys), presence, plan.cells.most_names)


def _measured(
    plan: Plan, engine: Engine, rows: str, names: Sequence[Text] | None, groups: int
) -> dict[Measure, Integers]:
    trees, where = plan.cells.trees(), plan.question.where
    sums = [measure for measure in plan.noises if not measure.persons]
    exact: dict[Measure, Integers] = {}
    if sums:
        expressions = [measure.tree for measure in sums if measure.tree is not None]
        found = engine.sums(rows, where=where, keys=trees, sums=expressions)
        exact |= zip(sums, _vectors(plan, found, names, groups), strict=True)
    if counted := [measure for measure in plan.noises if measure.persons]:
        found = engine.persons(rows, where=where, keys=trees, cap=UNIT)
        exact |= zip(counted, _vectors(plan, found, names, groups), strict=True)
    return {measure: _released(plan, measure, exact.pop(measure)) for measure in plan.noises}


def _vectors(plan: Plan, found: Groups, names: Sequence[Text] | None, groups: int) -> list[Integers]:
    places = plan.cells.places(found.keys, names)
    return [dense(found.sums[:, j], places, groups) for j in range(found.sums.shape[1])]


def _released(plan: Plan, measure: Measure, values: Integers) -> Integers:
    if not len(values):  # no text was named
        return values
    exact = Exact(values, measure.sensitivity(plan.setting.rows_per_person, len(values)))
    return cast(Integers, plan.noises[measure].release(exact))


def _ranked(
    plan: Plan, ranking: Ranking, engine: Engine, rows: str, names: Sequence[Text] | None, groups: int
) -> list[Integers]:
    from discreet.vault import trees

    if not groups:
        return [np.zeros(0, np.int64)] * 3
    grouped = [*plan.cells.trees(), ranking.tree()]
    found = engine.sums(rows, where=plan.question.where, keys=grouped, sums=[trees.sealed("w")])
    where = plan.cells.places([key[:-1] for key in found.keys], names)
    cell = np.fromiter((_cell(key[-1], ranking.cells) for key in found.keys), np.int64)
    inside = (where >= 0) & (cell >= 0)
    weight = np.clip(found.sums[:, 0], 0, LIMIT).astype(np.int64)
    return quantiles.choose(ranking, groups, where[inside], cell[inside], weight[inside])


def _cell(found: Any, cells: int) -> int:
    return found if found is not None and 0 <= found < cells else -1
