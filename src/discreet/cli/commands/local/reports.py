"""Define `discreet local encode` and `aggregate`: turn values into reports, and reports into counts.

`discreet local estimate` turns counts into shares (`local_estimate`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import local_options, output
from discreet.cli.exit_codes import CAUGHT
from discreet.cli.fixes import rendered
from discreet.cli.local_options import File, Labels, Public
from discreet.cli.progress import one_by_one, stages
from discreet.errors import BudgetExceeded, DiscreetError, Fix, LedgerUnavailable

if TYPE_CHECKING:
    from discreet.local.collection.collection import Collection
    from discreet.local.device.device import Device
    from discreet.local.protocols.protocol import Coded
    from discreet.local.server.aggregator import Aggregator

_REASONS = 3  # how many reasons for silent devices are shown
_UNSHUFFLED = "Reports from a shuffler have no ids: --no-identified counts them, each time they are given."
_REMEDIES = {
    "malformed": "A malformed file is not a batch: name the file that discreet local encode wrote with --out.",
    "other collection": "Reports name their collection: count them with the one that they were made for.",
    "invalid payload": "The protocol does not make such payloads: they were changed after they were sent.",
    "without id": _UNSHUFFLED,
}


def encode(
    collection: File,
    values: Annotated[
        Path, typer.Argument(metavar="VALUES", help="A text file with one value on each line, or a CSV file.")
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The file for the batch of reports.")],
    column: Annotated[str | None, typer.Option(help="The column of a CSV file that has the values.")] = None,
    devices: Annotated[
        Path | None,
        typer.Option(
            metavar="DIRECTORY", help="Report through devices kept here, one for each line, with memory."
        ),
    ] = None,
    lifetime: Annotated[
        str | None,
        typer.Option(help="With --devices: the ε of a device's life. [that of this collection]"),
    ] = None,
    per_period: Annotated[
        str | None, typer.Option(help="With --devices: the ε of a device's day. [that of its life]")
    ] = None,
    identified: Annotated[bool, typer.Option(help="Give every report an id, so that it is counted once.")] = True,
    on: Annotated[str | None, typer.Option("--day", metavar="DAY", help="The day of the reports. [today]")] = None,
    public: Public = None,
    labels: Labels = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> None:
    """Make reports of values, as devices would: for tests, and for values that are already collected.

    Every line is another person and makes one report. With --devices, each person has a secret and a ledger in
    that directory: the same line tomorrow is the same device, which answers as before or stops when its ε is
    spent. Devices that stop are counted, and the others report. An existing file is not overwritten.

    [bold]Examples[/bold]

    [cyan]discreet local encode cheating.json answers.csv --column cheated --out monday.batch[/cyan]

    [cyan]discreet local encode cheating.json answers.txt --devices phones --out monday.batch[/cyan]
    """
    from discreet.local.device.device import Device
    from discreet.local.device.wire import batch, frames

    output.expect_writable("--out", out)
    if out.exists():
        raise DiscreetError(
            "The file for --out exists already, and its reports would be lost.", found=out, fix="Name a new file."
        )
    when = local_options.day("--day", on) or datetime.now(UTC).date()
    asked = local_options.opened(collection, public, labels, on=when)
    if not asked.open_on(when):
        raise DiscreetError(
            f"{asked.name!r} collects from {asked.window[0]} to {asked.window[1]}.",
            found=when,
            fix=Fix("day", asked.window[0]),
        )
    if devices is None and (lifetime is not None or per_period is not None):
        raise DiscreetError(
            "--lifetime and --per-period are limits of devices, which are missing.", fix=Fix("devices", "phones")
        )
    if devices is not None and not identified:
        raise DiscreetError(
            "Devices give every report an id.", fix=[Fix("no_identified", None), Fix("devices", None)]
        )
    held = local_options.lines(values, column)
    if column is None:
        local_options.expect_no_heads(asked, values, held)
    coded = local_options.coded(asked, held)
    silent: Counter[str] = Counter()
    if devices is not None:
        life = lifetime or asked.lifetime
        one = partial(Device, lifetime=life, per_period=per_period or life, today=lambda: when)
        reports: Any = _through_devices(asked, _values(asked, held, coded), devices, one, silent)
    else:
        import numpy as np

        parts = [np.zeros((0, asked.randomiser.payload_bytes), np.uint8)]
        with stages() as told:
            for piece in local_options.chunks(len(held)):
                parts.append(asked.randomiser.encode(coded[piece]))
                if told:
                    told("reporting", min(1.0, piece.stop / len(held)))
        reports = frames(asked, np.concatenate(parts), identified=identified)
    local_options.replaced(out, batch(reports))
    if as_json:
        output.data(
            {
                "reports": len(reports),
                "silent": silent.total(),
                "bytes": out.stat().st_size,
                "file": str(out),
                "day": str(when),
            }
        )
        return
    output.say(f"Wrote {local_options.some(len(reports), 'report')} to {out} ({out.stat().st_size:,} bytes).")
    for reason, count in silent.most_common(_REASONS):
        were = "was" if count == 1 else "were"
        output.say(f"{local_options.some(count, 'device')} {were} silent: {reason}")


def aggregate(
    collection: File,
    sources: Annotated[
        list[Path],
        typer.Argument(metavar="FILE…", help="Batches, states of other servers, or .parquet of payloads."),
    ],
    state: Annotated[Path, typer.Option(metavar="FILE", help="The file for the counts.")],
    add: Annotated[bool, typer.Option(help="Add to the counts of an existing file.")] = False,
    received: Annotated[
        str | None, typer.Option(metavar="DAY", help="The day of arrival, for reports without one.")
    ] = None,
    period: Annotated[
        str | None,
        typer.Option(metavar="DAY", help="Count only the period of this day: one report of each device."),
    ] = None,
    identified: Annotated[
        bool, typer.Option(help="Refuse reports without an id. Those from a shuffler have none.")
    ] = True,
    column: Annotated[str, typer.Option(help="The column of a Parquet file that has the payloads.")] = "payload",
    public: Public = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> None:
    """Count reports into a state, without keeping them. States of several servers add up.

    Everything that is not a report of this collection is refused, and counted by the reason. A report is counted
    once, by its id. With --period, reports of other days are refused, and reports without a day (and without
    --received) are counted in the period. Its errors are smaller than those of counts in which a device may occur
    several times.

    [bold]Examples[/bold]

    [cyan]discreet local aggregate cheating.json monday.batch tuesday.batch --state week.state[/cyan]

    [cyan]discreet local aggregate cheating.json wednesday.batch --state week.state --add[/cyan]

    [cyan]discreet local aggregate cheating.json north.state south.state --state all.state[/cyan]

    [cyan]discreet local aggregate cheating.json monday.batch --period 2026-05-04 --state monday.state[/cyan]

    Exit status: 1 = all reports were refused, so no state was written or changed.
    """
    from discreet.local.server.aggregator import Aggregator

    output.expect_writable("--state", state)
    if state.exists() and not add:
        raise DiscreetError(
            "The file for --state exists already.",
            found=state,
            fix=[Fix("add", True, note="counts into it"), "Or name a new file."],
        )
    missing = [str(file) for file in sources if not file.exists()]
    if missing:
        raise DiscreetError("A file does not exist. Nothing was counted.", found=", ".join(missing))
    arrived = local_options.day("--received", received)
    asked = local_options.opened(collection, public, named=False)
    whole = Aggregator(asked, identified=identified, period=local_options.day("--period", period))
    counted = local_options.state(state, asked, identified=identified) if state.exists() else whole
    if period is not None and counted.period != whole.period:
        raise DiscreetError(
            f"{state} does not hold the period of {period}.", fix=[Fix("period", None), Fix("add", None)]
        )
    before, refused_before = counted.n, Counter(counted.rejected)
    jobs = [(file.name, partial(_count, counted, file, arrived, column)) for file in sources]
    for _ in one_by_one(jobs, quiet=as_json):
        pass
    refused = {reason: count for reason, count in counted.rejected.items() if count}
    now = Counter(counted.rejected) - refused_before
    useless = counted.n == before and now.total() > 0 and not now["replayed"]  # replays are in the state already
    if not useless:
        local_options.replaced(state, counted.written())
    if as_json:
        output.data(
            {
                "reports": counted.n,
                "new": counted.n - before,
                "refused": refused,
                "repeated": counted.repeated,
                "period": None if counted.period is None else [str(day) for day in counted.period],
                "file": None if useless else str(state),
            }
        )
    if useless:
        typer.echo(f"discreet: {_nothing_counted(counted, now, sources, state)}", err=True)
        raise typer.Exit(CAUGHT)
    if as_json:
        return
    are = "is" if counted.n == 1 else "are"
    output.say(f"{local_options.some(counted.n, 'report')} {are} in {state}, {counted.n - before:,} of them new.")
    if refused:
        output.say(f"Refused: {_listed(refused)}.")
    if "without id" in refused:
        output.say(_UNSHUFFLED)
    if counted.repeated:
        output.say(
            f"{counted.repeated:,} of them were counted by another server before, and cannot be removed: errors "
            "are larger, and shares are biased towards them. To avoid it, send equal ids to the same server."
        )


def _values(asked: Collection, held: Sequence[str], coded: Coded) -> Sequence[str | int]:
    """Return the values for devices: labels and texts as they are, numbers as they were read."""
    numbers: list[int] = coded.tolist()
    return numbers if asked.labels is None and asked.randomiser.domain > 0 else held


def _through_devices(
    asked: Collection,
    values: Sequence[str | int],
    folder: Path,
    one: Callable[[Path], Device],
    silent: Counter[str],
) -> list[bytes]:
    """Return the reports of all devices that make one, and count the reasons of the others."""
    reports, refusal = [], None
    with stages() as told:
        for number, value in enumerate(values, start=1):
            try:
                reports.append(one(folder / f"{number:06}").report(asked, value))
            except (BudgetExceeded, LedgerUnavailable) as error:
                refusal = refusal or error
                silent[rendered(error)] += 1
            if told:
                told(f"device {number:,} of {len(values):,}", number / len(values))
    if refusal is not None and not reports:
        raise refusal
    return reports


def _count(counted: Aggregator, file: Path, arrived: date | None, column: str, _say: Any) -> None:
    from discreet.local.device.wire import batches
    from discreet.local.server.aggregator import Aggregator
    from discreet.local.server.sources import from_parquet

    if file.is_dir() or file.suffix.lower() == ".parquet":
        day = None if counted.period is None else counted.period[0]
        with local_options.about(file):
            counted.merge(from_parquet(counted.collection, file, column, period=day))
        return
    data = file.read_bytes()
    if data.startswith(b"DLPS"):
        with local_options.about(file):
            part = Aggregator.read(data, counted.collection)
        if counted.period not in (None, part.period):
            raise DiscreetError(
                f"{file} is not of the period of {counted.period[0]} alone: a device may be in both.",
                fix="Add them up in a new --state FILE, without --period: its errors allow for that.",
            )
        counted.merge(part)
        return
    for sent in batches(data) if data else (data,):  # an empty file is not a batch of no reports
        counted.update(sent, received=arrived)


def _nothing_counted(counted: Aggregator, refused: Mapping[str, int], sources: Sequence[Path], state: Path) -> str:
    """Describe why all reports were refused, and what to name instead."""
    first, last = counted.period or counted.collection.window
    remedies = {**_REMEDIES, "out of window": f"They are not of the days from {first} to {last}."}
    left = "was not changed" if state.exists() else "was not written"
    return " ".join(
        [
            f"Nothing was counted, and {state} {left}. All of {', '.join(map(str, sources))} was refused: "
            f"{_listed(refused)}.",
            *(remedies[reason] for reason in refused if reason in remedies),
        ]
    )


def _listed(refused: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in refused.items())
