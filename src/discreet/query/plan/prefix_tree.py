"""Release running totals of a short list of counts: noisy sums over a binary tree, made consistent.

The 2^h leaves of a tree hold counts. A node is the sum of its leaves. The exact sums of some levels, the leaves
among them, are released with independent noise of one law; the rest is computed from them.

**Sensitivity.** Let one person change the leaves of all trees by d with ‖d‖₁ ≤ c. The nodes of one level are sums
of disjoint sets of leaves, so a level changes by at most c in L1, and by at most c² in the square of L2. With m
levels: ‖·‖₁ ≤ m·c and ‖·‖₂² ≤ m·c².

**Estimate.** Among all unbiased linear estimates of the leaves, the one by least squares has the least variance.
In a tree it takes two passes. Upwards: of a node, z is the mean of its own noisy sum and of its children's z added
up, weighted by their precisions: 1/s = [measured] + 1/(2·s of a child), in units of the variance of the noise.
Downwards: what is missing between a node and its children is divided among them equally.

**Margins.** The running total F(x) minus the share p of everything is a linear function Σ c_j·Z_j of the noises,
off its truth by no more. The coefficients do not depend on the data; they are found by feeding unit vectors
through the estimate. With S = Σ c_j², one side of the error exceeds

* Gaussian noise of variance v: z·√(S·(v + 4)) + 16·√S with probability β, where z is the normal quantile of 1 − β.
Add an
  independent G of variance τ² = 4 to a discrete Gaussian Z of variance v ≥ 4. The density of Z + G is that of a
  normal of variance v + 4, times a factor within 1 ± 10⁻¹⁵ (Poisson summation: 1 ± 2.1·exp(−2π²·vτ²/(v + τ²)), and
  as much for the norming constant). As P(Σ c_j·G_j < −8τ·√S) < 10⁻¹⁵ and G is independent of Z, P(Σ c_j·Z_j > s +
  8τ·√S) is at most P(Σ c_j·(Z_j + G_j) > s)/(1 − 10⁻¹⁵). The corrections are below a relative 10⁻⁹, by which β is
  lowered. The subgaussian √(2·S·v·ln(1/β)) always holds; the smaller one is taken.
* Laplace noise of scale t: discrete Laplace is Λ + θ with Λ continuous Laplace and |θ| < 1 (round two exponentials
down, and subtract). The tail of Σ c_j·Λ_j is bounded closely by `laplace_sums`, and Σ |c_j| is added for θ.

Tested in tests/query/plan/test_prefix_tree.py; theory in docs/theory/quantiles.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms import Gaussian, Laplace, Sensitivity, tails
from discreet.mechanisms.exact import Integers
from discreet.query.plan import laplace_sums

Floats: TypeAlias = NDArray[np.float64]
Noise = Laplace | Gaussian

_SMOOTH = 4.0  # τ²: beyond this variance, a discrete Gaussian and τ²·normal are together as good as normal
_DOWN = 1 - 1e-9  # of β, and _UP of the result: more than the corrections and the rounding of floats
_UP = 1 + 1e-9


@dataclass(frozen=True)
class PrefixTree:
    """A binary tree of 2^height leaves whose levels of height 0, spacing, 2·spacing … are measured.

    >>> tree = PrefixTree(height=2, spacing=1)
    >>> tree.sums(np.array([[1, 2, 3, 4]])).tolist()
    [[1, 2, 3, 4, 3, 7, 10]]
    >>> tree.running(np.array([[1, 2, 3, 4, 3, 7, 10]])).tolist()
    [[1.0, 3.0, 6.0, 10.0]]
    """

    height: int
    spacing: int

    @property
    def leaves(self) -> int:
        """The number of leaves."""
        return 1 << self.height

    @property
    def measured(self) -> range:
        """The heights of the levels that are released."""
        return range(0, self.height + 1, self.spacing)

    def sensitivity(self, leaves: int) -> Sensitivity:
        """Return the sensitivity of all released sums, if one person changes the leaves by so much in L1.

        >>> PrefixTree(height=2, spacing=1).sensitivity(5)
        Sensitivity(entries=15, each=5, l1=15, l2_squared=75, monotonic='up')
        """
        levels = len(self.measured)
        return Sensitivity(each=leaves, l1=levels * leaves, l2_squared=levels * leaves**2, monotonic="up")

    def sums(self, leaves: Integers) -> Integers:
        """Return the sums to release, level by level, for each row of leaves."""
        rows = len(leaves)
        return np.concatenate([leaves.reshape(rows, -1, 1 << h).sum(axis=2) for h in self.measured], axis=1)

    def running(self, noisy: NDArray[np.number]) -> Floats:
        """Return the running totals of the leaves by least squares, for each row of released sums."""
        sizes = [self.leaves >> h for h in self.measured]
        parts = np.split(noisy.astype(np.float64), np.cumsum(sizes)[:-1], axis=1)
        levels = dict(zip(self.measured, parts, strict=True))
        upwards, variance = [levels[0]], 1.0
        for height in range(1, self.height + 1):
            both, variance = upwards[-1][:, 0::2] + upwards[-1][:, 1::2], 2 * variance
            if height in levels:
                both, variance = (levels[height] * variance + both) / (1 + variance), variance / (1 + variance)
            upwards.append(both)
        node = upwards[-1]
        for children in upwards[-2::-1]:
            missing = (node - children[:, 0::2] - children[:, 1::2]) / 2
            node = children + np.repeat(missing, 2, axis=1)
        return np.cumsum(node, axis=1)

    def margins(self, probability: Fraction, noise: Noise, beta: Fraction) -> Floats:
        """Return for each leaf x what one side of the error of F(x) − p·N exceeds with probability beta at most.

        Args:
            probability: The share p.
            noise: The law of the noise on every released sum.
            beta: The probability of an error beyond the margin, on one side.
        """
        squares, total = _coefficients(self, probability)
        if isinstance(noise, Laplace):
            return float(noise.scale) * _laplace(self, probability, float(beta) * _DOWN) * _UP + total
        return _gaussian(float(noise.variance), squares, beta) * _UP

    @cached_property
    def _responses(self) -> Floats:
        """The running totals that each single released sum contributes to."""
        nodes = sum(self.leaves >> h for h in self.measured)
        return self.running(np.eye(nodes))

    def _errors(self, probability: Fraction) -> Floats:
        """Return the factors c_j of the error of F(x) − p·N, a column for each leaf x."""
        return self._responses - float(probability) * self._responses[:, -1:]


@lru_cache(maxsize=64)
def fitted(leaves: int, probabilities: tuple[Fraction, ...], *, pure: bool) -> PrefixTree:
    """Return the tree with room for so many leaves whose largest errors are least.

    Args:
        leaves: The number of leaves that are needed.
        probabilities: The shares p at which F(x) − p·N will be looked at.
        pure: Whether noise grows with the number of levels (Laplace), not with its root (Gaussian).

    >>> fitted(100, (Fraction(1, 2),), pure=False).height
    7
    """
    height = max(leaves - 1, 0).bit_length()

    def error(tree: PrefixTree) -> float:
        levels = len(tree.measured) ** (2 if pure else 1)
        return levels * sum(float(_coefficients(tree, p)[0].max()) for p in probabilities)

    return min((PrefixTree(height, spacing) for spacing in {*range(1, min(height, 6) + 1), height + 1}), key=error)


@lru_cache(maxsize=256)
def _coefficients(tree: PrefixTree, probability: Fraction) -> tuple[Floats, Floats]:
    """Return Σ c² and Σ |c| of the error of F(x) − p·N, for each leaf x."""
    found = tree._errors(probability)
    return (found**2).sum(axis=0), np.abs(found).sum(axis=0)


def _gaussian(variance: float, squares: Floats, beta: Fraction) -> Floats:
    always: Floats = np.sqrt(2 * squares * variance * float(tails.log(1 / beta)))
    if variance < _SMOOTH:
        return always
    quantile = -NormalDist().inv_cdf(float(beta) * _DOWN)
    normal = quantile * np.sqrt(squares * (variance + _SMOOTH)) + 8 * np.sqrt(_SMOOTH * squares)
    smaller: Floats = np.minimum(always, np.maximum(normal, 0.0))
    return smaller


@lru_cache(maxsize=256)
def _laplace(tree: PrefixTree, probability: Fraction, beta: float) -> Floats:
    """Return the margin of F(x) − p·N for Laplace noise of scale 1, for each leaf x."""
    return np.array([laplace_sums.quantile(column, beta) for column in tree._errors(probability).T])
