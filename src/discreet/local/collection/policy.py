"""Define how a device answers the same question again, and what limits its life.

    none        each report is drawn anew: `reports` of them at most, and their ε add up
    memoised    the report on a value is drawn once and repeated
    two-step    the permanent answer to a value is drawn once, and fresh noise is added to it in each report

Under the last two, reports on one value cost the same however many there are; `distinct` is the number of values
for which a device has permanent answers. Between two reports are at least `every` days. What follows for ε is in
`discreet.local.collection.collection`.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import Fix, ParameterError
from discreet.rational import whole

_POLICIES = ("none", "memoised", "two-step")


@dataclass(frozen=True)
class Policy:
    """The rule by which a device answers again: how often, with which randomness, for how many values.

    Args:
        policy: "none", "memoised" or "two-step"; "none" by default.
        reports: The limit of reports under "none"; 1 by default.
        distinct: The limit of different values under the other two; 1 by default.
        every: The days between two reports; 1 by default.

    >>> Policy("memoised")
    Policy(policy='memoised', reports=None, distinct=1, every=1)
    """

    policy: str = "none"
    reports: int | None = None
    distinct: int | None = None
    every: int = 1

    def __post_init__(self) -> None:
        if self.policy not in _POLICIES:
            raise ParameterError(
                f"The policy must be one of {', '.join(_POLICIES)}.",
                found=repr(self.policy),
                fix=Fix("policy", "memoised"),
            )
        counted, other = ("reports", "distinct") if self.policy == "none" else ("distinct", "reports")
        if getattr(self, other) is not None:
            raise ParameterError(
                f'The policy "{self.policy}" limits {counted}, not {other}.',
                fix=Fix(counted, getattr(self, other)),
            )
        object.__setattr__(
            self, counted, whole(1 if getattr(self, counted) is None else getattr(self, counted), counted)
        )
        object.__setattr__(self, "every", whole(self.every, "every"))
