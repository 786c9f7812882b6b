"""Show partition selection with a wrong δ: keys are released where a noisy count is high enough.

Which keys occur is itself a secret: a key that only one person holds must hardly ever appear. With integer noise Z
of P(Z = z) ∝ e^{−|z|} and a threshold T, the key appears with probability P(1 + Z ≥ T) or P(1 + Z > T), depending
on the code, and that is the δ of the release; counts that appear on both sides cost ε = 1. The noise is enumerated
exactly, so that one integer more or less is visible.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from discreet import noise, privacy
from discreet.audit.attacks import exact
from discreet.audit.inputs.subject import Subject
from discreet.audit.museum.exhibit import Exhibit
from discreet.audit.report.verdict import Verdict

THRESHOLD = 5

_TOWNS = {"Bath": 2}
_PAIRS = (
    ({**_TOWNS, "Foula": 1}, _TOWNS),  # one person more, with a key that no other person has
    ({"Bath": 3}, _TOWNS),  # one person more, with a key that other people have
)


def well_filled(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the noisy counts that reach the threshold, with their keys."""
    noisy = {key: count + noise.discrete_laplace(1) for key, count in counts.items()}
    return {key: count for key, count in noisy.items() if count >= THRESHOLD}


def tail(least: int) -> Fraction:
    """Return P(Z ≥ least) for noise of scale 1 and least ≥ 1, which is e^{−least}/(1 + 1/e), rounded up.

    >>> float(tail(5)), float(tail(4))
    (0.004926, 0.01339)
    """
    million = 10**6
    return Fraction(math.ceil(math.exp(-least) / (1 + math.exp(-1)) * million), million)


def _attacked(name: str, delta: Fraction) -> Verdict:
    return exact.attack(
        Subject(name=name, release=well_filled, loss=privacy.Approximate(1, delta), pairs=_PAIRS),
        unexplored="1e-4",
    )


def _above() -> Verdict:
    return _attacked("keys at the threshold, δ for those above it", tail(THRESHOLD))


def _at_least() -> Verdict:
    return _attacked("keys at the threshold, δ for those at it", tail(THRESHOLD - 1))


BOUNDARY = Exhibit(
    name="boundary-missing-from-delta",
    title="Keys on the threshold are released, and δ only counts those above it",
    story=(
        "A table of towns is released without a declared list of towns: a town is shown if its noisy count "
        "reaches the threshold. A town with a single inhabitant should stay hidden, and the probability that it "
        "does not is the δ of the release. One function shows towns “at the threshold or above”, another computes "
        "the probability to be above it, and each is correct by itself. With integer noise the threshold itself "
        "is hit quite often: at scale 1 and threshold 5 the single inhabitant is shown in 1.3 % of all releases "
        "where 0.5 % was promised."
    ),
    sources=("opendp/opendp#2922",),
    broken=_above,
    mended=_at_least,
    ours=(
        "A threshold in Discreet is compared by AboveThreshold, Sparse and NumericSparse, whose proofs hold for ≥ "
        "as for > and claim no δ; the code as written is enumerated in "
        "tests/mechanisms/test_sparse_vector_exact.py. A δ enters only with Gaussian noise, certified for the "
        "discrete law (tests/mechanisms/test_additive_exact.py)."
    ),
)

EXHIBITS = (BOUNDARY,)
"""Exhibits about thresholds on keys."""
