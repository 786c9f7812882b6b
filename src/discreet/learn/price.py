"""State what a model may cost: the guarantee of its release alone, and the most that a ledger may be charged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction

from discreet.errors import Fix, ParameterError
from discreet.kernel import amount_of, strictest_budget, vault_budget
from discreet.kernel.gaussian_budget import release_rho, rho_of
from discreet.ledger.balance import Balance
from discreet.ledger.budget import Budget
from discreet.privacy.pld.normal import gaussian_delta
from discreet.rational import Rational, positive
from discreet.release.receipt import Promise
from discreet.render.numbers import decimal


@dataclass(frozen=True)
class Price:
    """What one model may cost.

    Args:
        epsilon: The ε of the guarantee of this release alone. If a share of the budget was asked for, it is what
            Gaussian noise of that share guarantees, and a scale for regularisation only.
        delta: Its δ; 0 for pure differential privacy.
        rho: What a release by Gaussian noise may spend, as ρ; None for pure differential privacy.
        most: The most that the ledger may be charged, as ρ; None without a ledger.
        proves: Whether the release must be (epsilon, delta)-DP by itself, as asked.

    >>> price = Price.alone(1, "1e-5")
    >>> round(price.mu, 4), price.pure
    (0.2681, False)
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    most: Fraction | None = None
    proves: bool = True

    @property
    def pure(self) -> bool:
        """Whether the release must be ε-differentially private, without a δ."""
        return self.rho is None

    @property
    def mu(self) -> float:
        """The μ of Gaussian DP that ρ pays for, rounded down."""
        return math.sqrt(2 * float(self.rho or 0)) * (1 - 2**-50)

    @property
    def strength(self) -> float:
        """About one over the deviation of noise of sensitivity 1, for rules of thumb."""
        return float(self.epsilon) / 6 if self.pure else self.mu

    @property
    def promise(self) -> Promise | None:
        """The guarantee of the release alone, if it was asked for by its ε."""
        return Promise(self.epsilon, self.delta) if self.proves else None

    @classmethod
    def alone(cls, epsilon: Rational, delta: Rational = 0) -> Price:
        """Return the price of a release without a ledger."""
        exact, small = positive(epsilon, "epsilon"), Budget(epsilon, delta).delta
        return cls(exact, small, None if not small else rho_of(exact, small))

    @classmethod
    def of(cls, balances: Sequence[Balance], epsilon: Rational | None, spend: str | None) -> Price:
        """Return the price of a release that the accounts pay, for its ε or for a share of the budget.

        Args:
            balances: The accounts that pay, that of the whole vault first.
            epsilon: The guarantee of the release alone, at the vault's δ.
            spend: A share of the whole budget instead, such as "20%".
        """
        if strictest_budget(balances).pure:
            return cls(amount_of(balances, epsilon=epsilon, spend=spend, pure=True))
        delta, rho = vault_budget(balances).delta, release_rho(balances, epsilon, spend)
        within = epsilon is not None and positive(epsilon, "epsilon") <= vault_budget(balances).epsilon
        most = balances[0].rho if within else None
        if epsilon is not None:
            return cls(positive(epsilon, "epsilon"), delta, rho, most)
        return cls(_epsilon_of(rho, delta), delta, rho, rho, proves=False)


def short(amount: Fraction, *, up: bool = False) -> Fraction:
    """Return an amount with six digits, rounded down, or up.

    >>> short(Fraction(2, 3)), short(Fraction(2, 3), up=True)
    (Fraction(333333, 500000), Fraction(666667, 1000000))
    """
    return Fraction(decimal(amount, ROUND_CEILING if up else ROUND_FLOOR, 6))


def _epsilon_of(rho: Fraction, delta: Fraction) -> Fraction:
    """Return about the ε of a Gaussian release of this ρ at δ: it scales regularisation, and promises nothing."""
    mu, low, high = math.sqrt(2 * float(rho)), 0.0, 1000.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if gaussian_delta(mu, middle)[1] <= float(delta) else (middle, high)
    if high >= 1000:
        raise ParameterError("A share this large gives no protection.", fix=Fix("spend", "5%"))
    return Fraction(high).limit_denominator(10**6)
