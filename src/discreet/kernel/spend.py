"""Look up, refuse, charge, run, record: the only code that charges a ledger and records a release.

    spend ─▶ recorded? return it, free ─▶ engine and rows, prepare (may refuse, free) ─▶ charge ─▶ run ─▶ record

Claims.

* A release that is recorded under one of the keys is returned to every analyst of the vault, whatever their
  account may pay for, and costs nothing: what was released is public.
* A refusal costs nothing. Rows that cannot be asked, and whatever `prepare` refuses, are met before the charge.
* The charge is durable before `run` may draw noise. A crash afterwards wastes budget and leaks none. The release
  is recorded before the caller sees it, unless it was made from test bits, which are never recorded.
* Two processes that spend on one key at the same moment may both be charged; neither sees what it has not paid
  for.

`tests/test_layers.py` sees that no other module calls `Ledger.reserve` or `Ledger.record`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from discreet.errors import BudgetExceeded
from discreet.kernel.refusal import with_share
from discreet.ledger.balance import Balance
from discreet.ledger.charge import Charge, Standing
from discreet.privacy.losses import Losses

if TYPE_CHECKING:
    from discreet.engines.engine import Engine
    from discreet.engines.statement import Rows
    from discreet.kernel.sealed_table import SealedTable

R = TypeVar("R")


@dataclass(frozen=True)
class Ready:
    """What a release is prepared with: an engine whose rows can be asked, and the accounts that would pay.

    Args:
        engine: The engine. Nothing is asked of it before the charge.
        rows: Its rows, as statements name them.
        balances: The accounts that would pay, that of the whole vault first.
    """

    engine: Engine
    rows: Rows
    balances: tuple[Balance, ...]


@dataclass(frozen=True)
class Job(Generic[R]):
    """What is charged and then run. To make one touches no row, and may be refused.

    Args:
        losses: What is charged.
        run: Draws the noise and returns the result. Called once, after the charge.
        write: Returns the result as the ledger records it; None if it must not be recorded.
        hold: Taken before the charge and given back after the run, such as a file that the result will need.
    """

    losses: Losses
    run: Callable[[Charge], R]
    write: Callable[[R], str | None]
    hold: AbstractContextManager[Any] = field(default_factory=nullcontext)


def spend(
    table: SealedTable,
    keys: Sequence[str],
    *,
    read: Callable[[Standing], R],
    prepare: Callable[[Ready], Job[R]],
) -> R:
    """Return the recorded release, or charge for a new one.

    Args:
        table: The rows, and who pays.
        keys: The canonical texts that the ledger knows the release by. The last one is charged; the others are
            looked up as well.
        read: Returns the release from its record, beside the accounts as they are now.
        prepare: Returns the job for an engine whose rows can be asked. Whatever it refuses is free.
    """
    for key in keys:
        standing = table.payer.standing(key)
        if standing.answer is not None:
            return read(standing)
    engine = table.engine()
    rows = engine.rows  # an engine whose rows cannot be asked refuses here, before the charge
    job = prepare(Ready(engine, rows, standing.balances))
    with job.hold:
        charge = _charged(table, job.losses, keys[-1])
        result = job.run(charge)
    if (record := job.write(result)) is not None:
        table.payer.record(charge, record)
    return result


def _charged(table: SealedTable, losses: Losses, key: str) -> Charge:
    """Charge the accounts. A refusal offers a share of the budget that fits."""
    try:
        return table.payer.reserve(losses, key)
    except BudgetExceeded as error:
        raise with_share(error, table.payer.balances()) from None
