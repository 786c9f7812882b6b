"""What an attack found, and what all attacks on one subject found together: records, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field

from discreet.privacy import TradeOff


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What one attack found.

    `found` is an ε that the subject loses at least, at `delta`; `claimed` is what it says that it loses at most.
    Attacks that look at the way a computation goes, not at its law, have words only. A `confidence` of None means
    that there is no statistics in it, and so no doubt.

    >>> Verdict(attack="exact", caught=True, words="Twice the ε.", claimed=1.0, found=2.0).caught
    True
    """

    attack: str
    caught: bool
    words: str
    claimed: float | None = None
    found: float | None = None
    delta: float = 0.0
    confidence: float | None = None
    seconds: float = 0.0
    attained: tuple[tuple[float, float], ...] = field(default=(), repr=False)
    """(false alarms, misses) of the tests that the attack tried: what a picture shows beside the claim."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """What all attacks on one subject found.

    >>> Report(subject="a coin", claim="Pure(epsilon=1)", verdicts=()).caught
    False
    """

    subject: str
    claim: str
    verdicts: tuple[Verdict, ...]
    declared: TradeOff | None = field(default=None, repr=False)
    """The trade-off curve of the claim, for a picture."""

    @property
    def caught(self) -> bool:
        """Whether any attack refuted the claim."""
        return any(verdict.caught for verdict in self.verdicts)
