"""Decide, before a holdout is looked at, which method certifies what.

    plan(n=10_000, queries=1000)                 how wide each method is
    plan(n=10_000, queries=1000, width=0.05)     and how many rows it takes for that width

The decision is a function of public numbers: rows, questions, purpose. To look first and then take the narrowest
bound would need a share of β for each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.errors import Fix, ParameterError
from discreet.mechanisms import tails
from discreet.rational import Rational
from discreet.render.html import fragment, framed
from discreet.validity.theorems.concentration import count
from discreet.validity.theorems.sample_size import EVERY, queries_allowed, rows_needed
from discreet.validity.theorems.sample_size import width as width_of

PURPOSES = {
    "screening": "many statistics, most of which the training data predict well",
    "selecting": "the best of many models",
    "estimating": "the score of every model, however good its guess is",
}
"""What a holdout is for."""

COVERS = {
    "split": "every answer",
    "gaussian": "every answer",
    "guess_and_check": "every answer, if so many guesses are wrong",
    "thresholdout": "every answer, if so many guesses are wrong",
    "ladder": "the best score only, if it changes so often",
}
"""What the width of each method is about."""


@dataclass(frozen=True)
class Option:
    """One method for one holdout: its width, how many rows the wanted width takes, and how many questions fit."""

    method: str
    width: float
    rows: int | None = None
    queries: int | None = None


@dataclass(frozen=True)
class Plan:
    """What each method certifies for so many rows and questions, and the one to take.

    >>> found = plan(10_000, 1000, purpose="screening")
    >>> found.method, round(found.width, 3)
    ('guess_and_check', 0.104)
    """

    n: int
    queries: int
    overfits: int
    purpose: str
    confidence: float
    wanted: float | None
    options: tuple[Option, ...]
    method: str
    why: str

    @property
    def width(self) -> float:
        """The width of the method to take."""
        return next(option.width for option in self.options if option.method == self.method)

    def __str__(self) -> str:
        lines = [
            f"{self.n:,} rows, {self.queries:,} questions, {self.overfits:,} surprises; all intervals "
            f"together hold with {self.confidence:.4g}."
        ]
        for option in self.options:
            size = f"± {option.width:.3f}" if option.width < 1 else "vacuous"
            more = f"; ± {self.wanted:g} takes {option.rows:,} rows" if option.rows is not None else ""
            if option.rows is not None and option.queries:
                more += f", or {option.queries:,} {'question' if option.queries == 1 else 'questions'}"
            chosen = " ←" if option.method == self.method else ""
            lines.append(f"  {option.method:16} {size:8} {COVERS[option.method]}{more}{chosen}")
        return "\n".join([*lines, self.why])

    def _repr_html_(self) -> str:
        return framed(fragment("<pre>{{ text }}</pre>", text=str(self)))


def plan(
    n: int,
    queries: int = 1000,
    width: float | None = None,
    *,
    confidence: Rational = "0.95",
    purpose: str = "selecting",
    overfits: int | None = None,
) -> Plan:
    """Return what each method certifies before any work is done.

    Args:
        n: The rows of the holdout.
        queries: The number of questions.
        width: The half-width that is wanted; none by default.
        confidence: The probability that all intervals hold together.
        purpose: "screening", "selecting" or "estimating".
        overfits: How many guesses the holdout may correct; a hundredth of the questions by default, at least 10.

    >>> print(plan(10_000, 100, purpose="estimating").why)
    To estimate every score, guess_and_check is the narrowest of split, gaussian, guess_and_check: ± 0.159.
    """
    rows, k, wrong = count(n, "n"), count(queries, "queries"), overfits_of(queries, overfits)
    beta, goal = float(tails.alpha(confidence)), expect_purpose(purpose)
    # To estimate every score, whatever the guess, every answer is one from the holdout.
    surprises = {name: EVERY if goal == "estimating" and name == "guess_and_check" else wrong for name in COVERS}
    widths = {name: width_of(name, rows, k, beta, surprises[name]) for name in COVERS}
    method, why = _chosen(goal, widths, wrong)
    options = []
    for name, found in sorted(widths.items(), key=lambda pair: pair[1]):
        needed = allowed = None
        if width is not None:
            needed = rows_needed(name, k, width, beta, surprises[name])
            allowed = queries_allowed(name, rows, width, beta, surprises[name])
        options.append(Option(name, found, needed, allowed))
    return Plan(rows, k, wrong, goal, 1 - beta, width, tuple(options), method, why)


def overfits_of(queries: int, given: int | None) -> int:
    """Return the number of answers from the holdout that is announced.

    >>> overfits_of(1000, None), overfits_of(5000, None), overfits_of(100, 3)
    (10, 50, 3)
    """
    return max(10, queries // 100) if given is None else count(given, "overfits")


def expect_purpose(purpose: str) -> str:
    """Return a purpose, if it is one.

    >>> expect_purpose("screening")
    'screening'
    """
    if purpose not in PURPOSES:
        told = "; ".join(f"{name}: {what}" for name, what in PURPOSES.items())
        raise ParameterError(
            "Unknown purpose of a holdout.",
            found=purpose,
            fix=[Fix("purpose", "selecting"), f"Purposes are {told}."],
        )
    return purpose


def _chosen(purpose: str, widths: dict[str, float], overfits: int) -> tuple[str, str]:
    if purpose == "selecting":
        return "ladder", (
            "To select the best model, the Ladder: its interval is about the best score, and widens only when the "
            "best score changes."
        )
    if purpose == "screening":
        both = ("guess_and_check", "thresholdout")
        best = min(both, key=widths.__getitem__)
        return best, (
            f"To screen many statistics, {best}: with {overfits:,} wrong guesses it is narrower than "
            f"{both[1 - both.index(best)]}, and guesses that are confirmed cost nearly nothing."
        )
    fair = ("split", "gaussian", "guess_and_check")
    best = min(fair, key=widths.__getitem__)
    size = f"± {widths[best]:.3f}" if math.isfinite(widths[best]) else "vacuous"
    return best, f"To estimate every score, {best} is the narrowest of {', '.join(fair)}: {size}."
