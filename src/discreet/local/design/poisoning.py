"""Bound the effect of malicious reports on an estimate, to be printed beside its interval.

A server cannot see whether a report was drawn as the protocol says, so the interval of an estimate holds for
honest devices only. But every valid report, honest or not, moves n·f̂ by at most `influence`: a fraction γ of
malicious reports moves a frequency by at most γ·influence, whatever the attackers know and agree upon. It is a
fraction of reports: where devices report repeatedly, one attacker may send as many as an aggregator takes. The
bound is reached: attackers who all send a report that supports one value have certainty, which no honest device
has (tests). The weaker the signal of an honest report, the stronger that of a malicious one: influence is about
1/ε, for small ε.

**The consistent version** moves by at most twice that. Norm-Sub takes the same τ off all frequencies, and τ moves
no further than the frequencies do: it grows with each of them, and by t if all grow by t.

`undone` is the fraction of malicious reports that moves a number by its margin of error; below it, noise is the
larger problem.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.errors import Fix, ParameterError
from discreet.local.protocols.protocol import Randomiser
from discreet.local.server.estimate import Estimate
from discreet.rational import Rational, rational


@dataclass(frozen=True)
class Poisoning:
    """The effect that a fraction of malicious reports could have had on one estimate.

    `shift` is the largest shift of any of its numbers, `consistent_shift` that of the consistent version, and
    `malicious` the number of malicious reports.
    """

    fraction: float
    malicious: int
    shift: float
    consistent_shift: float
    undone: float

    def __str__(self) -> str:
        return (
            f"If {self.fraction:.2%} of the reports are malicious ({self.malicious:,}), each number may be off by "
            f"{self.shift:.4f} more (consistent version: {self.consistent_shift:.4f}). "
            f"{self.undone:.2%} of malicious reports are enough to move a number by its margin of error."
        )


def poisoning(
    randomiser: Randomiser,
    estimate: Estimate,
    fraction: Rational = "0.01",
    confidence: Rational = "0.95",
    *,
    influence: float | None = None,
) -> Poisoning:
    """Return the effect that a fraction of malicious reports could have had on an estimate.

    Args:
        randomiser: The protocol of the reports.
        estimate: The estimate.
        fraction: The share of malicious reports, from 0 to 1; 1 % by default.
        confidence: That of the intervals that `undone` refers to; 95 % by default.
        influence: The influence on exactly these numbers, if it is known (`Answer.influence`); by default that of
            the protocol.

    >>> from discreet.local.protocols.frequency.grr import warner
    >>> survey = warner("0.55")
    >>> print(poisoning(survey, survey.estimate(np.array([470, 530]), n=1000), "0.02"))
    If 2.00% of the reports are malicious (20), each number may be off by 0.2000 more (consistent version: 0.4000).
    3.08% of malicious reports are enough to move a number by its margin of error.
    """
    share = rational(fraction, "fraction", floats="exact")
    if not 0 <= share <= 1:
        raise ParameterError(
            "The fraction of malicious reports must be from 0 to 1.",
            found=repr(fraction),
            fix=Fix("fraction", "0.01"),
        )
    most = float(randomiser.influence) if influence is None else influence
    low, high = estimate.interval(confidence)
    margin = float(np.median(high - low)) / 2 if len(low) else 0.0
    shift = float(share) * most
    return Poisoning(
        float(share), math.ceil(share * estimate.n), shift, min(1.0, 2 * shift), min(1.0, margin / most)
    )
