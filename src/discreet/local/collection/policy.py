"""How a device answers the same question again, and what is counted over its life.

    none        each report is drawn anew: `reports` of them at most, and their ε add up
    memoised    the report on a value is drawn once and repeated
    two-step    the permanent answer to a value is drawn once, and fresh noise is added to it in each report

With a memory, reports on one value cost the same however many there are; `distinct` is for how many values a
device has permanent answers. Between two reports are `every` days at least. What follows for ε is in `descriptor`.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import ParameterError
from discreet.rational import whole

_POLICIES = ("none", "memoised", "two-step")


@dataclass(frozen=True)
class Policy:
    """How a device answers again: how often, with which randomness, and for how many different values.

    >>> Policy("memoised")
    Policy(policy='memoised', reports=None, distinct=1, every=1)
    """

    policy: str = "none"
    reports: int | None = None
    distinct: int | None = None
    every: int = 1

    def __post_init__(self) -> None:
        if self.policy not in _POLICIES:
            raise ParameterError(f"longitudinal is one of {', '.join(_POLICIES)}, not {self.policy!r}.")
        counted, other = ("reports", "distinct") if self.policy == "none" else ("distinct", "reports")
        if getattr(self, other) is not None:
            raise ParameterError(f'Under the policy "{self.policy}" a life is counted in {counted}, not {other}.')
        object.__setattr__(
            self, counted, whole(1 if getattr(self, counted) is None else getattr(self, counted), counted)
        )
        object.__setattr__(self, "every", whole(self.every, "every"))
