"""Compute the cost of a release by Gaussian noise, and the variances of the noise that a budget buys.

Neighbours differ by one person, whose rows weigh at most Δ = K·UNIT together. A marginal, as a vector over its
declared cells, then has sensitivity at most Δ in l1, hence in l2; a score ‖M − E‖₁ against public E has
sensitivity at most Δ, and a vector of m scores at most Δ·√m in l2.

**Composition.** All noise is discrete Gaussian. With variance v on a vector of l2 sensitivity Δ it is Δ²/2v-zCDP,
and the choice of the next step may depend on earlier releases: ρ adds up. For one release by itself there is a
sharper bound. A discrete Gaussian of variance v is, up to a factor within 1 ± 10⁻⁷⁰, a real one of variance v −
9 that is rounded at random (docs/theory/synthesis.md), so the whole is μ-Gaussian DP with μ² = Σ Δᵢ²/(vᵢ −
9), chosen adaptively or not (Dong, Roth, Su 2022, Smith and Thakurta 2022). A part ρᵢ buys the variance Δᵢ²/2ρᵢ
+ 9, rounded up, so that both sums hold exactly: Σ Δᵢ²/2vᵢ ≤ ρ and μ² ≤ 2ρ.

A choice by the exponential mechanism at ε is ε²/8-zCDP, and μ-Gaussian DP with μ = 2·Φ⁻¹(1/(1 + e^(−ε/2))), which
is at most √(π/8)·ε (docs/theory/conversions.md). A part ρᵢ buys ε² = 16·ρᵢ/π, rounded down, so both sums hold
with choices too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from discreet.errors import Fix, ParameterError
from discreet.kernel.amount import amount_of
from discreet.kernel.payer import vault_budget
from discreet.ledger.balance import Balance
from discreet.ledger.costs import cost
from discreet.mechanisms import Exponential, Gaussian, Sensitivity, tails
from discreet.privacy.loss_measures import gdp_mu_squared
from discreet.privacy.pld.normal import gaussian_delta
from discreet.privacy.theorems.learning.tolerance import SMOOTHING
from discreet.rational import Rational, positive, root_below
from discreet.release.receipt import Promise

_GRID = 2**40  # parts of a budget are multiples of 2⁻⁴⁰ of it
_PI = Fraction(355, 113)  # above π by less than 10⁻⁷ of it
_SLACK = 1 - 1e-9  # of δ, for the factor 1 ± 10⁻⁷⁰ and for rounding here

Name = TypeVar("Name")


def rho_of(epsilon: Rational, delta: Rational) -> Fraction:
    """Return the ρ to charge: the μ²/2 of a release that is (ε, δ)-DP by itself, as Gaussian DP.

    >>> round(float(rho_of(1, "1e-9")), 6)
    0.016557
    """
    exact = positive(epsilon, "epsilon")
    small = positive(delta, "delta")
    if not Fraction(1, 10**200) <= small < 1:
        raise ParameterError("delta must be below 1, and at least 1e-200.", found=delta, fix=Fix("delta", "1e-9"))
    if exact > 1000:
        raise ParameterError("An epsilon above 1,000 gives no protection.", found=epsilon, fix=Fix("epsilon", 1))
    wanted, low, high = float(small) * _SLACK, 0.0, 100.0
    shown = math.nextafter(float(exact), 0.0)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(middle, shown)[1] <= wanted else (low, middle)
    if low <= 0:
        raise ParameterError(
            "This epsilon and delta are too small for any release.",
            found=f"ε = {epsilon}, δ = {delta}",
            fix=Fix("epsilon", 1),
        )
    digits = 10 ** (10 - math.floor(math.log10(low)))  # a short fraction is rounded down, so it never costs more
    return Fraction(math.floor(low * digits), digits) ** 2 / 2


def parts(total: Fraction, shares: Mapping[Name, float]) -> dict[Name, Fraction]:
    """Return a budget divided in proportion to `shares`, rounded down: together never more than the whole.

    >>> parts(Fraction(1), {"a": 1.0, "b": 3.0})
    {'a': Fraction(1, 4), 'b': Fraction(3, 4)}
    """
    exact = {name: Fraction(share) for name, share in shares.items()}
    whole = sum(exact.values(), Fraction(0))
    grains = {name: math.floor(_GRID * share / whole) for name, share in exact.items()} if whole > 0 else {}
    return {name: total * Fraction(grain, _GRID) for name, grain in grains.items() if grain > 0}


@dataclass(frozen=True)
class Unit:
    """The noise for queries where the rows of one person weigh at most `contribution` (Δ), in units of weight.

    >>> Unit(4096).marginal(Fraction(1, 2)).variance
    Fraction(16777225, 1)
    """

    contribution: int

    def marginal(self, rho: Fraction) -> Gaussian:
        """Return the noise for a marginal."""
        return Gaussian(self._variance(rho, 1), self.sensitivity)

    def scores(self, rho: Fraction, count: int) -> Gaussian:
        """Return the noise for `count` scores."""
        return Gaussian(self._variance(rho, count), self.score_sensitivity(count))

    def choice(self, rho: Fraction) -> Exponential:
        """Return the mechanism that chooses by scores, each of which one person moves by at most Δ.

        >>> Unit(4096).choice(Fraction(1, 100)).epsilon
        Fraction(141, 625)
        """
        return Exponential(root_below(16 * rho / _PI), self.contribution)

    def affords(self, rho: Fraction, entries: int = 1) -> bool:
        """Return whether the noise that ρ buys for a marginal, or for so many scores, can be drawn.

        >>> Unit(4096).affords(Fraction(1, 10**9)), Unit(4096).affords(Fraction(1, 10**30))
        (True, False)
        """
        return rho > 0 and self._variance(rho, entries) <= tails.WIDEST**2

    @property
    def sensitivity(self) -> Sensitivity:
        """The sensitivity of a marginal."""
        return Sensitivity(l1=self.contribution, each=self.contribution, l2_squared=self.contribution**2)

    def score_sensitivity(self, count: int) -> Sensitivity:
        """Return the sensitivity of so many scores."""
        return Sensitivity(entries=count, each=self.contribution)

    def _variance(self, rho: Fraction, entries: int) -> int:
        return math.ceil(entries * self.contribution**2 / (2 * rho)) + SMOOTHING


def spent(noises: Sequence[Gaussian | Exponential]) -> Fraction:
    """Return the ρ of all noises together.

    >>> spent([Unit(4096).marginal(Fraction(1, 2))]) < Fraction(1, 2)
    True
    """
    return sum((cost(noise.loss).rho for noise in noises), Fraction(0))


def mu(noises: Sequence[Gaussian | Exponential]) -> float:
    """Return the μ of the Gaussian DP of all noises and choices together."""
    return math.sqrt(sum(map(_mu_squared, noises), Fraction(0)))


def _mu_squared(noise: Gaussian | Exponential) -> Fraction:
    if isinstance(noise, Gaussian):
        return Fraction(_l2_squared(noise)) / (noise.variance - SMOOTHING)
    square = gdp_mu_squared(noise.loss)
    assert square is not None  # a choice of bounded range has one
    return square


def _l2_squared(noise: Gaussian) -> int:
    moved = noise.sensitivity
    if not isinstance(moved, Sensitivity) or moved.l2_squared is None:
        raise AssertionError("every noise has an l2 sensitivity")
    return moved.l2_squared


def release_rho(balances: Sequence[Balance], epsilon: Rational | None, spend: str | None) -> Fraction:
    """Return the ρ of a release that is (epsilon, δ)-DP by itself at the vault's δ, or of a share of the budget.

    Gaussian DP proves more of Gaussian noise than zCDP does, so the same epsilon buys more than for a question;
    but an epsilon within the budget never costs more than all of it.

    >>> from discreet.ledger import Account, Budget
    >>> whole = Balance(Account(), Budget(2, "1e-9")).granted(Budget(2, "1e-9"))
    >>> release_rho([whole], 2, None) == whole.rho, round(float(release_rho([whole], 1, None)), 6)
    (True, 0.016557)
    """
    if epsilon is None or spend is not None:
        return amount_of(balances, epsilon=epsilon, spend=spend, pure=False)
    vault, rho = vault_budget(balances), rho_of(epsilon, vault_budget(balances).delta)
    if positive(epsilon, "epsilon") <= vault.epsilon and balances[0].rho is not None:
        return min(rho, balances[0].rho)
    return rho


def proven(balances: Sequence[Balance], epsilon: Rational | None) -> Promise | None:
    """Return what Gaussian DP proves of a release of `release_rho` by itself; None without an epsilon.

    >>> from discreet.ledger import Account, Budget
    >>> print(proven([Balance(Account(), Budget(2, "1e-9"))], 1))
    ε = 1 at δ = 1e-9
    """
    return None if epsilon is None else Promise(positive(epsilon, "epsilon"), vault_budget(balances).delta)
