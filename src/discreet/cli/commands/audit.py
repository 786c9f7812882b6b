"""`discreet audit`: attack what ships, visit the museum, or attack a mechanism of your own.

Whatever prints while the auditor works goes to stderr, so that stdout is the findings and nothing else.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.exit_codes import CAUGHT
from discreet.cli.progress import Say, one_by_one
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.audit.report.findings import Findings
    from discreet.audit.report.verdict import Report


def audit(
    targets: Annotated[
        list[str] | None,
        typer.Argument(metavar="TARGET", help="module:attribute, a shipped mechanism, or an exhibit."),
    ] = None,
    museum: Annotated[bool, typer.Option("--museum", help="Visit broken mechanisms of the past.")] = False,
    samples: Annotated[
        int, typer.Option(min=1000, help="Releases that a black-box attack draws per table.")
    ] = 100_000,
    confidence: Annotated[str, typer.Option(help="Confidence of every statistical finding.")] = "0.999999",
    epsilon: Annotated[str | None, typer.Option(help="What a plain function claims to lose at most.")] = None,
    delta: Annotated[str | None, typer.Option(help="Its δ, if it claims one.")] = None,
    on: Annotated[str | None, typer.Option("--on", help="Its data, as a Python literal.")] = None,
    other: Annotated[str | None, typer.Option("--and", help="Its data with one person changed.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON, and nothing else.")] = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the findings as a page.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only what was caught.")] = False,
) -> None:
    r"""Attack mechanisms and say which of them lose more privacy than they claim.

    [bold]Examples[/bold]

    [cyan]discreet audit[/cyan]
      every mechanism that ships

    [cyan]discreet audit --museum[/cyan]
      broken mechanisms of the past: each must be caught

    [cyan]discreet audit --museum sparse-vector-3[/cyan]
      the story of one

    [cyan]discreet audit mymodule:my_mechanism --json[/cyan]
      your own, in your own tests

    [cyan]discreet audit mymodule:noisy_sum --epsilon 1 --on '\[1, 2]' --and '\[1]'[/cyan]
      any function, on one pair of neighbours

    Exit status: 0 nothing caught, 1 something caught (in the museum: not caught), 2 bad input, 70 a crash,
    130 stopped, 141 nobody read on.
    """
    _check_confidence(confidence)
    if html is not None:
        _check_page(html)
    typed = (epsilon, delta, on, other)
    with contextlib.redirect_stdout(sys.stderr):
        if museum:
            if any(option is not None for option in typed):
                raise DiscreetError(
                    "The museum's exhibits bring their own claims: leave out --epsilon and the rest."
                )
            findings = _visited(targets or [], quiet)
        else:
            findings = _attacked(targets or [], typed, samples, confidence, quiet)
    if html is not None:
        _write_page(html, findings)
    _print(findings, as_json=as_json, quiet=quiet, stories=museum and bool(targets))
    raise typer.Exit(CAUGHT if findings.failed else 0)


# -- the work ---------------------------------------------------------------------------------------------------


def _attacked(
    targets: Sequence[str], typed: tuple[str | None, ...], samples: int, confidence: str, quiet: bool
) -> Findings:
    from discreet.audit.report.findings import Findings
    from discreet.audit.shipped import shipped
    from discreet.cli.targets import auditable, chosen, claim_of, claimed

    claim = claim_of(*typed)
    if claim is not None and not targets:
        raise DiscreetError("--epsilon, --delta, --on and --and need a function: discreet audit module:function …")
    things = chosen(targets, shipped())
    if claim is None:
        jobs = [(name, _battery(name, auditable(name, thing), samples, confidence)) for name, thing in things]
    else:
        jobs = [(name, _blackbox(claimed(name, thing, claim), samples, confidence)) for name, thing in things]
    start = time.perf_counter()
    reports = tuple(one_by_one(jobs, quiet=quiet))
    return Findings(reports=reports, seconds=time.perf_counter() - start)


def _battery(name: str, thing: Any, samples: int, confidence: str) -> Callable[[Say], Report]:
    from discreet.audit.battery import check_mechanism

    return lambda say: check_mechanism(thing, name=name, samples=samples, confidence=confidence, progress=say)


def _blackbox(subject: Any, samples: int, confidence: str) -> Callable[[Say], Report]:
    """Only the attack that needs no source: the exact one would not see noise from elsewhere."""
    from discreet import privacy
    from discreet.audit.blackbox import blackbox
    from discreet.audit.report.verdict import Report

    return lambda _: Report(
        subject=subject.name,
        claim=subject.claim,
        verdicts=(blackbox.attack(subject, samples=samples, confidence=confidence),),
        declared=privacy.tradeoff(subject.loss),
    )


def _visited(names: Sequence[str], quiet: bool) -> Findings:
    from discreet.audit.museum import exhibits
    from discreet.audit.report.findings import Findings, Visit
    from discreet.cli.targets import guess

    rooms = {exhibit.name: exhibit for exhibit in exhibits()}
    for name in names:
        if name not in rooms:
            meant = guess(name, rooms, few=len(rooms))
            raise DiscreetError(
                f"The museum has no {name!r}.{meant} And discreet audit --museum, without a name, visits all."
            )
    jobs = [
        (name, lambda _, e=rooms[name]: Visit(exhibit=e, broken=e.broken(), mended=e.mended()))
        for name in names or rooms
    ]
    start = time.perf_counter()
    visits = tuple(one_by_one(jobs, quiet=quiet))
    return Findings(visits=visits, seconds=time.perf_counter() - start)


# -- what goes in and out ---------------------------------------------------------------------------------------


def _check_confidence(confidence: str) -> None:
    from discreet.rational import rational

    if not 0 < rational(confidence, "--confidence") < 1:
        raise DiscreetError(
            f"--confidence {confidence} is no confidence: write one between 0 and 1, such as 0.999999"
        )


def _check_page(file: Path) -> None:
    """Before the work, not after it."""
    from discreet.audit.report.html import require_pictures

    require_pictures()
    if file.is_dir() or not file.absolute().parent.is_dir():
        raise DiscreetError(f"--html {file} cannot be written: name a file in a folder that exists.")


def _write_page(file: Path, findings: Findings) -> None:
    from discreet.audit.report.html import page

    try:
        file.write_text(page(findings), encoding="utf-8")
    except OSError as error:
        raise DiscreetError(f"--html {file} cannot be written: {error.strerror}.") from error


def _print(findings: Findings, *, as_json: bool, quiet: bool, stories: bool) -> None:
    if as_json:
        from discreet.audit.report.findings import as_document

        typer.echo(json.dumps(as_document(findings), allow_nan=False))
        return
    from rich.console import Console

    from discreet.audit.report.terminal import show

    show(findings, Console(highlight=False), quiet=quiet, stories=stories)
