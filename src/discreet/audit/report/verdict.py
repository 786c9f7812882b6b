"""Define the records of an audit: the verdict of one attack, and the report of all attacks on one subject."""

from __future__ import annotations

from dataclasses import dataclass, field

from discreet.privacy import TradeOff


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The verdict of one attack.

    `found` is a lower bound on the ε that the subject loses, at `delta`; `claimed` is the upper bound that it
    claims. Attacks on the course of a computation, not on its law, have `words` only. A `confidence` of None means
    that the attack used no statistics: the verdict is certain.

    An attack that enumerates draws may have to stop before its end. If it has refuted nothing until then, it is
    `undecided`: neither caught nor shown to hold. `unexplored` is the probability of the draws that are left.

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
    undecided: bool = False
    unexplored: float | None = None
    attained: tuple[tuple[float, float], ...] = field(default=(), repr=False)
    """(false alarms, misses) of the tests that the attack tried, for a picture."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """The verdicts of all attacks on one subject.

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

    @property
    def undecided(self) -> bool:
        """Whether nothing was caught, and every attack that enumerates draws stopped before its end."""
        ended = [not verdict.undecided for verdict in self.verdicts if verdict.unexplored is not None]
        return not self.caught and bool(ended) and not any(ended)
