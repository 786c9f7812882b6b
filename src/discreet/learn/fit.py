"""Fit an estimator to the rows of a vault, for one charge.

    task, price ─▶ plan (may refuse, free) ─▶ charge ─▶ read the rows, draw the noise ─▶ record ─▶ model

The order is that of every release (`discreet.kernel.spend`). The same fit again is answered from the record, and
costs nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from sklearn.base import clone

from discreet.errors import Fix, ParameterError
from discreet.kernel import Job, Ready, SealedTable, strictest_budget, vault_budget
from discreet.kernel import spend as spend_on
from discreet.learn.estimator import PrivateEstimator
from discreet.learn.label import vault_label
from discreet.learn.price import Price
from discreet.learn.threads import one_thread
from discreet.learn.training import Progress, Task, silent
from discreet.query import cache_key
from discreet.rational import Rational

if TYPE_CHECKING:
    from discreet.ledger.balance import Balance
    from discreet.ledger.charge import Charge, Standing
    from discreet.schema.metadata import TableMetadata

Estimator = TypeVar("Estimator", bound=PrivateEstimator)

_MONEY = ("epsilon", "delta", "columns", "classes", "target_column")
"""Parameters of `fit(X, y)` that a vault decides instead."""


def fit(
    table: SealedTable,
    estimator: Estimator,
    *,
    target: str,
    features: Sequence[str] | None = None,
    epsilon: Rational | None = None,
    spend: str | None = None,
    progress: Progress | None = None,
) -> Estimator:
    """Return a fitted copy of an estimator. It is one charge, and the same call again is free.

    Args:
        table: The sealed rows, and who pays.
        estimator: What to fit, such as `LogisticRegression()`.
        target: The column to predict.
        features: The columns to predict from; by default all others that are not strings.
        epsilon: The guarantee of this model alone: it is (epsilon, δ)-DP at the vault's δ.
        spend: A share of the whole budget instead, such as "20%".
        progress: Called with what is being done and the share that is done.
    """
    if not isinstance(estimator, PrivateEstimator):
        raise ParameterError(
            "A vault fits private estimators only: another one would remember persons.",
            found=type(estimator).__name__,
            fix="Use one of discreet.learn, such as LogisticRegression().",
        )
    metadata = table.metadata
    task = _task(metadata, target, features)
    balances = table.payer.balances()
    price = Price.of(balances, epsilon, spend)
    made: Estimator = clone(estimator)
    keys = [cache_key.text(metadata, _text(made, task, one)) for one in _prices(balances, epsilon, spend, price)]

    def prepare(ready: Ready) -> Job[Estimator]:
        training = made.plan(task, price)
        named = {name: metadata.sealed_name(name) for name in (*task.features, task.target)}
        selection = ready.rows.selection(named, several=metadata.rows_per_person > 1)

        def run(charge: Charge) -> Estimator:
            tell = progress or silent
            tell("reading rows", 0.0)
            with one_thread():
                state = training.run(ready.engine.examples(selection), tell)
            tell("done", 1.0)
            return made.released(task, state, vault_label(metadata, task, training, price, charge))

        return Job(training.losses, run=run, write=_written)

    def read(standing: Standing) -> Estimator:
        found = type(made).from_json(json.loads(standing.answer or ""))
        return made.released(found.task_, found.state_, found.label.now(*standing.balances), free=True)

    return spend_on(table, keys, read=read, prepare=prepare)


def _prices(balances: Sequence[Balance], epsilon: Rational | None, spend: str | None, own: Price) -> list[Price]:
    """Return the prices whose records are looked up: that of the vault as a whole, and one's own."""
    if strictest_budget(balances).pure == vault_budget(balances).pure:
        return [own]
    with suppress(ParameterError):
        return [Price.of(balances[:1], epsilon, spend), own]
    return [own]


def _text(estimator: PrivateEstimator, task: Task, price: Price) -> str:
    """Return the text by which the ledger knows a fit: what is learnt, from what, how, and for how much."""
    parameters = {name: value for name, value in estimator.get_params().items() if name not in _MONEY}
    facts = [
        repr(sorted(parameters.items())),
        list(task.features),
        str(price.epsilon),
        str(price.rho),
        price.proves,
    ]
    digest = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]
    amount = f"epsilon {price.epsilon}" if price.pure else f"rho {price.rho}"
    return f"{type(estimator).__name__} of {task.target} from {', '.join(task.features)} [{amount}, {digest}]"


def _written(model: PrivateEstimator) -> str | None:
    return None if model.test_bits else json.dumps(model.to_json(), ensure_ascii=False, allow_nan=False)


def _task(metadata: TableMetadata, target: str, features: Sequence[str] | None) -> Task:
    known = {name.casefold(): name for name in metadata.columns}

    def named(name: str) -> str:
        if str(name).casefold() not in known:
            raise ParameterError(
                f"The table {metadata.name!r} has no column {name!r}.",
                fix=f"It has {', '.join(map(repr, metadata.columns))}.",
            )
        return known[str(name).casefold()]

    wanted = named(target)
    if features is None:
        listed = [
            name for name, column in metadata.columns.items() if name != wanted and column.levels is not None
        ]
    else:
        listed = [named(name) for name in ([features] if isinstance(features, str) else features)]
    if wanted in listed:
        raise ParameterError(
            "The target is not one of its own features.",
            found=repr(wanted),
            fix=Fix("features", [name for name in listed if name != wanted]),
        )
    several = metadata.person is not None
    return Task(
        {name: metadata.columns[name] for name in listed}, wanted, metadata.columns[wanted], several=several
    )
