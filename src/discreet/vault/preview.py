"""What a question would cost, and how wide its answer would be. Tested in tests/vault/test_vault.py."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.ledger import Cost
from discreet.vault.wording import Expected


@dataclass(frozen=True)
class Preview:
    """What a question would cost and how wide its answer would be. It touches neither data nor budget."""

    question: str
    expected: tuple[Expected, ...]
    plan: str
    cost: Cost
    affordable: bool
    recorded: bool
    """Whether the same question was answered already: then it is free."""

    def __str__(self) -> str:
        verdict = (
            "Answered before: free."
            if self.recorded
            else "There is enough left."
            if self.affordable
            else "There is not enough left."
        )
        return f"{self.plan}\n{verdict}"
