"""Define `discreet validity`: plan a reusable holdout, and show what adaptive analysis does to a plain one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import output
from discreet.cli.progress import stages


def plan(
    rows: Annotated[int, typer.Argument(help="The rows of the holdout.")],
    queries: Annotated[int, typer.Option(help="The number of questions.")] = 1000,
    width: Annotated[float | None, typer.Option(help="The margin of error that is wanted, such as 0.05.")] = None,
    purpose: Annotated[str, typer.Option(help="screening, selecting or estimating.")] = "selecting",
    confidence: Annotated[str, typer.Option(help="The confidence of all intervals together.")] = "0.95",
    overfits: Annotated[int | None, typer.Option(help="How many guesses the holdout may correct.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
) -> None:
    """Say which method certifies what, before a holdout is looked at.

    [bold]Examples[/bold]

    [cyan]discreet validity plan 10000 --queries 200 --purpose estimating[/cyan]

    [cyan]discreet validity plan 10000 --queries 1000 --width 0.05[/cyan]
      and how many rows that width takes
    """
    from discreet.validity.planning import plan as planned

    found = planned(rows, queries, width, confidence=confidence, purpose=purpose, overfits=overfits)
    if not as_json:
        output.say(*str(found).split("\n"))
        return
    options = [
        {"method": one.method, "width": output.number(one.width), "rows": one.rows, "queries": one.queries}
        for one in found.options
    ]
    output.data(
        {"method": found.method, "width": output.number(found.width), "why": found.why, "options": options}
    )


def demo(
    rows: Annotated[int, typer.Option(min=200, max=20_000, help="The rows of each sample.")] = 10_000,
    features: Annotated[int, typer.Option(min=50, max=20_000, help="The features.")] = 10_000,
    signal: Annotated[bool, typer.Option(help="Let twenty features predict the label.")] = False,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw it: .svg, .png, .html or .pdf.")] = None,
) -> None:
    """Overfit a plain holdout of coin flips, and see what a guarded one reports. Takes about ten seconds.

    [bold]Example[/bold]

    [cyan]discreet validity demo --out overfitting.svg[/cyan]
    """
    from discreet.validity.experiments import boosting, screening

    if out is not None:
        output.expect_picture("--out", out)
    with stages() as told:
        points = screening(rows, features, signal=signal, progress=told)
    truth = (
        "Twenty features predict the label a little." if signal else "Labels are coin flips: the truth is 50 %."
    )
    output.say(f"{rows:,} rows, {features:,} features. {truth}", "")
    table = [
        (p.analyst, f"{p.features}", *(f"{100 * score:.1f} %" for score in (p.train, p.reported, p.fresh)))
        for p in points
    ]
    output.table(["analyst", "features", "training", "reported", "fresh rows"], table, right=(1, 2, 3, 4))
    votes = {name: boosting(method=method) for name, method in (("a plain", None), ("a guarded", "ladder"))}
    told_votes = " and ".join(f"{100 * score:.1f} % on {name} holdout" for name, score in votes.items())
    output.say("", f"800 random guesses that vote if they seemed good, 4,000 rows: {told_votes}.")
    if out is not None:
        from discreet.validity.pictures import screening_chart

        title = "A holdout that is asked again and again"
        about = f"{rows:,} rows, {features:,} features that {'hardly ' if signal else 'do not '}predict the label"
        about += ".\nThe band holds for all answers together, with 95 %."
        output.write("--out", out, lambda to: output.picture(screening_chart(points, title, about), to))
