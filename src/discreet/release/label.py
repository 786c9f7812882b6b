"""Label a release: whom it protects, how well, by what means, and what it does not cover.

Every fact was declared by the curator, fixed by the plan, or charged to the ledger. A label is therefore filled
without reading a row, and is as public as the release that it is attached to. Some facts cannot be known to
software, such as why this ε was chosen: the label says that the curator has to answer them, and does not invent
them. The facts are those that reviewers ask for: the tiers of the public registry of deployments
(discreet.release.registry), and the questions of NIST SP 800-226 (discreet.release.nist).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from typing import Literal, TypeAlias

import discreet
from discreet.errors import Fix, ParameterError
from discreet.ledger.balance import Balance
from discreet.release import nist, registry
from discreet.release.receipt import Receipt
from discreet.release.statements import CENTRAL, LOCAL, Statements
from discreet.render import numbers
from discreet.render.html import fragment, framed
from discreet.render.terminal import paragraph
from discreet.schema import Column, describe
from discreet.schema.identifiers import quote

Facts: TypeAlias = dict[str, dict[str, str]]
"""Headings, and under each of them facts by name."""

_NAMES = 24  # columns of the names of facts in a terminal
_PAGE = (
    "{% for heading, named in facts.items() %}<h4>{{ heading }}</h4><dl>"
    "{% for name, fact in named.items() %}<dt>{{ name }}</dt><dd>{{ fact }}</dd>{% endfor %}</dl>{% endfor %}"
)


@dataclass(frozen=True)
class Noise:
    """One quantity that was measured, and the noise on it, in the units of the answer.

    Args:
        on: The quantity, in words.
        law: The law of the noise, or the mechanism that chose the value.
        spread: The scale of Laplace noise or the standard deviation of Gaussian noise; None by default, where a
            value was chosen and no noise was added to it.
        sensitivity: The most that one person can change the quantity; None by default.
        loss: The privacy loss that was charged, in words.

    >>> print(Noise(on="rows", law="discrete Laplace noise", spread=80, sensitivity=8, loss="Laplace(scale=10)"))
    rows: discrete Laplace noise of scale 80; sensitivity 8
    """

    on: str
    law: str
    spread: float | None = None
    sensitivity: float | None = None
    loss: str = ""

    def __str__(self) -> str:
        name = "standard deviation" if "Gaussian" in self.law else "scale"
        size = "" if self.spread is None else f" of {name} {numbers.number(self.spread)}"
        law = self.law.replace(" noise", f" noise{size}", 1) if " noise" in self.law else self.law + size
        most = "" if self.sensitivity is None else f"; sensitivity {numbers.number(self.sensitivity, 6)}"
        return f"{self.on}: {law}{most}"


@dataclass(frozen=True)
class Label:
    """The facts about a release, or about any other result that leaves a vault or a local collection.

    Args:
        table: The name of the sealed table, or of the collection.
        person: The column that identifies a person; None if every row is a person.
        rows_per_person: The number of rows of one person that count in full; of reports of one device under the
            local model.
        columns: The columns that the question used.
        noise: The quantities that were measured, with their noise.
        receipt: What was charged, and what is left.
        groups: None without keys, else the number of declared groups, or 0 if partition selection found them.
        version: The version of the sealed rows.
        sealed_at: The time of sealing, in ISO form.
        engine: The engine that holds the rows.
        product: The kind of result.
        notes: Facts about this question only, such as rounding.
        library: The name and version of this library.
        model: "central" by default, for the rows of a vault; "local" for reports of devices.
        arithmetic: How numbers are computed, where it is not as in every other release; empty by default.

    >>> from fractions import Fraction
    >>> from discreet.ledger import Account, Balance, Budget, Cost
    >>> from discreet.schema import Integer
    >>> cost = Cost(Fraction(1, 10), Fraction(1, 200))
    >>> label = Label(
    ...     table="people", person="user_id", rows_per_person=8, columns={"age": Integer(0, 110)},
    ...     noise=[Noise(on="rows", law="discrete Laplace noise", spread=80, sensitivity=8)],
    ...     receipt=Receipt(cost=cost, losses=["Laplace(scale=10)"], balances=[Balance(Account(), Budget(2))]),
    ... )
    >>> label.facts["Privacy"]["Unit"]
    'one person: all rows with the same user_id'
    """

    table: str
    person: str | None
    rows_per_person: int
    columns: Mapping[str, Column]
    noise: Sequence[Noise]
    receipt: Receipt
    groups: int | None = None
    version: int = 1
    sealed_at: str = ""
    engine: str = "duckdb"
    product: str = "an answer to one question"
    notes: Sequence[str] = ()
    library: str = field(default_factory=lambda: f"discreet {discreet.__version__}")
    model: Literal["central", "local"] = "central"
    arithmetic: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", dict(self.columns))
        object.__setattr__(self, "noise", tuple(self.noise))
        object.__setattr__(self, "notes", tuple(self.notes))
        if self.local != (self.receipt.lifetime is not None):
            raise ParameterError(
                "A label of the local model has the receipt of a device, and any other that of a vault.",
                found=self.model,
                fix=Fix("model", "local" if self.receipt.lifetime is not None else "central"),
            )

    # -- facts ------------------------------------------------------------------------------------------------

    @property
    def cost(self) -> Receipt:
        """The receipt, under its old name."""
        return self.receipt

    @property
    def local(self) -> bool:
        """Whether devices randomise their own values, and there is no vault."""
        return self.model == "local"

    @property
    def statements(self) -> Statements:
        """What is true of every release of this model."""
        return LOCAL if self.local else CENTRAL

    @property
    def unit(self) -> str:
        """The unit of privacy."""
        if self.local:
            return "one device"
        return "one row" if self.person is None else f"one person: all rows with the same {self.person}"

    @property
    def neighbours(self) -> str:
        """The pairs of tables, or of values, that must not be told apart."""
        if self.local:
            return "any two values of one device"
        whose = "one row" if self.person is None else "all rows of one person"
        return f"two tables, one of which lacks {whose}"

    @property
    def contribution(self) -> str:
        """The most that one person, or one device, adds."""
        if self.local:
            reports = "report" if self.rows_per_person == 1 else "reports"
            return f"at most {self.rows_per_person:,} {reports} of each device were counted"
        if self.person is None:
            return "every row counts in full, and is treated as a person of its own"
        counted = "row per person counts" if self.rows_per_person == 1 else "rows per person count"
        return (
            f"{self.rows_per_person:,} {counted} in full; if a person has more, each "
            f"of these rows is scaled down, so that together they count as {self.rows_per_person:,}"
        )

    @property
    def guarantee(self) -> str:
        """The guarantee of this release by itself."""
        promise, spent = self.receipt.promise, self.receipt.spent
        return f"{promise}" if self.receipt.budget.pure else f"{promise} ({spent} as zero-concentrated DP)"

    @property
    def composition(self) -> str:
        """The rule by which this release and all others add up."""
        budget = self.receipt.budget
        if self.local:
            return (
                f"all reports of a device to this collection cost at most ε = {numbers.left(budget.epsilon)}; "
                "those to other collections are added up by the device"
            )
        if budget.pure:
            return "the ε of all questions are added up, and stop at the total, however the questions are chosen"
        total = numbers.left(self.receipt.whole.total or Fraction(0))
        return (
            f"the ρ of all questions are added up, and stop at {total}, "
            "however the questions are chosen (zCDP filter); the δ of partition selection are added up separately"
        )

    @property
    def grouping(self) -> str:
        """The origin of the groups."""
        if self.local:
            return "those that the collection or the analyst listed, or that were found among the reports"
        if self.groups is None:
            return "none: one answer for the whole table"
        if self.groups:
            return f"{self.groups:,}, all declared: groups without a row are shown too"
        delta = numbers.spent(self.receipt.cost.delta)
        return f"found by partition selection, δ = {delta}; groups of few persons are left out"

    @property
    def _over_bound(self) -> str:
        question = f"select count(distinct {quote(self.person or '')}) from {quote(self.table)} where over_bound()"
        return f"to count them is a question like any other, and is charged: {question}"

    @property
    def facts(self) -> Facts:
        """All facts, under headings."""
        promise, total = self.receipt.promise, self.receipt.total
        columns = {name: f"{describe.domain(c)}; {describe.fate(c)}" for name, c in self.columns.items()}
        statements = self.statements
        return {
            "Privacy": {
                "Unit": self.unit,
                "Neighbours": self.neighbours,
                "Contribution": self.contribution,
                "This release": f"{self.guarantee}. {_line(promise.meaning)}",
                "All releases together": f"{total}. {_line(total.meaning)}",
                "Left": self.receipt.left,
                "Composition": self.composition,
            },
            "Means": {
                "Noise": "; ".join(map(str, self.noise)) or "none",
                "Charged": "; ".join(self.receipt.losses),
                "Groups": self.grouping,
                "Published without noise": "nothing that depends on the rows",
                "Arithmetic": self.arithmetic or statements.arithmetic,
                "Timing": statements.timing,
                "Trust": statements.trust,
            },
            "Bounds": {
                **(columns or ({} if self.local else {"Columns": "none were used"})),
                "Not in the intervals": statements.bias,
                **({} if self.person is None else {"Who is over the bound": self._over_bound}),
            },
            "Origin": {
                **self._origin,
                "Product": self.product,
                **({"Notes": " ".join(self.notes)} if self.notes else {}),
                "Made with": self.library if self.local else f"{self.library}, {self.engine}",
            },
        }

    @property
    def _origin(self) -> dict[str, str]:
        if self.local:
            return {"Collection": self.table}
        sealed = f", sealed {numbers.utc(self.sealed_at)}" if self.sealed_at else ""
        return {"Table": f"{self.table}, version {self.version}{sealed}"}

    def now(self, *balances: Balance) -> Label:
        """Return the label with the accounts as they are now."""
        return replace(self, receipt=self.receipt.now(balances))

    # -- rendering --------------------------------------------------------------------------------------------

    def as_text(self, width: int = 80) -> str:
        """Return the label for a terminal, in lines of this width."""
        lines: list[str] = []
        for heading, facts in self.facts.items():
            lines += ["", heading] if lines else [heading]
            for name, fact in facts.items():
                lines += paragraph(name, fact, _NAMES, width)
        return "\n".join(lines)

    def as_html(self) -> str:
        """Return the label as a fragment of HTML, escaped."""
        return fragment(_PAGE, facts=self.facts)

    def checklist(self) -> tuple[nist.Item, ...]:
        """Return the questions of NIST SP 800-226, with the known facts as answers."""
        return nist.checklist(self)

    def registry_entry(
        self,
        *,
        name: str,
        curators: Sequence[str],
        authors: Sequence[str],
        intended_use: str,
        region: str,
        description: str,
        published: date | str,
        of: Literal["release", "vault"] = "release",
        product: str | None = None,
        sector: str | None = None,
        justification: str = "",
        sources: str = "",
    ) -> str:
        """Return the entry for the public registry of deployments, as JSON, which YAML 1.2 reads too.

        Args:
            name: The name of the deployment.
            curators: The names of the organisations that hold the data.
            authors: The names of the authors of the entry.
            intended_use: What the product is for.
            region: The region that the product is about.
            description: The product, in a few sentences.
            published: The day of publication.
            of: "release" for this release, by default; "vault" for everything that may be asked of the vault.
            product: The kind of product, from the registry's list; chosen from `of` by default.
            sector: The sector, from the registry's list; none by default.
            justification: The reasons for these choices. Without it the entry is of tier 2, else of tier 3.
            sources: Where to read more; none by default.
        """
        about = registry.About(
            name=name,
            curators=curators,
            authors=authors,
            intended_use=intended_use,
            region=region,
            description=description,
            published=published,
            of=of,
            product=product,
            sector=sector,
            justification=justification,
            sources=sources,
        )
        return registry.entry(self, about)

    def __str__(self) -> str:
        return self.as_text()

    def _repr_html_(self) -> str:
        return framed(self.as_html())


def _line(text: str) -> str:
    return text.replace("\n", " ")
