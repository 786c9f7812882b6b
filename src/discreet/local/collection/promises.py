"""What is promised to a device, against everybody it might fear: three numbers that belong together.

    local       one report, against whoever receives it
    lifetime    all reports of a device, against whoever collects them for years and knows they are one device's
    shuffled    one report among n, against whoever sees all batches that leave the shuffler; at a δ

A shuffled ε without the local one is a half-truth: it holds as long as the shuffler and the server do not talk to
each other, and if they do, the local one is what remains. Liars hide nobody: n counts reports of honest devices.

A report hides behind noise of the others that nobody knows yet, and a server sees every batch. So what counts is
the `noise` that is drawn anew in each report:

    fresh         policy "none", or one report of each device in all: the whole protocol is amplified
    second step   "two-step": others' permanent answers may be known from other batches, and are taken to be. The
                  second step alone is amplified, as a protocol on permanent answers
    repeated      "memoised", and two steps whose second one hides too little: nothing is. A batch less another one
                  may be the report of one device, so the local ε is stated

With the first two, every report among the n has noise of its own, also if several are of one device. One report of
a device in each of k batches costs k·ε at k·δ. Derived in docs/theory/local-shuffle.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal

from discreet.errors import ParameterError
from discreet.local.collection.collection import Collection
from discreet.local.design.shuffle_amplification import amplified, shuffled
from discreet.local.protocols.frequency.two_step_grr import TwoStepGRR, TwoStepUnary
from discreet.rational import Rational, rational, whole

FRESH, SECOND_STEP, REPEATED = "fresh", "second step", "repeated"
"""What noise of others a report hides behind."""

_DIGITS = 4


@dataclass(frozen=True)
class Guarantee:
    """The ε of one report, of a life, and of a report among n; decimals, all rounded up.

    `noise` is what the shuffled ε rests on, and `reports` how many of them one device may send.

    >>> survey = Collection.design(
    ...     "colours", domain=["red", "green"], epsilon=1, window=("2026-01-01", "2026-12-31")
    ... )
    >>> print(promised(survey, n=10_000))
    Local: one report costs ε = 1, whoever receives it.
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
        """The three promises in words."""
        return [
            f"Local: one report costs ε = {self.local}, whoever receives it.",
            f"Lifetime: all reports of a device together cost ε = {self.lifetime}.",
            f"Shuffled: {self._among}",
        ]

    @property
    def _among(self) -> str:
        if self.noise == REPEATED:
            return (
                f"no less than ε = {self.local} is promised to one report among {self.n:,}. Devices repeat what "
                "they once drew, and whoever subtracts one batch from another may be left with one device's "
                "report."
            )
        several = ", and k of a device in k batches cost k times that" if self.reports > 1 else ""
        known = (
            " This counts the fresh noise of reports alone, since what devices repeat may be known by now."
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


def promised(collection: Collection, *, n: int, delta: Rational = "1e-6", liars: Rational = 0) -> Guarantee:
    """Return what a collection promises a device of a batch of n reports, of which a fraction may be lies.

    >>> monthly = Collection.design(
    ...     "colours", domain=["red", "green"], epsilon=1, longitudinal="memoised",
    ...     window=("2026-01-01", "2026-12-31"),
    ... )
    >>> print(promised(monthly, n=10_000).sentences[2])
    Shuffled: no less than ε = 1 is promised to one report among 10,000. Devices repeat what they once drew, and
    whoever subtracts one batch from another may be left with one device's report.
    """
    lying = rational(liars, "liars", floats="exact")
    if not 0 <= lying < 1:
        raise ParameterError(f"a fraction of lying devices is from 0 to below 1, not {liars!r}.")
    honest = max(1, math.floor(whole(n, "n") * (1 - lying)))
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


def _hidden(collection: Collection, n: int, delta: Rational) -> tuple[float | None, str]:
    """Return the ε of one report against whoever sees all batches, if it is below the local one, and why."""
    randomiser, policy = collection.randomiser, collection.policy.policy
    whole_report = shuffled(randomiser, n, delta)  # also to refuse a δ that is none
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
