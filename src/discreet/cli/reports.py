"""`discreet local encode`, `aggregate` and `estimate`: from values to reports, to counts, to shares.

Tested in tests/cli/test_local.py.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import collected, files, screen
from discreet.cli.collected import Confidence, Delta, File, Labels, Liars, Public
from discreet.cli.progress import one_by_one, stages
from discreet.errors import BudgetExceeded, DiscreetError, LedgerUnavailable

if TYPE_CHECKING:
    from discreet.local.aggregator import Aggregator
    from discreet.local.answers import Answer
    from discreet.local.contract import Coded
    from discreet.local.descriptor import Collection
    from discreet.local.device import Device

_TABLES = {".csv": ""}
_REASONS = 3  # for silence, that are shown


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
    lifetime: Annotated[
        str | None,
        typer.Option(help="With --devices: the ε of a device's life; that of this collection if unsaid."),
    ] = None,
    per_period: Annotated[
        str | None, typer.Option(help="With --devices: the ε of a device's day; that of its life if unsaid.")
    ] = None,
    identified: Annotated[bool, typer.Option(help="Give every report an id, by which it is counted once.")] = True,
    on: Annotated[str | None, typer.Option("--day", metavar="DAY", help="The day of the reports; today.")] = None,
    public: Public = None,
    labels: Labels = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> None:
    """Make reports of values, as devices would: for tests, and for values that are all in one place.

    Every line is a person of its own and makes one report. With --devices, each has a secret and a ledger in that
    directory: the same line tomorrow is the same device, which answers as it did or stops when its life is spent.
    Those that stop are counted, and the others report.

    [bold]Examples[/bold]

    [cyan]discreet local encode cheating.json answers.csv --column cheated --out monday.batch[/cyan]

    [cyan]discreet local encode cheating.json answers.txt --devices phones --out monday.batch[/cyan]
    """
    from discreet.local.device import Device
    from discreet.local.frames import batch, frames

    screen.expect_writable("--out", out)
    when = collected.day("--day", on) or datetime.now(UTC).date()
    asked = collected.opened(collection, public, labels, on=when)
    if not asked.open_on(when):
        raise DiscreetError(f"{asked.name!r} collects from {asked.window[0]} to {asked.window[1]}, not on {when}.")
    if devices is None and (lifetime is not None or per_period is not None):
        raise DiscreetError(
            "--lifetime and --per-period are what devices keep to: name their folder, --devices phones"
        )
    if devices is not None and not identified:
        raise DiscreetError("Devices give every report an id: leave out --no-identified, or --devices.")
    held = collected.lines(values, column)
    coded = collected.coded(asked, held)
    silent: Counter[str] = Counter()
    if devices is not None:
        life = lifetime or asked.lifetime
        one = partial(Device, lifetime=life, per_period=per_period or life, today=lambda: when)
        reports: Any = _through_devices(asked, _values(asked, held, coded), devices, one, silent)
    else:
        import numpy as np

        parts = [np.zeros((0, asked.randomiser.payload_bytes), np.uint8)]
        with stages() as told:
            for piece in collected.chunks(len(held)):
                parts.append(asked.randomiser.encode(coded[piece]))
                if told:
                    told("reporting", min(1.0, piece.stop / len(held)))
        reports = frames(asked, np.concatenate(parts), identified=identified)
    collected.replaced(out, batch(reports))
    if as_json:
        screen.data(
            {
                "reports": len(reports),
                "silent": silent.total(),
                "bytes": out.stat().st_size,
                "file": str(out),
                "day": str(when),
            }
        )
        return
    screen.say(f"Wrote {len(reports):,} reports to {out} ({out.stat().st_size:,} bytes).")
    for reason, count in silent.most_common(_REASONS):
        screen.say(f"{count:,} devices were silent: {reason}")


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
    period: Annotated[
        str | None,
        typer.Option(metavar="DAY", help="Count the period of this day alone: one report of each device."),
    ] = None,
    identified: Annotated[
        bool, typer.Option(help="Refuse reports without an id. Those that left a shuffler have none.")
    ] = True,
    column: Annotated[str, typer.Option(help="The column of a Parquet file that has the payloads.")] = "payload",
    public: Public = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> None:
    """Count reports into a state, and throw them away. States of several servers add up.

    Whatever is no report of this collection is refused, and counted by the reason. A report is counted once, by
    its id. With --period, reports of other days are refused, and those without a day (but --received) taken for
    reports of the period: its errors are smaller than those of counts in which a device may be several times.

    [bold]Examples[/bold]

    [cyan]discreet local aggregate cheating.json monday.batch tuesday.batch --state week.state[/cyan]

    [cyan]discreet local aggregate cheating.json wednesday.batch --state week.state --add[/cyan]

    [cyan]discreet local aggregate cheating.json north.state south.state --state all.state[/cyan]

    [cyan]discreet local aggregate cheating.json monday.batch --period 2026-05-04 --state monday.state[/cyan]
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
    whole = Aggregator(asked, identified=identified, period=collected.day("--period", period))
    counted = collected.state(state, asked, identified=identified) if state.exists() else whole
    if period is not None and counted.period != whole.period:
        raise DiscreetError(f"--state {state} does not hold the period of {period}: leave out --period, or --add.")
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
                "period": None if counted.period is None else [str(day) for day in counted.period],
                "file": str(state),
            }
        )
        return
    screen.say(f"{counted.n:,} reports are in {state}, {counted.n - before:,} of them new.")
    if refused:
        screen.say("Refused: " + ", ".join(f"{count:,} {reason}" for reason, count in refused.items()) + ".")
    if "without id" in refused:
        screen.say(
            "Reports that left a shuffler have no ids: --no-identified counts them, each time they are given."
        )
    if counted.repeated:
        screen.say(
            f"{counted.repeated:,} of them were counted by another server before, and cannot be taken out: errors "
            "are larger, and shares lean towards them. Send equal report ids to equal servers to have none."
        )


