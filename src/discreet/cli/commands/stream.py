"""Define `discreet stream count` and `discreet stream demo`: private counts of what arrives, and a picture.

A line of stdin is the count of one tick. With --seconds a line is one event, and a tick takes so many seconds.
Every value that is printed is private, and all of them together have the guarantee that was asked for. With
--state the counter survives a crash: the same command goes on where the file says that it stopped.
"""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import output
from discreet.errors import DiscreetError, Fix

if TYPE_CHECKING:
    from discreet.stream.answer import StreamAnswer

_HOURS = (3, 6, 9, 12, 15, 18, 21, 24)


def count(
    epsilon: Annotated[str, typer.Option(help="The guarantee of all printed values together.")] = "1",
    delta: Annotated[str, typer.Option(help="Its delta; 0 for pure differential privacy.")] = "1e-9",
    horizon: Annotated[
        int | None, typer.Option(help="The number of ticks. Without it the stream has no end, and more noise.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(help="A line is one event, and a tick takes so many seconds.")
    ] = None,
    events: Annotated[int, typer.Option(help="The most events of one person; 1 protects single events.")] = 1,
    every: Annotated[int, typer.Option(min=1, help="Print the value after every so many ticks.")] = 1,
    pan_private: Annotated[bool, typer.Option(help="Keep the state private too, for more noise.")] = False,
    state: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep the state in a file, and go on from it.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print each value as a JSON object on one line.")
    ] = False,
) -> None:
    """Count what arrives on stdin, and print the private total while it grows.

    [bold]Examples[/bold]

    [cyan]sensor | discreet stream count --horizon 1440[/cyan]
      a line is the count of one tick, such as a minute

    [cyan]tail -f access.log | discreet stream count --seconds 60 --horizon 1440 --state visits.stream[/cyan]
      a line is one event, and a tick takes a minute; the file lets it go on after a crash

    Exit status: 0 = all was counted; 2 = a line is not a count; 3 = the horizon is reached.
    """
    from discreet.stream import Counter, Person

    if seconds is not None and not 0 < seconds < 10**6:
        raise DiscreetError("A tick takes some time.", found=seconds, fix=Fix("seconds", 60))
    terms: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "horizon": horizon, "pan_private": pan_private}
    with Counter(**terms, unit=Person(events=events), path=state) as counter:
        if counter.tick and not as_json:
            output.say(f"Going on after tick {counter.tick:,}.")
        for exact in _ticks(seconds):
            counter.add(exact)
            if counter.tick % every == 0:
                _show(counter.release(), as_json)
        if counter.tick % every:
            _show(counter.release(), as_json)


def stream_demo(
    visits: Annotated[
        int, typer.Option(min=100, max=10_000_000, help="About how many visits the day has.")
    ] = 6_000,
    epsilon: Annotated[str, typer.Option(help="The guarantee of each of the two curves.")] = "1",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw both curves: .svg, .png, .html or .pdf.")
    ] = None,
) -> None:
    """Count an invented day of visits, minute by minute: the private curve beside the true one.

    [bold]Example[/bold]

    [cyan]discreet stream demo --out day.svg[/cyan]
    """
    import numpy as np

    from discreet.stream import Counter, Windowed
    from discreet.stream.demo_day import day
    from discreet.stream.factorisations.constants import binary_tree, blt

    if out is not None:
        output.expect_picture("--out", out)
    exact = day(visits)
    total = Counter(epsilon=epsilon, delta="1e-9", horizon=len(exact), name="visits so far").extend(exact)
    tree = Counter(epsilon=epsilon, delta="1e-9", horizon=len(exact), method="tree").extend(exact)
    hour = Windowed(60, epsilon=epsilon, delta="1e-9", name="visits in the last hour").extend(exact)
    true = np.cumsum(exact)
    last = true - np.concatenate([np.zeros(60, np.int64), true[:-60]])
    output.say(f"An invented day of {true[-1]:,} visits, counted every minute", style="bold")
    output.say(
        f"Each of the two curves is private as a whole: ε = {epsilon} at δ = 1e-9, for every single visit. "
        "All 1,440 values of a curve share that one charge.",
        "",
    )
    rows = []
    for o in _HOURS:
        i = 60 * o - 1
        rows.append([f"{o}:00", f"{true[i]:,}", _cell(total, i), f"{last[i]:,}", _cell(hour, i)])
    output.table(["until", "visits", "private", "last hour", "private"], rows, right=range(5))
    gain = (binary_tree(len(exact)).largest / blt(len(exact)).largest) ** 2
    output.say("", f"A binary tree would have {gain:.1f} times the variance at its worst minute.")
    if out is None:
        output.say("To see the curves with their bands:")
        output.command("discreet stream demo --out day.svg")
        return
    from discreet.stream.plots import a_day

    output.write("--out", out, lambda file: output.picture(a_day(total, true, tree, hour, last), file))


def _ticks(seconds: float | None) -> Iterator[int]:
    """Return the count of every tick: one a line, or the lines that arrive in so many seconds."""
    from discreet.stream.ticks import counts_in

    if seconds is None:
        yield from counts_in(iter(sys.stdin.readline, ""))
        return
    handle, seen, end, last = sys.stdin.fileno(), 0, time.monotonic() + seconds, b"\n"
    while True:
        left = end - time.monotonic()
        if left <= 0:
            yield seen
            seen, end = 0, end + seconds
        elif select.select([handle], [], [], left)[0]:
            part = os.read(handle, 1 << 16)
            if not part:
                yield seen + (last != b"\n")  # the last line may lack its end
                return
            seen, last = seen + part.count(b"\n"), part[-1:]


def _show(answer: StreamAnswer, as_json: bool) -> None:
    estimate = answer.estimate
    low, high = estimate.interval
    if as_json:
        ends = {"value": estimate.value, "low": low, "high": high}
        numbers = {name: output.number(end) for name, end in ends.items()}
        output.data({"tick": answer.ticks[-1], **numbers, "confidence": float(estimate.confidence)})
        return
    sure = f"{float(100 * estimate.confidence):.4g} %"
    output.say(f"tick {answer.ticks[-1]:,}: {estimate.value:,.0f} ({low:,.0f} to {high:,.0f} with {sure})")


def _cell(answer: StreamAnswer, i: int) -> str:
    value, margin = answer.estimate.values[i], answer.estimate.margins[i]
    return "" if value is None or margin is None else f"{value:,.0f} ± {margin:,.0f}"
