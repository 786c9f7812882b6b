"""What a collection promises to a device, in words. Why it holds is in docs/theory/local-system.md."""

from __future__ import annotations

from discreet.local.collection.policy import Policy
from discreet.local.protocols.longitudinal import Remembering
from discreet.local.protocols.protocol import Randomiser


def guarantee(randomiser: Randomiser, policy: Policy, epsilon: str, lifetime: str) -> str:
    """Return the promise: for one report at ε, and for a whole life.

    >>> from discreet.local.protocols.frequency.grr import warner
    >>> print(guarantee(warner("0.55"), Policy(reports=2), "0.2", "0.4").split("\\n")[1])
    A device makes at most 2 reports in all, which cost ε = 0.4.
    """
    lines = [
        f"One report costs ε = {epsilon}: whoever holds it, and whatever else they know, can be at most e^ε times "
        "surer of any answer than before."
    ]
    if policy.policy == "none":
        return "\n".join(
            [*lines, f"A device makes at most {policy.reports} reports in all, which cost ε = {lifetime}."]
        )
    lines.append(f"However often a device reports, its life in this collection costs ε = {lifetime}.")
    lines.append(_changes(policy.distinct or 1, isinstance(randomiser, Remembering)))
    if policy.policy == "memoised":
        bits = 8 * randomiser.payload_bytes
        lines.append(f"Its report is the same every time, and may be recognised by its {bits} bits.")
    return "\n".join(lines)


def _changes(distinct: int, cases: bool) -> str:
    if distinct == 1:
        return "It answers for its first value always, so that a change of its value is never seen."
    if cases:
        return (
            f"It answers for its first {distinct} different cases, of which it has few and draws its own. When "
            "its case changed is not hidden, and tells of the values: ε bounds what is learnt beyond that."
        )
    return (
        f"It answers for its first {distinct} different values. When its value changed is not hidden: ε bounds "
        "what is learnt about the values by those who know when they changed."
    )
