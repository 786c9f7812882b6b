"""State what a collection guarantees to a device: in words, and as three numbers that belong together.

    local       one report, against every recipient
    lifetime    all reports of a device, against an attacker who collects them for years and knows the device
    shuffled    one report among n, against an attacker who sees all batches that leave the shuffler; at a δ

A shuffled ε without the local one is a half-truth: it holds as long as the shuffler and the server do not work
together, and if they do, the local one is what remains. Malicious reports hide no device: n counts reports of
honest devices.

A report hides behind fresh noise of the other devices, and a server sees every batch. So what counts is the
`noise` that is drawn anew in each report:

    fresh         policy "none", or one report of each device in all: the whole protocol is amplified
    second step   "two-step": others' permanent answers may be known from other batches, and are taken to be. The
                  second step alone is amplified, as a protocol on permanent answers
    repeated      "memoised", and two steps whose second one hides too little: nothing is amplified. The difference
                  of two batches may be the report of one device, so the local ε is stated

With the first two, every report among the n has noise of its own, also if several are of one device. One report of
a device in each of k batches costs k·ε at k·δ. Derived in docs/theory/local-shuffle.md; why the local guarantee
holds is in docs/theory/local-system.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING

from discreet.errors import Fix, ParameterError
from discreet.local.collection.policy import Policy
from discreet.local.design.shuffle_amplification import amplified, shuffled
from discreet.local.protocols.frequency.two_step_grr import TwoStepGRR
from discreet.local.protocols.frequency.two_step_unary import TwoStepUnary
from discreet.local.protocols.longitudinal import Remembering
from discreet.local.protocols.protocol import Randomiser
from discreet.rational import Rational, rational, whole

if TYPE_CHECKING:
    from discreet.local.collection.collection import Collection

FRESH, SECOND_STEP, REPEATED = "fresh", "second step", "repeated"
"""The noise of other devices that a report hides behind."""

_DIGITS = 4


@dataclass(frozen=True)
class Guarantee:
    """The ε of one report, of a life, and of a report among n; decimals, all rounded up.

    `noise` is what the shuffled ε rests on, and `reports` how many of them one device may send.

    >>> from discreet.local.collection.collection import Collection
    >>> survey = Collection.design(
    ...     "colours", domain=["red", "green"], epsilon=1, window=("2026-01-01", "2026-12-31")
    ... )
    >>> print(promised(survey, n=10_000))
    Local: one report costs ε = 1 against every recipient.
    Lifetime: all reports of a device together cost ε = 1.
    Shuffled: one report among 10,000 of honest devices costs ε = 0.04323 at δ = 1e-6, if the shuffler and the
    server do not work together. If they do, one report costs ε = 1.
    """

    local: str
    lifetime: str
    shuffled: str
    delta: str
    n: int
    noise: str = FRESH
    reports: int = 1

    @property
    def sentences(self) -> list[str]:
        """One sentence for each of the three guarantees."""
        return [
            f"Local: one report costs ε = {self.local} against every recipient.",
            f"Lifetime: all reports of a device together cost ε = {self.lifetime}.",
            f"Shuffled: {self._among}",
        ]

    @property
    def _among(self) -> str:
        if self.noise == REPEATED:
            return (
                f"one report among {self.n:,} costs ε = {self.local}, as without a shuffler. Devices repeat their "
                "answers, so the difference of two batches may be the report of one device."
            )
        several = ", and k of a device in k batches cost k times that" if self.reports > 1 else ""
        known = (
            " This counts the fresh noise of reports alone, because the repeated answers may be known by now."
            if self.noise == SECOND_STEP
            else ""
        )
        return (
            f"one report among {self.n:,} of honest devices costs ε = {self.shuffled} at δ = {self.delta}"
            f"{several}, if the shuffler and the server do not work together. If they do, one report "
            f"costs ε = {self.local}.{known}"
        )

    def __str__(self) -> str:
        return "\n".join(self.sentences)


def promised(collection: Collection, *, n: int, delta: Rational = "1e-6", malicious: Rational = 0) -> Guarantee:
    """Return what a collection guarantees to a device in a batch of n reports.

    Args:
        collection: The collection.
        n: How many reports the batch has.
        delta: The δ of the shuffled guarantee; 1e-6 by default.
        malicious: The share of the reports that may be malicious, from 0 to below 1; 0 by default.

    >>> from discreet.local.collection.collection import Collection
    >>> monthly = Collection.design(
    ...     "colours", domain=["red", "green"], epsilon=1, longitudinal="memoised",
    ...     window=("2026-01-01", "2026-12-31"),
    ... )
    >>> print(promised(monthly, n=10_000).sentences[2])
    Shuffled: one report among 10,000 costs ε = 1, as without a shuffler. Devices repeat their answers, so the
    difference of two batches may be the report of one device.
    """
    share = rational(malicious, "malicious", floats="exact")
    if not 0 <= share < 1:
        raise ParameterError(
            "The share of malicious devices must be at least 0 and below 1.",
            found=malicious,
            fix=Fix("malicious", "0.01"),
        )
    honest = max(1, math.floor(whole(n, "n") * (1 - share)))
    found, noise = _hidden(collection, honest, delta)
    return Guarantee(
        collection.epsilon,
        collection.lifetime,
        collection.epsilon if found is None else _above(found, collection.epsilon),
        str(delta),
        honest,
        noise,
        collection.reports_of_a_device,
    )


def describe(randomiser: Randomiser, policy: Policy, epsilon: str, lifetime: str) -> str:
    """Return the local guarantee in words: for one report at ε, and for a whole life.

    Args:
        randomiser: The protocol.
        policy: How a device answers again.
        epsilon: The ε of one report, as a decimal.
        lifetime: The ε of all reports of a device, as a decimal.

    >>> from discreet.local.protocols.frequency.grr import warner
    >>> print(describe(warner("0.55"), Policy(reports=2), "0.2", "0.4").split("\\n")[1])
    A device makes at most 2 reports in all, which cost ε = 0.4.
    """
    lines = [
        f"One report costs ε = {epsilon}: its recipient, whatever else they know, can be at most e^ε times surer "
        "of any answer than before."
    ]
    if policy.policy == "none":
        reports = (
            "1 report in all, which costs"
            if policy.reports == 1
            else f"{policy.reports} reports in all, which cost"
        )
        return "\n".join([*lines, f"A device makes at most {reports} ε = {lifetime}."])
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
            "its case changed is not hidden, and reveals something about the values: ε bounds what is learnt "
            "beyond that."
        )
    return (
        f"It answers for its first {distinct} different values. When its value changed is not hidden: ε bounds "
        "what is learnt about the values by those who know when they changed."
    )


def _hidden(collection: Collection, n: int, delta: Rational) -> tuple[float | None, str]:
    """Return the ε of one report for an attacker who sees all batches, if below the local one, and its noise."""
    randomiser, policy = collection.randomiser, collection.policy.policy
    whole_report = shuffled(randomiser, n, delta)  # this also refuses an invalid δ
    if policy == "none" or collection.reports_of_a_device == 1:
        return whole_report, FRESH
    found = math.inf
    if policy == "two-step" and isinstance(randomiser, TwoStepGRR):
        found = shuffled(randomiser.second, n, delta)
    elif policy == "two-step" and isinstance(randomiser, TwoStepUnary):
        found = amplified(randomiser.second_loss.epsilon, n, delta)
    return (found, SECOND_STEP) if found < randomiser.loss.epsilon else (None, REPEATED)


def _above(found: float, most: str) -> str:
    """Return the number with a few digits, rounded up, and never above the local ε."""
    exact = Decimal(found)
    places = Decimal(1).scaleb(exact.adjusted() - _DIGITS + 1)
    return f"{min(exact.quantize(places, ROUND_CEILING), Decimal(most)):f}"
