"""Bound how far a private algorithm overfits on average.

Claim. Let S be n rows drawn independently from P, M be (ε, δ)-DP for neighbours that *replace* one row, and
h = M(S) map rows to [0, 1]. Then

    |E h(S) − E h(P)| ≤ (e^ε − 1 + 2δ)/(e^ε + 1).

Proof. Let sᵢ be a random row of S, and z another draw from P. Put a = E h(sᵢ) for h = M(S), and b = E h(sᵢ) for
h = M(S with z in the place of sᵢ). Renaming sᵢ and z, b = E h(P). Privacy, applied to h and to 1 − h, in both
directions, says a ≤ e^ε b + δ and 1 − b ≤ e^ε(1 − a) + δ. The second is a ≤ 1 − (1 − b − δ)/e^ε. The difference
a − b is largest where both meet, at b = (1 − δ)/(e^ε + 1): there it is (e^ε − 1)(1 − δ)/(e^ε + 1) + δ, which is
the claim. ∎ The lecture note uses the first inequality only, and gets e^ε − 1 + δ; its "ε + δ" is too small.

Neighbours that add or remove one row: a replacement is a removal and an addition, so (ε, δ)-DP becomes
(2ε, (1 + e^ε)δ)-DP for replacements. Theory: docs/theory/generalisation.md.
"""

from __future__ import annotations

import math

from discreet.errors import Fix, ParameterError

_UP = 1 + 1e-14


def expected_gap(epsilon: float, delta: float = 0.0) -> float:
    """Return the most that E h(S) and E h(P) differ by, for (ε, δ)-DP under replacement of one row.

    >>> round(expected_gap(0.1), 5), round(notes_expected_gap(0.1), 5)
    (0.04996, 0.10517)
    """
    _expect(epsilon, delta)
    return min(1.0, (math.tanh(epsilon / 2) + 2 * delta / (math.exp(min(epsilon, 700.0)) + 1)) * _UP)


def notes_expected_gap(epsilon: float, delta: float = 0.0) -> float:
    """Return e^ε − 1 + δ, which follows from one of the two inequalities of privacy alone.

    >>> notes_expected_gap(0.5, 0.01) >= expected_gap(0.5, 0.01)
    True
    """
    _expect(epsilon, delta)
    return min(1.0, (math.expm1(min(epsilon, 700.0)) + delta) * _UP)


def replacing(epsilon: float, delta: float = 0.0) -> tuple[float, float]:
    """Return (ε, δ) for replacing one row, from (ε, δ) for adding or removing one.

    >>> replacing(0.5)
    (1.0, 0.0)
    """
    _expect(epsilon, delta)
    return 2 * epsilon, min(1.0, (1 + math.exp(min(epsilon, 700.0))) * delta * _UP)


def _expect(epsilon: float, delta: float) -> None:
    if not epsilon >= 0:
        raise ParameterError("epsilon must not be negative.", found=epsilon, fix=Fix("epsilon", 0.1))
    if not 0 <= delta <= 1:
        raise ParameterError("delta must lie between 0 and 1.", found=delta, fix=Fix("delta", 1e-6))
