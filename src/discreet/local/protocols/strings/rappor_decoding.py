"""Decode RAPPOR reports on the server by least squares over cohorts. The equations are in `rappor`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.errors import ParameterError, extra
from discreet.local.protocols.protocol import Values
from discreet.local.server.estimate import Estimate, Floats, norm_sub

_MOST = 2**12  # the most candidates: least squares take the cube of them


@dataclass(frozen=True)
class Equations:
    """The bits that every candidate sets in every cohort, and the probabilities of a reported 1."""

    set: Values
    """Places by cohort, candidate and hash."""
    bits: int
    q: float
    p: float

    @property
    def gap(self) -> float:
        """The probability of a reported 1 where the bit is 1 minus that where it is 0."""
        return self.q - self.p

    def matrix(self, cohort: int) -> Floats:
        """Return H: bits by candidates."""
        places = self.set[cohort]
        filled = np.zeros((len(places), self.bits))
        np.put_along_axis(filled, places, 1.0, axis=1)
        return filled.T

    def inverse(self, devices: Floats) -> Floats:
        """Return G⁻¹ for so many devices in each cohort, or refuse equations that are singular."""
        candidates = self.set.shape[1]
        if candidates > _MOST:
            raise ParameterError(
                f"At most {_MOST} candidates can be decoded at once.", found=candidates, fix="Give a shorter list."
            )
        total = np.zeros((candidates, candidates))
        for j in np.flatnonzero(devices):
            H = self.matrix(int(j))
            total += devices[j] * (H.T @ H)
        if np.linalg.matrix_rank(total) < candidates:
            raise ParameterError(
                f"{self.bits} bits in {np.count_nonzero(devices)} cohorts do not distinguish {candidates} "
                "candidates.",
                fix="Use more cohorts or more bits, or a shorter list.",
            )
        return np.linalg.inv(total).astype(np.float64)


def decoded(equations: Equations, state: Values, n: int) -> Estimate:
    """Return unbiased frequencies with their standard errors."""
    devices, back, right = _normal(equations, state)
    values = back @ right
    share = norm_sub(values)
    variance = np.zeros(len(values))
    p, q, gap = equations.p, equations.q, equations.gap
    for j in np.flatnonzero(devices):
        H = equations.matrix(int(j))
        left = back @ H.T
        held = H @ share
        noise = (p * (1 - p) + held * (q * (1 - q) - p * (1 - p))) / gap**2
        spread = (left @ H) ** 2 @ share - (left @ held) ** 2
        variance += devices[j] * (spread + left**2 @ noise)
    return Estimate(values, np.sqrt(variance), n)


def nonnegative_of(equations: Equations, state: Values, n: int) -> Estimate:
    """Return nonnegative frequencies. Their standard errors are those of the unbiased version."""
    with extra("local", "Nonnegative frequencies need scipy"):
        from scipy.optimize import nnls

    _, back, right = _normal(equations, state)
    # |Lᵀf − L⁻¹b|² with LLᵀ = G is the sum of squares but for a constant.
    lower = np.linalg.cholesky(np.linalg.inv(back))
    values, _ = nnls(lower.T, np.linalg.solve(lower, right))
    return Estimate(values, decoded(equations, state, n).standard_errors, n, "nonnegative least squares, biased")


def influence_of(equations: Equations) -> float:
    """Return the largest distance of the estimates of two reports, times n, in cohorts of equal size."""
    cohorts, p = len(equations.set), equations.p
    back = cohorts * equations.inverse(np.ones(cohorts)) / equations.gap
    sides = [back @ equations.matrix(j).T for j in range(cohorts)]
    most = np.max([np.maximum(side * (1 - p), -side * p).sum(1) for side in sides], axis=0)
    least = np.min([np.minimum(side * (1 - p), -side * p).sum(1) for side in sides], axis=0)
    return float((most - least).max())


def _normal(equations: Equations, state: Values) -> tuple[Floats, Floats, Floats]:
    """Return the devices of each cohort, G⁻¹, and the right-hand side of the normal equations."""
    cohorts = len(equations.set)
    devices = state[cohorts * equations.bits :].astype(np.float64)
    table = state[: cohorts * equations.bits].reshape(cohorts, equations.bits)
    right = np.zeros(equations.set.shape[1])
    for j in np.flatnonzero(devices):
        right += equations.matrix(int(j)).T @ (table[j] - devices[j] * equations.p) / equations.gap
    return devices, equations.inverse(devices), right
