"""`discreet local encode`, `aggregate` and `estimate`: from values to reports, to counts, to shares.

Tested in tests/cli/test_local.py.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import collected, files, screen
from discreet.cli.collected import Confidence, Delta, File, Labels, Liars, Public
from discreet.cli.progress import one_by_one, stages
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.local.aggregator import Aggregator
    from discreet.local.answers import Answer
    from discreet.local.descriptor import Collection

_TABLES = {".csv": ""}


def encode(
    collection: File,
    values: Annotated[Path, typer.Argument(metavar="VALUES", help="A text with a value in each line, or a CSV.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where the batch of reports goes.")],
    column: Annotated[str | None, typer.Option(help="The column of a CSV that has the values.")] = None,
    devices: Annotated[
        Path | None,
        typer.Option(
            metavar="DIRECTORY", help="Report through devices kept here, one for each line, with memory."
        ),
    ] = None,
    on: Annotated[str | None, typer.Option("--day", metavar="DAY", help="The day of the reports; today.")] = None,
    public: Public = None,
    labels: Labels = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> None:
    """Make reports of values, as devices would: for tests, and for values that are all in one place.

    Every line is a person of its own and makes one report. With --devices, each has a secret and a ledger in that
    directory: the same line tomorrow is the same device, which answers as it did or stops when its life is spent.

    [bold]Examples[/bold]

    [cyan]discreet local encode cheating.json answers.csv --column cheated --out monday.batch[/cyan]

    [cyan]discreet local encode cheating.json answers.txt --devices phones --out monday.batch[/cyan]
    """
    from discreet.local.frames import batch, frames

    screen.expect_writable("--out", out)
    when = collected.day("--day", on) or datetime.now(UTC).date()
    asked = collected.opened(collection, public, labels, on=when)
    if not asked.open_on(when):
        raise DiscreetError(f"{asked.name!r} collects from {asked.window[0]} to {asked.window[1]}, not on {when}.")
    held = collected.lines(values, column)
    coded = collected.coded(asked, held)
    if devices is not None:
        reports: Any = _through_devices(asked, held, devices, when)
    else:
        import numpy as np

        parts = [np.zeros((0, asked.randomiser.payload_bytes), np.uint8)]
        with stages() as told:
            for piece in collected.chunks(len(held)):
                parts.append(asked.randomiser.encode(coded[piece]))
                if told:
                    told("reporting", min(1.0, piece.stop / len(held)))
        reports = frames(asked, np.concatenate(parts))
    collected.replaced(out, batch(reports))
    if as_json:
        screen.data({"reports": len(reports), "bytes": out.stat().st_size, "file": str(out), "day": str(when)})
    else:
        screen.say(f"Wrote {len(reports):,} reports to {out} ({out.stat().st_size:,} bytes).")


def aggregate(
    collection: File,
    sources: Annotated[
        list[Path],
        typer.Argument(metavar="FILE…", help="Batches, states of other servers, or .parquet of payloads."),
    ],
    state: Annotated[Path, typer.Option(metavar="FILE", help="Where the counts go.")],
    add: Annotated[bool, typer.Option(help="Add to the counts that are there already.")] = False,
    received: Annotated[
        str | None, typer.Option(metavar="DAY", help="The day of arrival, of frames without one.")
    ] = None,
    column: Annotated[str, typer.Option(help="The column of a Parquet file that has the payloads.")] = "payload",
    public: Public = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> None:
    """Count reports into a state, and throw them away. States of several servers add up.

    Whatever is no report of this collection is refused, and counted by the reason.

    [bold]Examples[/bold]

    [cyan]discreet local aggregate cheating.json monday.batch tuesday.batch --state week.state[/cyan]

    [cyan]discreet local aggregate cheating.json wednesday.batch --state week.state --add[/cyan]

    [cyan]discreet local aggregate cheating.json north.state south.state --state all.state[/cyan]
    """
    from discreet.local.aggregator import Aggregator

    screen.expect_writable("--state", state)
    if state.exists() and not add:
        raise DiscreetError(f"--state {state} is there already: --add counts into it, or name a new file.")
    missing = [str(file) for file in sources if not file.exists()]
    if missing:
        raise DiscreetError(f"There is no file {', '.join(missing)}. Nothing was counted.")
    arrived = collected.day("--received", received)
    asked = collected.opened(collection, public, named=False)
    counted = collected.state(state, asked) if state.exists() else Aggregator(asked)
    before = counted.n
    jobs = [(file.name, partial(_count, counted, file, arrived, column)) for file in sources]
    for _ in one_by_one(jobs, quiet=as_json):
        pass
    collected.replaced(state, counted.written())
    refused = {reason: count for reason, count in counted.rejected.items() if count}
    if as_json:
        screen.data(
            {
                "reports": counted.n,
                "new": counted.n - before,
                "refused": refused,
                "repeated": counted.repeated,
                "file": str(state),
            }
        )
        return
    screen.say(f"{counted.n:,} reports are in {state}, {counted.n - before:,} of them new.")
    if refused:
        screen.say("Refused: " + ", ".join(f"{count:,} {reason}" for reason, count in refused.items()) + ".")
    if counted.repeated:
        screen.say(f"{counted.repeated:,} reports were counted by two of the servers.")


def estimate(
    collection: File,
    state: Annotated[Path, typer.Argument(metavar="STATE", help="Counts, as aggregate wrote them.")],
    confidence: Confidence = "0.95",
    liars: Liars = "0.01",
    delta: Delta = "1e-6",
    most: Annotated[int, typer.Option(help="How many values are shown, the largest first.")] = 20,
    candidates: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The texts to count, one in each line, of an open dictionary."),
    ] = None,
    csv_file: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Write all values to a table.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw it: .svg, .png, .html or .pdf.")] = None,
    public: Public = None,
    labels: Labels = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all of it as JSON.")] = False,
) -> None:
    """Say what reports say: shares with intervals, what liars could have done, and what devices are promised.

    Two versions, each by its name: unbiased, and consistent (a distribution, nearer to the truth and biased).

    [bold]Examples[/bold]

    [cyan]discreet local estimate cheating.json week.state[/cyan]

    [cyan]discreet local estimate cheating.json week.state --csv shares.csv --plot shares.png[/cyan]

    Exit status: 4 there are fewer reports than the collection promised to wait for.
    """
    if csv_file is not None:
        screen.expect_writable("--csv", csv_file, _TABLES)
    if plot is not None:
        files.expect_picture("--plot", plot)
    asked = collected.opened(collection, public, labels)
    counted = collected.state(state, asked)
    answer = counted.estimate() if candidates is None else counted.frequencies(collected.lines(candidates))
    document = _document(asked, answer, confidence, liars, delta)
    if as_json:
        screen.data(document)
    else:
        _show(answer, document, confidence, liars, delta, most)
    files.write("--csv", csv_file, lambda to: _table(to, document["values"]), quiet=as_json)
    files.write("--plot", plot, lambda to: files.picture(answer.plot(confidence), to), quiet=as_json)


# -- reports -----------------------------------------------------------------------------------------------------


def _through_devices(asked: Collection, values: Sequence[str], folder: Path, when: date) -> list[bytes]:
    from discreet.local.device import Device

    reports, listed = [], asked.labels is None and asked.randomiser.domain > 0
    with stages() as told:
        for number, value in enumerate(values, start=1):
            device = Device(
                folder / f"{number:06}", lifetime=asked.lifetime, per_period=asked.lifetime, today=lambda: when
            )
            reports.append(device.report(asked, int(value) if listed else value))
            if told:
                told(f"device {number:,} of {len(values):,}", number / len(values))
    return reports


def _count(counted: Aggregator, file: Path, arrived: date | None, column: str, _say: Any) -> None:
    from discreet.local.aggregator import Aggregator
    from discreet.local.frames import batches
    from discreet.local.sources import from_parquet

    if file.is_dir() or file.suffix.lower() == ".parquet":
        counted.merge(from_parquet(counted.collection, file, column))
        return
    data = file.read_bytes()
    if data.startswith(b"DLPS"):
        counted.merge(Aggregator.read(data, counted.collection))
        return
    for part in batches(data):
        counted.update(part, received=arrived)


# -- estimates ---------------------------------------------------------------------------------------------------


def _document(asked: Collection, answer: Answer, confidence: str, liars: str, delta: str) -> dict[str, Any]:
    from discreet.local.poisoning import poisoning
    from discreet.local.promises import promised

    found = answer.estimate
    low, high = found.interval(confidence)
    consistent = _consistent(answer)
    harm = poisoning(asked.randomiser, found, liars, confidence, influence=answer.influence)
    promise = promised(asked, n=found.n, delta=delta, liars=liars)
    values = [
        {
            "value": label,
            "unbiased": float(found.values[i]),
            "standard_error": float(found.standard_errors[i]),
            "low": float(low[i]),
            "high": float(high[i]),
            "consistent": None if consistent is None else float(consistent[i]),
        }
        for i, label in enumerate(answer.labels)
    ]
    return {
        "name": asked.name,
        "id": asked.id.hex(),
        "protocol": asked.randomiser.name,
        "reports": found.n,
        "refused": {reason: count for reason, count in answer.rejected.items() if count},
        "confidence": float(confidence),
        "epsilon": promise.local,
        "lifetime_epsilon": promise.lifetime,
        "shuffled_epsilon": promise.shuffled,
        "shuffled_delta": promise.delta,
        "shuffled_among": promise.n,
        "liars": harm.fraction,
        "liars_shift": harm.shift,
        "liars_shift_consistent": harm.consistent_shift,
        "values": values,
        "words": [str(harm), *promise.sentences, *asked.guarantee().split("\n")[2:]],
    }


def _consistent(answer: Answer) -> Any:
    """The consistent version, of what is a distribution."""
    if answer.names is not None or len(answer.estimate.values) < 2:
        return None
    return answer.consistent().estimate.values


def _show(answer: Answer, document: dict[str, Any], confidence: str, liars: str, delta: str, most: int) -> None:
    screen.say(f"{document['name']}: {document['reports']:,} reports, {document['protocol']}", style="bold")
    if document["refused"]:
        screen.say("Refused: " + ", ".join(f"{n:,} {reason}" for reason, n in document["refused"].items()) + ".")
    rows = sorted(document["values"], key=lambda row: -row["unbiased"])
    shift = document["liars_shift"]
    cells = [
        (
            row["value"],
            f"{row['unbiased']:.4f}",
            f"{row['low']:.4f} to {row['high']:.4f}",
            f"±{shift:.4f}",
            "" if row["consistent"] is None else f"{row['consistent']:.4f}",
        )
        for row in rows[:most]
    ]
    heads = ("value", "unbiased", f"interval of {confidence}", "liars", "consistent")
    screen.table(heads, cells, right=(1, 3, 4), whole=(2,))
    if len(rows) > most:
        screen.say(f"… and {len(rows) - most:,} more: --csv FILE has them all")
    screen.say("", *document["words"])


def _table(file: Path, rows: Sequence[dict[str, Any]]) -> None:
    heads = ("value", "unbiased", "standard_error", "low", "high", "consistent")
    with file.open("w", newline="", encoding="utf-8") as out:
        table = csv.DictWriter(out, heads)
        table.writeheader()
        table.writerows(rows)
