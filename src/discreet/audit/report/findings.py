"""Collect what the auditor found: records, a summary line, and the JSON document.

The JSON document has stable keys; new ones may be added, and none changes its meaning within one `format`:

    {"format": 1, "discreet": "0.1.0", "failed": false, "undecided": false, "summary": "…", "seconds": 1.5,
     "reports": [{"subject", "claim", "caught", "undecided", "verdicts": […], "declared"}],
     "visits": [{"name", "title", "story", "sources", "ours", "as_expected", "broken", "mended"}],
     "powers": [{"subject", "attack", "weakened", "factor", "seconds"}]}

Verdicts (`broken` and `mended` too) have the fields of `Verdict`, with `attained` as pairs. `declared` is null, or
the trade-off curve of the claim as `{"false_alarms": […], "misses": […]}`. Null means that there is no such
number. JSON has no infinity, so an infinite ε is the string "Infinity", which `float` in Python and `Number` in
JavaScript both read.
"""

from __future__ import annotations

import dataclasses
import decimal
import math
from dataclasses import dataclass
from typing import Any

import discreet
from discreet.audit.museum.exhibit import Exhibit
from discreet.audit.power import Power
from discreet.audit.report.verdict import Report, Verdict

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class Visit:
    """The verdicts on one exhibit of the museum and on its mended twin."""

    exhibit: Exhibit
    broken: Verdict
    mended: Verdict

    @property
    def as_expected(self) -> bool:
        """Whether the broken mechanism was caught, and the mended one was not."""
        return self.broken.caught and not self.mended.caught


@dataclass(frozen=True, kw_only=True)
class Findings:
    """All that one run of the auditor found.

    >>> Findings().failed
    False
    """

    reports: tuple[Report, ...] = ()
    visits: tuple[Visit, ...] = ()
    powers: tuple[Power, ...] = ()
    seconds: float = 0.0

    @property
    def failed(self) -> bool:
        """Whether a claim was refuted, or an exhibit of the museum did not behave as expected."""
        return any(report.caught for report in self.reports) or not all(v.as_expected for v in self.visits)

    @property
    def undecided(self) -> bool:
        """Whether nothing failed, and some subject was neither refuted nor enumerated to the end."""
        return not self.failed and any(report.undecided for report in self.reports)


# -- sentences and numbers --------------------------------------------------------------------------------------


def summary(findings: Findings) -> str:
    """Return the summary of all findings in one line.

    >>> held = Report(subject="a coin", claim="Pure(epsilon=1)", verdicts=())
    >>> summary(Findings(reports=(held,), seconds=1.5))
    '1 mechanism, 0 attacks, nothing caught, 1.5 s.'
    """
    parts = []
    if findings.powers:
        parts += _of_powers(findings.powers)
    elif findings.reports or not findings.visits:
        parts += _of_reports(findings.reports)
    if findings.visits:
        parts += _of_visits(findings.visits)
    return f"{', '.join(parts)}, {duration(findings.seconds)}."


def _of_reports(reports: tuple[Report, ...]) -> list[str]:
    attacks = sum(len(report.verdicts) for report in reports)
    caught, undecided = sum(report.caught for report in reports), sum(report.undecided for report in reports)
    return [
        _count(len(reports), "mechanism"),
        _count(attacks, "attack"),
        f"{caught} CAUGHT" if caught else "nothing caught",
        *([f"{undecided} undecided"] if undecided else []),
    ]


def _of_powers(powers: tuple[Power, ...]) -> list[str]:
    missed = sum(power.factor is None for power in powers)
    return [
        _count(len(powers), "mechanism"),
        f"{missed} never caught" if missed else "each caught when its noise is weak enough",
    ]


def _of_visits(visits: tuple[Visit, ...]) -> list[str]:
    missed = sum(not visit.broken.caught for visit in visits)
    wronged = sum(visit.mended.caught for visit in visits)
    return [
        _count(len(visits), "exhibit"),
        f"{missed} NOT CAUGHT" if missed else "every one caught",
        f"{wronged} mended but CAUGHT" if wronged else "none once mended",
    ]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def duration(seconds: float) -> str:
    """Return a duration as text.

    >>> duration(0.004), duration(1.46), duration(14.2), duration(184.0)
    ('0.0 s', '1.5 s', '14 s', '3 min 4 s')
    """
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def epsilons(verdict: Verdict) -> tuple[str, str]:
    """Return the ε claimed and the ε found, with enough digits to tell them apart.

    The claim is rounded up and the finding is rounded down, so that rounding never refutes a claim.

    >>> epsilons(Verdict(attack="exact", caught=True, words="", claimed=1.0, found=1.000002))
    ('1', '1.000002')
    >>> epsilons(Verdict(attack="exact", caught=False, words="", claimed=1.2000000000000002, found=1.19999))
    ('1.2', '1.199')
    >>> epsilons(Verdict(attack="exact", caught=True, words="", claimed=2 / 3, found=float("inf")))
    ('0.6667', '∞')
    """
    claimed, found = verdict.claimed, verdict.found
    for digits in range(4, 18):
        most = _rounded(claimed, digits, decimal.ROUND_CEILING)
        least = _rounded(found, digits, decimal.ROUND_FLOOR)
        if claimed is None or found is None or (least > most) == (found > claimed):
            break
    return _text(most, digits), _text(least, digits)


