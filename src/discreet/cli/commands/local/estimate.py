"""Define `discreet local estimate`: estimate shares from counts, with intervals and the guarantee of devices."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import local_options, output
from discreet.cli.local_options import Confidence, Delta, File, Labels, Malicious, Public
from discreet.errors import DiscreetError, Fix

if TYPE_CHECKING:
    from discreet.local.collection.collection import Collection
    from discreet.local.server.answer import Answer

_TABLES = (".csv",)


def estimate(
    collection: File,
    state: Annotated[Path, typer.Argument(metavar="STATE", help="The counts that aggregate wrote.")],
    confidence: Confidence = "0.95",
    malicious: Malicious = "0.01",
    delta: Delta = "1e-6",
    crowd: Annotated[
        int | None,
        typer.Option(help="The number of reports in a batch of the shuffler. [the minimum of the collection]"),
    ] = None,
    most: Annotated[int, typer.Option(help="The number of values that are shown, the largest first.")] = 20,
    candidates: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The texts of an open domain to count, one on each line."),
    ] = None,
    csv_file: Annotated[
        Path | None, typer.Option("--csv", metavar="FILE", help="Write all values to a table.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw it: .svg, .png, .html or .pdf.")] = None,
    public: Public = None,
    labels: Labels = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all of it as JSON.")] = False,
) -> None:
    """Estimate shares with intervals, and show the effect of malicious reports and the guarantee of devices.

    There are two versions: unbiased, and consistent (a distribution, nearer to the truth, but biased). The
    shuffled guarantee is about one report in a batch of --crowd reports, not about all reports that were counted.
    It holds against an attacker who sees every batch: where devices repeat their reports, there is no shuffled
    guarantee.

    [bold]Examples[/bold]

    [cyan]discreet local estimate cheating.json week.state[/cyan]

    [cyan]discreet local estimate cheating.json week.state --csv shares.csv --plot shares.png[/cyan]

    Exit status: 4 = there are fewer reports than the minimum of the collection.
    """
    if csv_file is not None:
        output.expect_writable("--csv", csv_file, _TABLES)
    if plot is not None:
        output.expect_picture("--plot", plot)
    asked = local_options.opened(collection, public, labels)
    counted = local_options.state(state, asked)
    answer = counted.estimate() if candidates is None else counted.frequencies(local_options.lines(candidates))
    document = _document(asked, answer, confidence, malicious, delta, _crowd(asked, answer, crowd))
    if as_json:
        output.data(document)
    else:
        _show(answer, document, confidence, malicious, delta, most)
    output.write("--csv", csv_file, lambda to: _table(to, document["values"]), quiet=as_json)
    output.write("--plot", plot, lambda to: output.picture(answer.plot(confidence), to), quiet=as_json)


def _crowd(asked: Collection, answer: Answer, crowd: int | None) -> int:
    """Return the number of reports of different devices that leave the shuffler together."""
    if crowd is not None and not 1 <= crowd <= answer.estimate.n:
        raise DiscreetError(
            f"A batch has at least 1 and at most all {answer.estimate.n:,} reports that were counted.",
            found=crowd,
            fix=Fix("crowd", answer.estimate.n),
        )
    return crowd or asked.minimum_cohort


def _document(
    asked: Collection, answer: Answer, confidence: str, malicious: str, delta: str, crowd: int
) -> dict[str, Any]:
    from discreet.local.collection.guarantee import promised
    from discreet.local.design.poisoning import poisoning

    found = answer.estimate
    low, high = found.interval(confidence)
    consistent = _consistent(answer)
    harm = poisoning(asked.randomiser, found, malicious, confidence, influence=answer.influence)
    promise = promised(asked, n=crowd, delta=delta, malicious=malicious)
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
        "reports_of_a_device": answer.reports_per_device,
        "refused": {reason: count for reason, count in answer.rejected.items() if count},
        "repeated": answer.repeated,
        "confidence": float(confidence),
        **local_options.guaranteed(promise),
        "malicious": harm.fraction,
        "malicious_shift": harm.shift,
        "malicious_shift_consistent": harm.consistent_shift,
        "values": values,
        "receipt": answer.receipt.in_numbers(),
        "label": answer.label.facts,
        "words": [
            answer.devices,
            *([] if answer.repetitions is None else [answer.repetitions]),
            str(harm),
            *promise.sentences,
            *asked.guarantee().split("\n")[2:],
        ],
    }


def _consistent(answer: Answer) -> Any:
    """Return the consistent version, if the estimate is a distribution."""
    if answer.names is not None or len(answer.estimate.values) < 2:
        return None
    return answer.consistent().estimate.values


def _show(
    answer: Answer, document: dict[str, Any], confidence: str, malicious: str, delta: str, most: int
) -> None:
    reports = local_options.some(document["reports"], "report")
    output.say(f"{document['name']}: {reports}, {document['protocol']}", style="bold")
    if document["refused"]:
        output.say("Refused: " + ", ".join(f"{n:,} {reason}" for reason, n in document["refused"].items()) + ".")
    rows = sorted(document["values"], key=lambda row: -row["unbiased"])
    shift = document["malicious_shift"]
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
    heads = ("value", "unbiased", f"interval of {confidence}", "malicious", "consistent")
    output.table(heads, cells, right=(1, 3, 4), whole=(2,))
    if len(rows) > most:
        output.say(f"… and {len(rows) - most:,} more: --csv FILE has them all")
    output.say("", *document["words"])


def _table(file: Path, rows: Sequence[dict[str, Any]]) -> None:
    heads = ("value", "unbiased", "standard_error", "low", "high", "consistent")
    with file.open("w", newline="", encoding="utf-8") as out:
        table = csv.DictWriter(out, heads)
        table.writeheader()
        table.writerows(rows)
