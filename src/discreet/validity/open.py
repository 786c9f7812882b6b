"""Make a holdout inside of a vault, or open the one that the same parameters made before.

The order is that of every release (`discreet.kernel.spend`): the journal's file is created, the whole ρ is
charged, the journal is written, and the ledger records which journal was charged for. The same call again opens
that journal, and charges nothing. A holdout gives new answers, so it is for the account that was charged.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import Fix, ParameterError
from discreet.kernel import Job, Ready, SealedTable, amount_of, expect_delta, strictest_budget
from discreet.kernel import spend as spend_on
from discreet.kernel.journal import HOLDOUT, Journal
from discreet.ledger.charge import Charge, Standing
from discreet.ledger.costs import cost, described
from discreet.mechanisms import tails
from discreet.noise.testing import test_bits as bits_in_use
from discreet.privacy.losses import ZeroConcentrated
from discreet.query import cache_key
from discreet.rational import Rational
from discreet.release.label import Label, Noise
from discreet.release.receipt import Receipt
from discreet.validity.metric import PerRow, metric_of
from discreet.validity.theorems.concentration import count
from discreet.validity.vault_holdout import NOTE, VaultHoldout

if TYPE_CHECKING:
    from discreet.schema import Column


def holdout(
    table: SealedTable,
    target: str,
    features: Sequence[str] | None = None,
    *,
    epsilon: Rational | None = None,
    spend: str | None = None,
    metric: str | PerRow = "accuracy",
    confidence: Rational = "0.95",
    queries: int = 100,
    greater_is_better: bool = True,
    name: str = "",
    path: str | Path | None = None,
) -> VaultHoldout:
    """Make a holdout of the rows of a vault, or open the one that these parameters made before.

    Args:
        table: The sealed rows, and who pays.
        target: The column that models predict.
        features: The columns that they predict from; by default all others that are not strings.
        epsilon: The guarantee of all answers together: (epsilon, δ)-DP at the vault's δ.
        spend: A share of the whole budget instead, such as "20%".
        metric: "accuracy", "error", or a function of true and predicted values: a number in [0, 1] for each row.
        confidence: The probability that the intervals of all answers hold together.
        queries: The number of answers that share the charge.
        greater_is_better: Whether a better model has a larger metric.
        name: Tells apart two holdouts with the same parameters.
        path: The file of its journal; beside the rows by default.
    """
    metadata, scored = table.metadata, metric_of(metric, greater_is_better)
    columns, beta, k = (
        _columns(metadata.columns, target, features),
        tails.alpha(confidence),
        count(queries, "queries"),
    )
    expect_delta(strictest_budget(table.payer.balances()), "A holdout")
    rho = amount_of(table.payer.balances(), epsilon=epsilon, spend=spend)
    listed = ", ".join(columns)
    text = (
        f"holdout{f' {name!r}' if name else ''} of {listed} [rho {rho}, {scored.name}, confidence {1 - beta}, {k}]"
    )
    key = cache_key.text(metadata, text)
    named = {column: metadata.sealed_name(column) for column in columns}
    several = metadata.rows_per_person > 1
    place = _place(table, path)

    def prepare(ready: Ready) -> Job[Journal]:
        ready.rows.selection(named, several=several)
        hold, create = Journal.place(place, HOLDOUT), list[Callable[..., Journal]]()

        @contextmanager
        def held() -> Iterator[None]:
            with hold as make:
                create.append(make)
                yield

        def run(charge: Charge) -> Journal:
            facts = {
                "question": key,
                "charge": charge.number,
                "mark": metadata.fingerprint,
                "test_bits": bits_in_use() is not None,
                "analyst": table.payer.analyst,
            }
            return create[0](rho, facts)

        record = json.dumps({"holdout": str(place) if path is not None else place.name})
        return Job(ZeroConcentrated(rho), run, lambda _: record, held())

    def read(standing: Standing) -> Journal:
        return _found(table, key, json.loads(standing.answer or "")["holdout"])

    journal = spend_on(table, [key], read=read, prepare=prepare)
    try:
        engine = table.engine()
        charged = ZeroConcentrated(rho)
        receipt = Receipt(cost(charged), described(charged), table.payer.balances())
        made = Label(
            table=metadata.name,
            person=metadata.person,
            rows_per_person=1,
            columns=columns,
            noise=[Noise("the number of persons, and each score", "discrete Gaussian noise", sensitivity=1.0)],
            receipt=receipt,
            version=metadata.version,
            sealed_at=metadata.sealed_at,
            engine=metadata.engine,
            product="a score on a reusable holdout",
            notes=[NOTE, "Models predict row by row."],
        )
        return VaultHoldout(
            journal,
            engine.examples(engine.rows.selection(named, several=several)),
            columns=columns,
            metric=scored,
            beta=beta,
            queries=k,
            label=made,
            persons=metadata.person is not None,
        )
    except BaseException:
        journal.close()
        raise


def _columns(known: Mapping[str, Column], target: str, features: Sequence[str] | None) -> dict[str, Column]:
    listed = [target, *(features or ())]
    if absent := [name for name in listed if name not in known]:
        raise ParameterError(
            f"The vault has no column {absent[0]!r}.", fix=f"It has {', '.join(map(repr, known))}."
        )
    wanted = (
        [name for name, column in known.items() if column.levels is not None] if features is None else features
    )
    return {**{name: known[name] for name in wanted if name != target}, target: known[target]}


def _place(table: SealedTable, path: str | Path | None) -> Path:
    if path is not None:
        return Path(path).absolute()
    if table.folder is None:
        raise ParameterError(
            "This vault is not a directory, so it cannot hold the journal of a holdout.",
            found=table.display_name,
            fix=Fix("path", "people.holdout"),
        )
    return Path(table.folder).absolute() / f"{secrets.token_hex(8)}.holdout"


def _found(table: SealedTable, key: str, place: str) -> Journal:
    journal = Journal.open(Path(table.folder or "/").absolute() / place, HOLDOUT)
    if (journal.header["question"], journal.header["mark"]) == (key, table.metadata.fingerprint):
        if journal.header["analyst"] == table.payer.analyst:
            return journal
        journal.close()
        raise ParameterError(
            "This holdout was charged to another account, and its new answers are for that account.",
            fix=Fix("name", "mine", note="a new holdout, at its own cost"),
        )
    journal.close()
    raise ParameterError(
        f"{journal.path} is the journal of another holdout.",
        fix=["Restore the file that was there.", Fix("name", "second", note="a new holdout, at its own cost")],
    )