def estimate(
    collection: File,
    state: Annotated[Path, typer.Argument(metavar="STATE", help="Counts, as aggregate wrote them.")],
    confidence: Confidence = "0.95",
    liars: Liars = "0.01",
    delta: Delta = "1e-6",
    crowd: Annotated[
        int | None,
        typer.Option(help="How many reports a batch of the shuffler holds; the collection's minimum if unsaid."),
    ] = None,
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
    The shuffled promise is about one report in a batch of so many (--crowd), not about all that was counted. It
    holds against whoever sees every batch: where devices repeat their reports, no crowd is promised.

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
    document = _document(asked, answer, confidence, liars, delta, _crowd(asked, answer, crowd))
    if as_json:
        screen.data(document)
    else:
        _show(answer, document, confidence, liars, delta, most)
    files.write("--csv", csv_file, lambda to: _table(to, document["values"]), quiet=as_json)
    files.write("--plot", plot, lambda to: files.picture(answer.plot(confidence), to), quiet=as_json)


# -- reports -----------------------------------------------------------------------------------------------------


def _values(asked: Collection, held: Sequence[str], coded: Coded) -> Sequence[str | int]:
    """What devices are given: labels and texts as they are, numbers as they were read."""
    numbers: list[int] = coded.tolist()
    return numbers if asked.labels is None and asked.randomiser.domain > 0 else held


def _through_devices(
    asked: Collection,
    values: Sequence[str | int],
    folder: Path,
    one: Callable[[Path], Device],
    silent: Counter[str],
) -> list[bytes]:
    """Return the reports of all devices that make one, and count why others do not. What was paid is not lost."""
    reports, refusal = [], None
    with stages() as told:
        for number, value in enumerate(values, start=1):
            try:
                reports.append(one(folder / f"{number:06}").report(asked, value))
            except (BudgetExceeded, LedgerUnavailable) as error:
                refusal = refusal or error
                silent[str(error)] += 1
            if told:
                told(f"device {number:,} of {len(values):,}", number / len(values))
    if refusal is not None and not reports:
        raise refusal
    return reports


def _count(counted: Aggregator, file: Path, arrived: date | None, column: str, _say: Any) -> None:
    from discreet.local.aggregator import Aggregator
    from discreet.local.frames import batches
    from discreet.local.sources import from_parquet

    if file.is_dir() or file.suffix.lower() == ".parquet":
        day = None if counted.period is None else counted.period[0]
        counted.merge(from_parquet(counted.collection, file, column, period=day))
        return
    data = file.read_bytes()
    if data.startswith(b"DLPS"):
        counted.merge(Aggregator.read(data, counted.collection))
        return
    for part in batches(data):
        counted.update(part, received=arrived)


# -- estimates ---------------------------------------------------------------------------------------------------


def _crowd(asked: Collection, answer: Answer, crowd: int | None) -> int:
    """How many reports of different devices leave the shuffler together."""
    if crowd is not None and not 1 <= crowd <= answer.estimate.n:
        raise DiscreetError(f"--crowd {crowd} is no batch of what was counted, {answer.estimate.n:,} reports.")
    return crowd or asked.minimum_cohort


def _document(
    asked: Collection, answer: Answer, confidence: str, liars: str, delta: str, crowd: int
) -> dict[str, Any]:
    from discreet.local.poisoning import poisoning
    from discreet.local.promises import promised

    found = answer.estimate
    low, high = found.interval(confidence)
    consistent = _consistent(answer)
    harm = poisoning(asked.randomiser, found, liars, confidence, influence=answer.influence)
    promise = promised(asked, n=crowd, delta=delta, liars=liars)
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
        "reports_of_a_device": answer.alike,
        "refused": {reason: count for reason, count in answer.rejected.items() if count},
        "repeated": answer.repeated,
        "confidence": float(confidence),
        "epsilon": promise.local,
        "lifetime_epsilon": promise.lifetime,
        "shuffled_epsilon": promise.shuffled,
        "shuffled_delta": promise.delta,
        "shuffled_among": promise.n,
        "shuffled_noise": promise.noise,
        "liars": harm.fraction,
        "liars_shift": harm.shift,
        "liars_shift_consistent": harm.consistent_shift,
        "values": values,
        "words": [
            answer.devices,
            *([] if answer.repetitions is None else [answer.repetitions]),
            str(harm),
            *promise.sentences,
            *asked.guarantee().split("\n")[2:],
        ],
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
