"""What lying devices can do to an estimate: a bound for the interval's neighbour in a table.

Nobody can see whether a report was drawn as the protocol says, so the interval of an estimate holds for honest
devices only. But every valid report, honest or not, moves n·f̂ by at most `influence`: a fraction γ of lies moves a
frequency by γ·influence at most, whatever liars know and whatever they agree upon. It is a fraction of reports:
where devices report again and again, one liar may send as many as an aggregator takes. The bound is reached: liars
who all send what supports one value have what no honest device has, certainty (tests). The weaker the signal of
an honest report, the stronger that of a lie: influence is about 1/ε, for small ε.

**The consistent version** moves by twice that at most. Norm-Sub takes the same τ off all frequencies, and τ moves
no further than the frequencies do: it grows with each of them, and by t if all grow by t.

`undone` is the fraction of lies that moves a number by as much as its interval reaches; below it, noise is the
larger worry.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.errors import ParameterError
from discreet.local.protocols.protocol import Randomiser
from discreet.local.server.estimate import Estimate
from discreet.rational import Rational, rational


@dataclass(frozen=True)
class Poisoning:
    """What a fraction of lying reports could have done to one estimate.

    `shift` is by how much any of its numbers may have moved, `consistent_shift` of the consistent version.
    """

    fraction: float
    liars: int
    shift: float
    consistent_shift: float
    undone: float

    def __str__(self) -> str:
        return (
            f"If {self.fraction:.2%} of the reports lie ({self.liars:,}), each number may be off by "
            f"{self.shift:.4f} more (consistent version: {self.consistent_shift:.4f}). {self.undone:.2%} of lying "
            "reports can move a number by as much as its interval reaches."
        )


def poisoning(
    randomiser: Randomiser,
    estimate: Estimate,
    fraction: Rational = "0.01",
    confidence: Rational = "0.95",
    *,
    influence: float | None = None,
) -> Poisoning:
    """Return what this fraction of lying reports could have done to an estimate from reports of a randomiser.

    `influence` is that on just these numbers, where it is known (`Answer.influence`).

    >>> from discreet.local.protocols.frequency.grr import warner
    >>> survey = warner("0.55")
    >>> print(poisoning(survey, survey.estimate(np.array([470, 530]), n=1000), "0.02"))
    If 2.00% of the reports lie (20), each number may be off by 0.2000 more (consistent version: 0.4000). 3.08% of
    lying reports can move a number by as much as its interval reaches.
    """
    share = rational(fraction, "fraction", floats="exact")
    if not 0 <= share <= 1:
        raise ParameterError(f"a fraction of the reports is from 0 to 1, not {fraction!r}.")
    most = float(randomiser.influence) if influence is None else influence
    low, high = estimate.interval(confidence)
    reach = float(np.median(high - low)) / 2 if len(low) else 0.0
    shift = float(share) * most
    return Poisoning(
        float(share), math.ceil(share * estimate.n), shift, min(1.0, 2 * shift), min(1.0, reach / most)
    )
