"""Define `discreet audit`: attack shipped mechanisms, visit the museum, or attack a mechanism of your own.

What the audited code prints goes to stderr, so that stdout has the findings and nothing else.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import output
from discreet.cli.exit_codes import CAUGHT, UNDECIDED
from discreet.cli.progress import Say, one_by_one
from discreet.errors import DiscreetError, Fix

if TYPE_CHECKING:
    from discreet.audit.report.findings import Findings
    from discreet.audit.report.verdict import Report


def audit(
    targets: Annotated[
        list[str] | None,
        typer.Argument(metavar="TARGET", help="module:attribute, a shipped mechanism, or an exhibit."),
    ] = None,
    museum: Annotated[bool, typer.Option("--museum", help="Attack broken mechanisms of the past.")] = False,
    power: Annotated[
        bool, typer.Option("--power", help="Weaken the noise step by step until an attack catches it.")
    ] = False,
    samples: Annotated[
        int | None,
        typer.Option(
            min=1000,
            help="Releases that a black-box attack draws per table.",
            show_default="100,000 in batches, 10,000 one by one, fewer for fits",
        ),
    ] = None,
    budget: Annotated[
        int, typer.Option(min=100, help="Runs per table of an attack that enumerates draws.")
    ] = 10_000,
    confidence: Annotated[str, typer.Option(help="Confidence of every statistical finding.")] = "0.999999",
    epsilon: Annotated[str | None, typer.Option(help="The ε that a plain function claims.")] = None,
    delta: Annotated[str | None, typer.Option(help="The δ that it claims, if any.")] = None,
    on: Annotated[str | None, typer.Option("--on", help="Its data, as a Python literal.")] = None,
    other: Annotated[str | None, typer.Option("--and", help="Its data with one person changed.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON, and nothing else.")] = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the findings as a page.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only what was caught.")] = False,
) -> None:
    r"""Attack mechanisms, and report those that lose more privacy than they claim.

    [bold]Examples[/bold]

    [cyan]discreet audit[/cyan]
      every mechanism that ships

    [cyan]discreet audit --museum[/cyan]
      broken mechanisms of the past: each must be caught

    [cyan]discreet audit --museum sparse-vector-3[/cyan]
      the story of one

    [cyan]discreet audit --power[/cyan]
      by how much noise must be too small before it is caught (some minutes)

    [cyan]discreet audit mymodule:my_mechanism --json[/cyan]
      your own, in your own tests

    [cyan]discreet audit mymodule:noisy_sum --epsilon 1 --on '\[1, 2]' --and '\[1]'[/cyan]
      any function, on one pair of neighbours

    With --json, an error is a JSON object on stderr.

    Exit status: 0 = nothing was caught; 1 = something was caught, or an exhibit of the museum was not; 6 =
    undecided: nothing was caught, but an enumeration stopped before its end, so try a larger --budget; 141 = the
    reader of the output went away.
    """
    from discreet.audit.attacks.clopper_pearson import special_functions

    special_functions()  # every attack needs them: say so before the first one
    _check_confidence(confidence)
    if html is not None:
        _check_page(html)
    typed = (epsilon, delta, on, other)
    with contextlib.redirect_stdout(sys.stderr):
        if power:
            _refuse_with_power(museum, typed)
            findings = _weakened(targets or [], budget, quiet)
        elif museum:
            if any(option is not None for option in typed):
                raise DiscreetError(
                    "The exhibits of the museum bring their own claims.",
                    fix="Leave out --epsilon, --delta, --on and --and.",
                )
            findings = _visited(targets or [], quiet)
        else:
            findings = _attacked(targets or [], typed, _Terms(samples, confidence, budget), quiet)
    if html is not None:
        _write_page(html, findings)
    _print(findings, as_json=as_json, quiet=quiet, stories=museum and bool(targets))
    raise typer.Exit(CAUGHT if findings.failed else UNDECIDED if findings.undecided else 0)


# -- the work ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Terms:
    """What was typed about the work of an attack."""

    samples: int | None
    confidence: str
    budget: int


def _attacked(targets: Sequence[str], typed: tuple[str | None, ...], terms: _Terms, quiet: bool) -> Findings:
    from discreet.audit.report.findings import Findings
    from discreet.audit.shipped import shipped
    from discreet.cli.targets import auditable, chosen, claim_of, claimed

    claim = claim_of(*typed)
    if claim is not None and not targets:
        raise DiscreetError(
            "--epsilon, --delta, --on and --and need a function.", fix="Name it: discreet audit module:function …"
        )
    # Making the shipped ones imports every learner: seconds, which a target of one's own need not wait for.
    ours = shipped() if not targets or any(":" not in target for target in targets) else {}
    things = chosen(targets, ours)
    if claim is None:
        jobs = [(name, _battery(name, auditable(name, thing), terms)) for name, thing in things]
    else:
        jobs = [(name, _blackbox(claimed(name, thing, claim), terms)) for name, thing in things]
    start = time.perf_counter()
    reports = tuple(one_by_one(jobs, quiet=quiet))
    return Findings(reports=reports, seconds=time.perf_counter() - start)


def _battery(name: str, thing: Any, terms: _Terms) -> Callable[[Say], Report]:
    from discreet.audit.battery import check_mechanism

    return lambda say: check_mechanism(
        thing,
        name=name,
        samples=terms.samples,
        confidence=terms.confidence,
        budget=terms.budget,
        progress=say,
    )


def _blackbox(subject: Any, terms: _Terms) -> Callable[[Say], Report]:
    """Attack a plain function by its outputs alone: the exact attack would not see noise from other libraries."""
    from discreet import privacy
    from discreet.audit.battery import SAMPLES
    from discreet.audit.blackbox import blackbox
    from discreet.audit.report.verdict import Report

    samples, confidence = terms.samples or SAMPLES, terms.confidence
    return lambda _: Report(
        subject=subject.name,
        claim=subject.claim,
        verdicts=(blackbox.attack(subject, samples=samples, confidence=confidence),),
        declared=privacy.tradeoff(subject.loss),
    )


def _refuse_with_power(museum: bool, typed: tuple[str | None, ...]) -> None:
    if museum or any(option is not None for option in typed):
        raise DiscreetError(
            "--power weakens the noise of shipped mechanisms and of your own subjects.",
            fix="Leave out --museum, --epsilon, --delta, --on and --and.",
        )


def _weakened(targets: Sequence[str], budget: int, quiet: bool) -> Findings:
    from discreet.audit.battery import Filter
    from discreet.audit.power import power
    from discreet.audit.report.findings import Findings
    from discreet.audit.shipped import shipped
    from discreet.cli.targets import auditable, chosen

    things = [(name, auditable(name, thing)) for name, thing in chosen(targets, shipped())]
    jobs = [
        (name, lambda say, name=name, thing=thing: power(thing, name=name, budget=budget, progress=say))
        for name, thing in things
        if not isinstance(thing, Filter)
    ]
    start = time.perf_counter()
    powers = tuple(one_by_one(jobs, quiet=quiet))
    return Findings(powers=powers, seconds=time.perf_counter() - start)


def _visited(names: Sequence[str], quiet: bool) -> Findings:
    from discreet.audit.museum import exhibits
    from discreet.audit.report.findings import Findings, Visit
    from discreet.cli.targets import guess

    rooms = {exhibit.name: exhibit for exhibit in exhibits()}
    for name in names:
        if name not in rooms:
            raise DiscreetError(
                f"The museum has no {name!r}.",
                fix=[*guess(name, rooms, few=len(rooms)), "discreet audit --museum, without a name, attacks all."],
            )
    jobs = [
        (name, lambda _, e=rooms[name]: Visit(exhibit=e, broken=e.broken(), mended=e.mended()))
        for name in names or rooms
    ]
    start = time.perf_counter()
    visits = tuple(one_by_one(jobs, quiet=quiet))
    return Findings(visits=visits, seconds=time.perf_counter() - start)


# -- input and output -------------------------------------------------------------------------------------------


def _check_confidence(confidence: str) -> None:
    from discreet.rational import rational

    if not 0 < rational(confidence, "--confidence") < 1:
        raise DiscreetError(
            "A confidence must be between 0 and 1.", found=confidence, fix=Fix("confidence", "0.999999")
        )


def _check_page(file: Path) -> None:
    """Refuse a page that cannot be written, before the work."""
    from discreet.audit.report.html import require_pictures

    require_pictures()
    output.expect_writable("--html", file)


def _write_page(file: Path, findings: Findings) -> None:
    from discreet.audit.report.html import page

    try:
        file.write_text(page(findings), encoding="utf-8")
    except OSError as error:
        raise DiscreetError(f"The file for --html cannot be written: {error.strerror}.", found=file) from error


def _print(findings: Findings, *, as_json: bool, quiet: bool, stories: bool) -> None:
    if as_json:
        from discreet.audit.report.findings import as_document

        typer.echo(json.dumps(as_document(findings), allow_nan=False))
        return
    from rich.console import Console

    from discreet.audit.report.terminal import show

    show(findings, Console(highlight=False), quiet=quiet, stories=stories)
