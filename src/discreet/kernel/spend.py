"""Look up, refuse, charge, run, record: the only code that charges a ledger and records a release.

    spend ─▶ recorded? return it, free ─▶ engine and rows, prepare (may refuse, free) ─▶ charge ─▶ run ─▶ record

Claims.

* Test bits (`noise.deterministic`, `scripted`) answer for a vault that was sealed for tests, inside of such a
  block, and for no other: predictable noise would show the exact values. This is refused first.
* A release that is recorded under one of the keys is returned to every analyst of the vault, whatever their
  account may pay for, and costs nothing: what was released is public.
* A refusal costs nothing. Rows that cannot be asked, and whatever `prepare` refuses, are met before the charge.
* The charge is durable before `run` may draw noise. A crash afterwards leaks nothing. The release is recorded
  before the caller sees it, unless it was made from test bits, which are never recorded.
* One charge shows one answer. If the ledger cannot record it, the error says that it was charged, the process
  keeps the answer, and the next attempt records this same answer on this same charge. No noise is drawn again.
* An interrupt (Ctrl-C) after the charge says that the charge stays, and where to see it (`STAYS`).
* If the process is killed before it recorded the answer, the same question at the same price, asked by the same
  accounts, resumes the charge: it runs again with fresh noise and pays nothing. Only a *silent* job does.

**Why a resumed charge is as private as one answer.** Say a job was attempted T times, with independent draws X₁,
X₂, … The ledger takes one release for each charge, and nothing of an attempt leaves the process before its
release is recorded: an attempt that finds the charge closed by another process returns what that one recorded.
So X_T alone is seen. If T does not depend on the draws, X_T has the law of X₁, and its cost is that of one draw.
Three things make T independent of them. A silent `run` shows and writes nothing, and does the same work whatever
it draws, so that a kill from outside does not depend on the draws either (assumed: the machine kills no process
for what is in its memory). If `run` or `write` raises, which might depend on the noise, the charge is closed
(`Ledger.fail`) before the error is seen: it stays spent and is never resumed. And where the ledger cannot even
be told that, the caller gets the same words as for a record that failed. A job that is not silent (a journal is
written, progress is shown) is never resumed in another process: what it showed may have been seen.

`tests/test_layers.py` sees that no other module calls `Ledger.reserve` or `Ledger.record`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast

from discreet.errors import AnswerUnrecorded, BudgetExceeded, LedgerUnavailable, NotForRelease, ParameterError
from discreet.kernel.refusal import with_share
from discreet.ledger.balance import Balance
from discreet.ledger.charge import Charge, Standing
from discreet.noise.testing import test_bits as bits_in_use
from discreet.privacy.losses import Losses

if TYPE_CHECKING:
    from discreet.engines.engine import Engine
    from discreet.engines.statement import Rows
    from discreet.kernel.sealed_table import SealedTable

R = TypeVar("R")

STAYS = (
    "This was stopped after it was charged. The charge stays, because noise may have been drawn, and the same "
    "again is charged again. To see it: vault.ledger, or discreet ledger VAULT."
)
"""The note of an interrupt after the charge."""


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
        silent: Whether `run` shows and writes nothing before it returns, and does the same work whatever noise it
            draws, which an adaptive algorithm does not. Then a charge whose process was killed is resumed. False
            by default.
        time: The time of the charge; now by default. A step that follows another one of the same question has the
            time of the first, because rows were read since.
    """

    losses: Losses
    run: Callable[[Charge], R]
    write: Callable[[R], str | None]
    hold: AbstractContextManager[Any] = field(default_factory=nullcontext)
    silent: bool = False
    time: str | None = None


@dataclass(frozen=True)
class _Kept:
    """An answer that was charged and could not be recorded: it stays in this process, and nothing has shown it."""

    charge: Charge
    record: str
    result: Any = field(repr=False)
    silent: bool = False


_Place: TypeAlias = tuple[str, str, str | None, str | None]
"""The first entry of a ledger, which no other has, a key, and the analyst and the purpose who were charged.

So a vault that is opened again finds what is kept, and another account does not: an oracle, a holdout or a stream
gives new answers, and is for the account that paid.
"""
_kept: dict[_Place, _Kept] = {}


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
    _refuse_test_bits(table)
    for key in keys:
        standing = table.payer.standing(key)
        if standing.answer is not None:
            return read(standing)
    place = (table.payer.ledger.first.hash, keys[-1], table.payer.analyst, table.payer.purpose)
    if (kept := _kept.get(place)) is not None:
        _record(table, place, kept)
        return cast(R, kept.result)
    engine = table.engine()
    rows = engine.rows  # an engine whose rows cannot be asked refuses here, before the charge
    job = prepare(Ready(engine, rows, standing.balances))
    resumable = job.silent and bits_in_use() is None  # what test bits made is shown, and never recorded
    with job.hold:
        charge = _charged(table, job, keys[-1], resumable)
        with _telling(), _closing(table, charge) if resumable else nullcontext():
            result = job.run(charge)
            record = job.write(result)
            if resumable and record is None:
                raise AssertionError("a silent job shows nothing that it does not record")
    if record is None:
        return result
    if not _record(table, place, _Kept(charge, record, result, resumable)):
        return read(table.payer.standing(keys[-1]))  # another process was faster
    return result


def _refuse_test_bits(table: SealedTable) -> None:
    if bits_in_use() is not None and not table.payer.ledger.for_tests:
        raise NotForRelease(
            "This vault is real, and predictable noise would show its exact values. Nothing was computed.",
            found="a call inside of noise.deterministic(…)",
            fix="Ask outside of the block, or seal a vault for tests inside of it.",
        )


def _record(table: SealedTable, place: _Place, kept: _Kept) -> bool:
    """Record an answer, and return whether it is the one that its charge shows. Keep it until it is recorded."""
    _kept[place] = kept
    try:
        table.payer.record(kept.charge, kept.record)
    except LedgerUnavailable as error:
        raise _unrecorded(error, kept.silent) from error
    except ParameterError:
        del _kept[place]
        if table.payer.standing(kept.charge.question).answer is None:
            raise  # another process resumed the charge, failed, and has shown that
        return False
    del _kept[place]
    return True


@contextmanager
def _telling() -> Iterator[None]:
    """Note on an interrupt that the charge stays."""
    try:
        yield
    except KeyboardInterrupt as stop:
        stop.add_note(STAYS)
        raise


@contextmanager
def _closing(table: SealedTable, charge: Charge) -> Iterator[None]:
    """Close the charge if the block raises, before the error is seen."""
    try:
        yield
    except BaseException as failure:
        try:
            table.payer.fail(charge, type(failure).__name__)
        except LedgerUnavailable as error:
            raise _unrecorded(error, True) from None  # not the failure: it might depend on the noise
        except ParameterError:
            pass  # another process resumed the charge, and has closed it
        raise


def _unrecorded(error: LedgerUnavailable, silent: bool) -> AnswerUnrecorded:
    where = "" if silent else ", in this process"
    return AnswerUnrecorded(
        f"This was charged, but the answer could not be recorded, so it is not shown. {error.problem}",
        found=error.found,
        fix=[*error.fixes, f"Then ask the same again{where}: it is not charged a second time."],
    )


def _charged(table: SealedTable, job: Job[Any], key: str, resumable: bool) -> Charge:
    """Charge the accounts. A refusal offers a share of the budget that fits."""
    table.payer.ledger.expect_right_to_record()
    try:
        return table.payer.reserve(job.losses, key, resumable=resumable, time=job.time)
    except BudgetExceeded as error:
        raise with_share(error, table.payer.balances()) from None
