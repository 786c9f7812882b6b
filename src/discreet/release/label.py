"""The label of a release: whom it protects, how well, by what means, and what it does not say.

Everything here was declared by the curator, fixed by the plan, or charged to the ledger: a label is filled
without a look at the rows, and is as public as the release that it is attached to. What cannot be known to
software, such as why this ε was chosen, is said to be the curator's to answer, and not made up. The facts are
those that reviewers ask for: the tiers of the public registry of deployments (discreet.release.registry), and the
questions of NIST SP 800-226 (discreet.release.nist).
"""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import discreet
from discreet.ledger.balance import Balance
from discreet.release.receipt import Receipt
from discreet.render import amounts, numbers
from discreet.schema import Column, describe

if TYPE_CHECKING:
    from discreet.release.nist import Item

Facts: TypeAlias = dict[str, dict[str, str]]
"""Headings, and under each of them what is stated, by name."""

_NAMES = 24  # columns of the names of facts in a terminal

WEIGHTS = (
    "The interval is about the noise. Bounding is a bias that it does not show: the rows of someone with more "
    "than their share are scaled down, and values outside their bounds are moved to them."
)
ARITHMETIC = (
    "Sums are exact integers, and so is the noise, drawn with exactly its law from a cryptographic generator; "
    "floating point comes after it."
)
TIMING = (
    "How long a draw of noise takes does not depend on what is drawn. How long the engine takes depends on the "
    "rows, and is not hidden."
)
TRUST = "central: whoever holds the files of the vault can read the rows; analysts see releases only"


@dataclass(frozen=True)
class Noise:
    """What was measured, and the noise on it, in the units of the answer.

    `spread` is the scale of Laplace noise or the standard deviation of Gaussian noise; None where something was
    chosen, not added to. `moves` is how far one person can move it.

    >>> print(Noise(on="rows", law="discrete Laplace noise", spread=80, moves=8, loss="Laplace(scale=10)"))
    rows: discrete Laplace noise of scale 80; one person moves it by at most 8
    """

    on: str
    law: str
    spread: float | None = None
    moves: float | None = None
    loss: str = ""

    def __str__(self) -> str:
        from discreet.query.plan.explain import number

        name = "standard deviation" if "Gaussian" in self.law else "scale"
        size = "" if self.spread is None else f" of {name} {number(self.spread)}"
        law = self.law.replace(" noise", f" noise{size}", 1) if " noise" in self.law else self.law + size
        moves = "" if self.moves is None else f"; one person moves it by at most {number(self.moves, 6)}"
        return f"{self.on}: {law}{moves}"