def _rounded(number: float | None, digits: int, rounding: str) -> float:
    if number is None or not math.isfinite(number):
        return math.nan if number is None else number
    # The last bits of a float are not significant: 1.2000000000000002 is not rounded up to 1.201.
    written = f"{number:.13g}" if digits < 13 else f"{number:.17g}"
    return float(decimal.Context(prec=digits, rounding=rounding).create_decimal(written))


def _text(number: float, digits: int) -> str:
    if math.isnan(number):
        return "–"
    return f"{number:.{digits}g}".replace("inf", "∞")


def delta(verdict: Verdict) -> str:
    """Return the δ at which the two ε are compared, if there are any.

    >>> delta(Verdict(attack="exact", caught=False, words="", claimed=1.0, delta=1e-6))
    '1e-06'
    """
    return "–" if verdict.claimed is None and verdict.found is None else f"{verdict.delta:.3g}"


def word(thing: Verdict | Report) -> str:
    """Return the verdict in one word.

    >>> word(Verdict(attack="exact", caught=False, words="", undecided=True))
    'undecided'
    """
    return "CAUGHT" if thing.caught else "undecided" if thing.undecided else "holds"


def factor(power: Power) -> str:
    """Return the factor at which a subject is caught as text.

    >>> from fractions import Fraction
    >>> factor(Power(subject="a coin", attack="exact", weakened="claim", factor=Fraction(5, 4)))
    '×1.25'
    """
    return "–" if power.factor is None else f"×{float(power.factor):.4g}"


def confidence(verdict: Verdict) -> str:
    """Return the confidence of a verdict, or "certain" if the attack used no statistics.

    >>> confidence(Verdict(attack="exact", caught=True, words=""))
    'certain'
    """
    if verdict.confidence is not None:
        return f"{verdict.confidence:.12g}"
    return "certain" if verdict.caught or verdict.found is not None else "–"


# -- JSON -------------------------------------------------------------------------------------------------------


def as_document(findings: Findings) -> dict[str, Any]:
    """Return all findings as one document of dictionaries, lists, strings and finite numbers.

    >>> as_document(Findings())["failed"]
    False
    """
    return {
        "format": FORMAT,
        "discreet": discreet.__version__,
        "failed": findings.failed,
        "undecided": findings.undecided,
        "summary": summary(findings),
        "seconds": findings.seconds,
        "reports": [as_plain(report) for report in findings.reports],
        "visits": [_visit(visit) for visit in findings.visits],
        "powers": [_power(power) for power in findings.powers],
    }


def as_plain(report: Report) -> dict[str, Any]:
    """Return a report as dictionaries, lists, strings and finite numbers.

    >>> as_plain(Report(subject="a coin", claim="Pure(epsilon=1)", verdicts=()))
    {'subject': 'a coin', 'claim': 'Pure(epsilon=1)', 'caught': False, 'undecided': False, 'verdicts': [],
    'declared': None}
    """
    curve = report.declared
    return {
        "subject": report.subject,
        "claim": report.claim,
        "caught": report.caught,
        "undecided": report.undecided,
        "verdicts": [_verdict(verdict) for verdict in report.verdicts],
        "declared": curve
        and {"false_alarms": _plain(curve.alpha.tolist()), "misses": _plain(curve.beta.tolist())},
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {field.name: _plain(getattr(verdict, field.name)) for field in dataclasses.fields(verdict)}


def _power(power: Power) -> dict[str, Any]:
    return {
        "subject": power.subject,
        "attack": power.attack,
        "weakened": power.weakened,
        "factor": None if power.factor is None else float(power.factor),
        "seconds": power.seconds,
    }


def _visit(visit: Visit) -> dict[str, Any]:
    exhibit = visit.exhibit
    return {
        "name": exhibit.name,
        "title": exhibit.title,
        "story": exhibit.story,
        "sources": list(exhibit.sources),
        "ours": exhibit.ours,
        "as_expected": visit.as_expected,
        "broken": _verdict(visit.broken),
        "mended": _verdict(visit.mended),
    }


def _plain(value: Any) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case list() | tuple():
            return [_plain(part) for part in value]
    number = float(value)  # also converts numpy's numbers
    if math.isnan(number):
        return None
    return number if math.isfinite(number) else ("Infinity" if number > 0 else "-Infinity")
