"""Open a stream that a vault pays for: one charge for everything that it ever shows.

The persons of a vault go on living: their events arrive after the table was sealed. A stream about them is charged
to the vault's ledger once, by `kernel.spend`, so that the budget of a person covers both. The same call again
opens the same stream, where its file says that it stopped, and costs nothing. The state lies in the vault's
directory, and is as secret as the rows. The ledger counts what a person loses, so the unit of a stream is a person
where the vault has persons: the charge covers so many events of one person as the unit says. If the process is
killed between charge and record, the charge is wasted and nothing was shown.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import Code, Fix, ParameterError
from discreet.kernel import Job, Ready, SealedTable, amount_of, strictest_budget
from discreet.kernel import spend as spend_on
from discreet.kernel.journal import RESTORE
from discreet.ledger.charge import Charge, Standing
from discreet.ledger.costs import cost, described
from discreet.noise.testing import test_bits as bits_in_use
from discreet.privacy.losses import Pure, ZeroConcentrated
from discreet.query import cache_key
from discreet.rational import Rational, shown
from discreet.release.receipt import Receipt
from discreet.stream.counter import Counter
from discreet.stream.factorisations.units import Person, Unit, unit_of
from discreet.stream.histogram import Histogram, checked_keys
from discreet.stream.terms import Terms, checked_horizon
from discreet.stream.windowed import Windowed

if TYPE_CHECKING:
    from discreet.stream.session import Session


def stream(
    table: SealedTable,
    name: str,
    *,
    epsilon: Rational | None = None,
    spend: str | None = None,
    horizon: int | None = None,
    keys: Sequence[str] | None = None,
    window: int | None = None,
    unit: Unit | None = None,
    pan_private: bool = False,
    confidence: Rational = "0.95",
    path: str | Path | None = None,
) -> Any:
    """Make a stream that a vault pays for, or open the one that these parameters made before.

    Args:
        table: The sealed rows, and who pays.
        name: The name of the stream; the same name and terms open the same stream.
        epsilon: The guarantee of everything that the stream shows, at the vault's δ.
        spend: A share of the whole budget instead, such as "5%".
        horizon: The number of ticks; None, the default, for a stream without end.
        keys: The keys of a histogram; none by default, for a single count.
        window: The ticks of a sliding window; none by default, for a running total.
        unit: What is protected; by default a person with as many events as the vault allows rows.
        pan_private: Whether the state is private at every moment; not by default.
        confidence: The confidence of each interval; 0.95 by default.
        path: The file of its state; beside the rows by default.
    """
    metadata = table.metadata
    if metadata.person is not None and unit == "event":
        raise ParameterError(
            "The ledger of this vault protects persons, and a person may cause several events.",
            found=shown(unit),
            fix=[
                Fix("unit", Code(f"Person(events={max(2, metadata.rows_per_person)})")),
                Fix("unit", Code("Person(events=1)"), note="if a person causes one event at most"),
            ],
        )
    person = unit_of(unit) if unit is not None else Person(events=metadata.rows_per_person)
    loss = _loss(table, epsilon, spend)
    if window is not None and (keys is not None or pan_private or horizon is not None):
        raise ParameterError(
            "A window counts without keys, without a horizon and without pan privacy.",
            found=f"window={window}",
            fix=Fix("window", None),
        )
    _expect_name(name)
    common: dict[str, Any] = {"unit": person, "confidence": confidence, "name": name}
    chosen = None if keys is None else checked_keys(keys)
    what = f"horizon {checked_horizon(horizon)}" if window is None else f"window {window}"
    over = "" if chosen is None else f" over {json.dumps(chosen)}"
    private = ", pan-private" if pan_private else ""
    text = cache_key.text(metadata, f"stream {name!r}{over} [{loss}, {what}, {person.words}{private}]")

    def made(place: Path | None) -> Session:
        terms = Terms(loss, _receipt(loss, table), name, metadata.person)
        if window is not None:
            return Windowed(window, terms=terms, path=place, **common)
        options = {**common, "horizon": horizon, "pan_private": pan_private, "terms": terms, "path": place}
        return Counter(**options) if chosen is None else Histogram(chosen, **options)

    def prepare(ready: Ready) -> Job[Session]:
        del ready
        place = _place(table, path)
        made(None)  # whatever the terms are refused for, they are refused before the charge
        return _job(table, loss, place, path, made)

    return spend_on(table, [text], read=lambda standing: _found(table, standing, made), prepare=prepare)


def _loss(table: SealedTable, epsilon: Rational | None, spend: str | None) -> Pure | ZeroConcentrated:
    balances = table.payer.balances()
    amount: Fraction = amount_of(balances, epsilon=epsilon, spend=spend)
    return Pure(amount) if strictest_budget(balances).pure else ZeroConcentrated(amount)


def _receipt(loss: Pure | ZeroConcentrated, table: SealedTable) -> Receipt:
    return Receipt(cost=cost(loss), losses=described(loss), balances=table.payer.balances())


def _job(
    table: SealedTable,
    loss: Pure | ZeroConcentrated,
    place: Path,
    path: str | Path | None,
    made: Callable[[Path | None], Session],
) -> Job[Session]:
    """Return the job that makes a stream: the file is written after the charge, and recorded then."""
    named = str(place) if path is not None else place.name  # a vault that is moved takes its streams along
    who = {"analyst": table.payer.analyst, "purpose": table.payer.purpose}

    def run(charge: Charge) -> Session:
        del charge
        return made(place)

    def write(result: Session) -> str | None:
        del result
        return None if bits_in_use() is not None else json.dumps({"stream": named, **who})

    return Job(loss, run, write)


def _found(table: SealedTable, standing: Standing, made: Callable[[Path | None], Session]) -> Session:
    """Open the file that was charged for. New values are for the account that paid."""
    record = json.loads(standing.answer or "")
    if (record["analyst"], record["purpose"]) != (table.payer.analyst, table.payer.purpose):
        raise ParameterError(
            "This stream was charged to another account, and its values are for that account.",
            fix=["Open the vault with that analyst and purpose.", Fix("name", "mine", note="at its own cost")],
        )
    place = _folder(table) / record["stream"]
    if not place.exists():
        raise ParameterError(
            "The state of this stream is gone, and its whole budget counts as spent.",
            found=place,
            fix=[Fix("name", "second", note="at its own cost"), RESTORE],
        )
    return made(place)


def _place(table: SealedTable, path: str | Path | None) -> Path:
    if path is None and table.folder is None:
        raise ParameterError(
            "This vault is not a directory, so it cannot hold the state of a stream.",
            found=table.display_name,
            fix=Fix("path", "visits.stream"),
        )
    place = Path(path).absolute() if path is not None else _folder(table) / f"{secrets.token_hex(8)}.stream"
    if not os.access(place.parent, os.W_OK):
        raise ParameterError(
            "The state of the stream cannot be kept in this directory.",
            found=place.parent,
            fix=Fix("path", "visits.stream", note="in a directory that can be written"),
        )
    if place.exists():
        raise ParameterError(
            "The state of a new stream needs a new file.", found=place, fix=Fix("path", "another.stream")
        )
    return place


def _folder(table: SealedTable) -> Path:
    return Path(table.folder or "/").absolute()


def _expect_name(name: Any) -> None:
    if not isinstance(name, str) or not name:
        raise ParameterError("A stream needs a name.", found=shown(name), fix=Fix("name", "visits"))