@dataclass(frozen=True)
class Label:
    """What has to be known about a release, or about anything else that leaves a vault.

    `columns` are those that the question used. `groups` is None without keys, else how many were declared, or 0 if
    they were found in the data with budget. `notes` hold what only this question has, such as rounding.

    >>> from fractions import Fraction
    >>> from discreet.ledger import Account, Balance, Budget, Cost
    >>> from discreet.schema import Integer
    >>> cost = Cost(Fraction(1, 10), Fraction(1, 200))
    >>> label = Label(
    ...     table="people", person="user_id", rows_per_person=8, columns={"age": Integer(0, 110)},
    ...     noise=[Noise(on="rows", law="discrete Laplace noise", spread=80, moves=8)],
    ...     cost=Receipt(cost=cost, losses=["Laplace(scale=10)"], balances=[Balance(Account(), Budget(2))]),
    ... )
    >>> label.facts["Privacy"]["Unit"]
    'one person: all rows with the same user_id'
    """

    table: str
    person: str | None
    rows_per_person: int
    columns: Mapping[str, Column]
    noise: Sequence[Noise]
    cost: Receipt
    groups: int | None = None
    version: int = 1
    sealed_at: str = ""
    engine: str = "duckdb"
    product: str = "an answer to one question"
    notes: Sequence[str] = ()
    library: str = field(default_factory=lambda: f"discreet {discreet.__version__}")

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", dict(self.columns))
        object.__setattr__(self, "noise", tuple(self.noise))
        object.__setattr__(self, "notes", tuple(self.notes))

    # -- facts ------------------------------------------------------------------------------------------------

    @property
    def unit(self) -> str:
        """Whom the guarantee is about."""
        return "one row" if self.person is None else f"one person: all rows with the same {self.person}"

    @property
    def neighbours(self) -> str:
        """Which tables must not be told apart."""
        whose = "one row" if self.person is None else f"all rows of one {self.person}"
        return f"two tables, one of which lacks {whose}"

    @property
    def contribution(self) -> str:
        """How much one person adds, at most."""
        if self.person is None:
            return "every row counts in full, and is taken for a person of its own"
        rows = "row" if self.rows_per_person == 1 else "rows"
        return (
            f"{self.rows_per_person:,} {rows} per {self.person} count in full; of someone with more, every row is "
            "scaled down, so that together they count no more"
        )

    @property
    def guarantee(self) -> str:
        """What this release promises by itself."""
        promise, spent = self.cost.promise, self.cost.spent
        return f"{promise}" if self.cost.budget.pure else f"{promise} ({spent} as zero-concentrated DP)"

    @property
    def composition(self) -> str:
        """How this release and all others add up."""
        budget = self.cost.budget
        if budget.pure:
            return "the ε of all questions are added up, and stop at the total, however the questions are chosen"
        total = amounts.left(self.cost.whole.total or Fraction(0))
        return (
            f"the ρ of all questions are added up, and stop at {total}, "
            "however the questions are chosen (zCDP filter); the δ of found groups are added up beside"
        )

    @property
    def grouping(self) -> str:
        """Where the groups come from."""
        if self.groups is None:
            return "none: one answer for the whole"
        if self.groups:
            return f"{self.groups:,}, all declared: those with nobody in them are given too"
        delta = amounts.spent(self.cost.cost.delta)
        return f"found in the data with budget, δ = {delta}; groups of few persons are left out"

    @property
    def _over_bound(self) -> str:
        from discreet.query.builder import name

        question = f"select count(distinct {name(self.person or '')}) from {name(self.table)} where over_bound()"
        return f"how many persons is a question like any other, and has a price: {question}"

    @property
    def facts(self) -> Facts:
        """Everything, under headings."""
        promise, total = self.cost.promise, self.cost.total
        columns = {name: f"{describe.domain(c)}; {describe.fate(c)}" for name, c in self.columns.items()}
        return {
            "Privacy": {
                "Unit": self.unit,
                "Neighbours": self.neighbours,
                "Contribution": self.contribution,
                "This release": f"{self.guarantee}. {_line(promise.meaning)}",
                "All releases together": f"{total}. {_line(total.meaning)}",
                "Left": self.cost.left,
                "Adding up": self.composition,
            },
            "Means": {
                "Noise": "; ".join(map(str, self.noise)) or "none",
                "Charged": "; ".join(self.cost.losses),
                "Groups": self.grouping,
                "Published without noise": "nothing read off the rows",
                "Arithmetic": ARITHMETIC,
                "Timing": TIMING,
                "Trust": TRUST,
            },
            "Bounds": {
                **(columns or {"Columns": "none were used"}),
                "What intervals leave out": WEIGHTS,
                **({} if self.person is None else {"Who is over the bound": self._over_bound}),
            },
            "Origin": {
                "Table": f"{self.table}, version {self.version}"
                + (f", sealed {numbers.utc(self.sealed_at)}" if self.sealed_at else ""),
                "Product": self.product,
                **({"Notes": " ".join(self.notes)} if self.notes else {}),
                "Made with": f"{self.library}, {self.engine}",
            },
        }

    def now(self, *balances: Balance) -> Label:
        """Return the label beside the accounts as they are now."""
        return replace(self, cost=self.cost.now(balances))

    # -- in words ---------------------------------------------------------------------------------------------

    def as_text(self, width: int = 80) -> str:
        """Return the label for a terminal."""
        lines: list[str] = []
        for heading, facts in self.facts.items():
            lines += ["", heading] if lines else [heading]
            for name, fact in facts.items():
                lines += _paragraph(plain(name), fact, width)
        return "\n".join(lines)

    def as_html(self) -> str:
        """Return the label for a page, escaped."""
        return "".join(
            f"<h4>{html.escape(heading)}</h4><dl>"
            + "".join(f"<dt>{html.escape(name)}</dt><dd>{html.escape(fact)}</dd>" for name, fact in facts.items())
            + "</dl>"
            for heading, facts in self.facts.items()
        )

    def checklist(self) -> tuple[Item, ...]:
        """Return the questions of NIST SP 800-226, with what is known as answers."""
        from discreet.release.nist import checklist

        return checklist(self)

    def __str__(self) -> str:
        return self.as_text()

    def _repr_html_(self) -> str:
        return f'<div class="discreet">{self.as_html()}</div>'


def plain(text: str) -> str:
    """Return text that a terminal shows as it is: what moves the cursor or turns the line is spelt out.

    >>> plain("a\\x1b[2Jb\\u202ec")
    'a\\\\x1b[2Jb\\\\u202ec'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def wrapped(text: str, width: int) -> list[str]:
    """Return text in lines that a terminal shows as they are. An amount is not torn apart.

    >>> wrapped("it cost ε = 0.1", 12)
    ['it cost', 'ε = 0.1']
    """
    whole = re.sub(r"([εδρ]) = ([^ ;,]+)", "\\1\x1f=\x1f\\2", plain(" ".join(text.split())))
    return [line.replace("\x1f", " ") for line in textwrap.wrap(whole, width)] or [""]


def _line(text: str) -> str:
    return text.replace("\n", " ")


def _paragraph(name: str, fact: str, width: int) -> list[str]:
    label = f"  {textwrap.shorten(name, _NAMES, placeholder='…')}"
    room = max(20, width - _NAMES - 4)
    first, *rest = wrapped(fact, room)
    return [f"{label:<{_NAMES + 4}}{first}", *(" " * (_NAMES + 4) + line for line in rest)]
