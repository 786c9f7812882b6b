"""Define what all methods share: terms that are fixed before the holdout is looked at, a state, and replies.

The state of a method is a function of the transcript: the number of questions, of answers from the holdout, and
of questions without an answer. It is replayed from the journal, so every process that shares the transcript has
the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeAlias

from discreet.kernel.journal import Journal
from discreet.privacy.losses import Loss
from discreet.release.label import Noise
from discreet.validity.metric import Integers
from discreet.validity.theorems.sparse_answers import GRAIN
from discreet.validity.theorems.transcript import refusals_share

Total: TypeAlias = Callable[[Integers | None], int]
"""Adds up the numbers of all rows, or of some rows by their index, in units of 1/GRAIN."""

ROUNDING = 1 / GRAIN
"""What rounding to 1/GRAIN can lower a mean by."""


@dataclass(frozen=True)
class Terms:
    """What is fixed before the holdout is looked at.

    Args:
        rows: The number of rows of the holdout.
        beta: The probability that one of all intervals fails.
        queries: The number of questions that was announced.
        overfits: The number of answers from the holdout that was announced.
        greater_is_better: Whether a better model has a larger score.
        seed: Fixed coins of the holdout, which do not depend on its rows.
        widest: The widest margin that is accepted.
    """

    rows: int
    beta: float
    queries: int
    overfits: int
    greater_is_better: bool = True
    seed: bytes = b""
    widest: float = 1.0


class Reply(NamedTuple):
    """One reply: the released value, its interval, and its source. `facts` is the state that it leaves."""

    value: float
    low: float
    high: float
    source: str
    note: str = ""
    facts: Mapping[str, Any] = {}

    @classmethod
    def within(cls, value: float, low: float, high: float, source: str, note: str = "", **facts: Any) -> Reply:
        """Return a reply whose interval is inside of [0, 1], and holds its value; rounding is added above."""
        least, most = max(0.0, min(low, 1.0)), min(1.0, max(high + ROUNDING, 0.0))
        return cls(min(max(value, least), most), least, most, source, note, facts)


class Method:
    """A way to answer. Subclasses say how wide the next answer would be, and give it."""

    name: ClassVar[str]
    title: ClassVar[str]
    limited: ClassVar[bool] = False
    """Whether the number of answers is fixed beforehand."""
    private: ClassVar[bool] = False

    def __init__(self, terms: Terms):
        self.terms = terms
        self.asked = self.failures = self.refused = self.errors = 0

    @property
    def beta(self) -> float:
        """The probability of failure that the errors so far leave, for a theorem about k answers.

        A question that was lost with its process does not count here: its reply was not seen, and its statistic
        had been computed before.
        """
        return self.terms.beta * refusals_share(self.terms.queries, self.errors)

    @property
    def losses(self) -> Loss | None:
        """The privacy loss of all answers together; None if the method is not private."""
        return None

    @property
    def noise(self) -> list[Noise]:
        """The noise of the method, for its label."""
        return []

    @property
    def rho(self) -> Any:
        """What the journal may spend on runs of a threshold test: nothing by default."""
        return 0

    def width(self, more: int = 0) -> float:
        """Return about how wide the next answer is, or the one after so many more without a surprise."""
        raise NotImplementedError

    def widened(self) -> float:
        """Return how wide all answers would have had to be, had one more been announced."""
        return self.width()

    @property
    def exhausted(self) -> bool:
        """Whether all answers that were announced are given."""
        return self.limited and self.asked >= self.terms.queries

    def begin(self, journal: Journal) -> dict[str, Any]:
        """Prepare a question, before it is announced; return facts for its announcement."""
        return {}

    def reply(self, total: Total, guess: float | None) -> Reply:
        """Answer one question."""
        raise NotImplementedError

    def take(self, reply: Reply) -> None:
        """Count an answer."""
        self.asked += 1
        self.failures += reply.source == "holdout"

    def refuse(
        self, questions: int = 1, announced: Mapping[str, Any] | None = None, *, error: bool = False
    ) -> None:
        """Count questions that had no answer: because of an error on the holdout, or with a lost process."""
        self.asked += questions
        self.refused += questions
        self.errors += questions if error else 0

    def resume(self, record: Mapping[str, Any]) -> None:
        """Go on with what another process wrote beside questions and answers."""

    def mean(self, total: Total) -> float:
        """Return the mean over all rows."""
        return total(None) / (GRAIN * self.terms.rows)

    def hoeffding(self, log_failures: float) -> float:
        """Return the half-width that fails with probability 2e^{−log_failures}."""
        return math.sqrt(log_failures / (2 * self.terms.rows))
