"""Preview a question: its cost, and the margins of error of its answer."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from discreet.ledger import Cost
from discreet.query.plan.explain import Expected
from discreet.render import amounts
from discreet.render.html import framed


@dataclass(frozen=True)
class Preview:
    """The cost of a question and the margins of its answer. It reads no data and spends no budget."""

    question: str
    expected: tuple[Expected, ...]
    plan: str
    cost: Cost
    affordable: bool
    recorded: bool
    """Whether the same question was answered before: then it is free."""
    unit: str = "ε"
    """The amount that the ledger adds up: ε, or ρ if its budget has a δ."""

    @property
    def price(self) -> str:
        """The cost, in the amount that the ledger adds up."""
        pure = self.cost.epsilon if self.unit == "ε" else None
        amount = f"ρ = {amounts.spent(self.cost.rho)}" if pure is None else f"ε = {amounts.spent(pure)}"
        return f"{amount} and δ = {amounts.spent(self.cost.delta)}" if self.cost.delta else amount

    def __repr__(self) -> str:
        price = "answered before: free" if self.recorded else self.price
        return f"Preview({self.question[:60]!r}, {price})"

    def __str__(self) -> str:
        return "\n".join([self.plan, *self._verdict])

    def _repr_html_(self) -> str:
        widths = "".join(
            f"<dt>{escape(number.name)}</dt><dd>{escape(number.words.removeprefix(f'{number.name}: '))}</dd>"
            for number in self.expected
        )
        plan = "".join(f"<p>{escape(line)}</p>" for line in self.plan.splitlines())
        return framed(
            f"<p><code>{escape(self.question)}</code></p><dl>{widths}</dl><p>{escape(' '.join(self._verdict))}</p>"
            f"<details><summary>Plan</summary>{plan}</details>"
        )

    @property
    def _verdict(self) -> list[str]:
        if self.recorded:
            return ["Answered before: free."]
        return [f"Cost {self.price}.", "There is enough left." if self.affordable else "There is not enough left."]
