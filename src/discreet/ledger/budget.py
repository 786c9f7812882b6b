"""What may be spent: (ε, δ) as one promises it, and the filter that keeps it under adaptive questions.

* δ = 0: the ε of all questions add up to ε at most.
* δ > 0: the ρ of all questions add up to `rho` at most, and the δ of those that have one (selected keys) to δ/2.
  `rho` is the largest ρ found whose conversion at δ/2 gives ε or less. By Whitehouse, Ramdas, Rogers and Wu (2023)
  the transcript is δ/2-approximately ρ-zCDP, hence (ε, δ/2 + δ/2)-DP, however the questions were chosen.

The search for ρ decides how good the filter is, not whether it is valid: what it returns has passed the certified
conversion. Theory in docs/theory/ledger.md, tested in tests/ledger/test_budget.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_FLOOR
from fractions import Fraction
from functools import lru_cache

from discreet.errors import ParameterError
from discreet.privacy.theorems.conversions import zcdp_to_approximate
from discreet.rational import Exactly
from discreet.render.amounts import decimal, left

_DIGITS = 300  # of a budget's numerator and denominator: they are written into every entry


@dataclass(frozen=True)
class Budget:
    """A promise of (ε, δ)-differential privacy for everything that is ever asked.

    Without δ the sum of pure ε is kept. With one, Gaussian noise and selected keys are welcome too, and many small
    questions cost far less; one large pure question may then not fit although its ε does.

    >>> Budget(epsilon=2, delta="1e-9")
    Budget(epsilon=Fraction(2, 1), delta=Fraction(1, 1000000000))
    >>> float(Budget(epsilon=2, delta="1e-9").rho)
    0.0541...
    """

    epsilon: Exactly = Exactly(floats="warn", example='Budget(epsilon=2, delta="1e-9")')
    delta: Exactly = Exactly(default=0, most=1, floats="warn")

    def __post_init__(self) -> None:
        if self.delta == 1:
            raise ParameterError('delta=1 promises nothing. Choose it below one in the people, such as "1e-9".')
        for name, value in (("epsilon", self.epsilon), ("delta", self.delta)):
            if max(value.numerator, value.denominator) >= 10**_DIGITS:
                raise ParameterError(f"{name} of a budget has at most {_DIGITS} digits on either side of its /.")

    @property
    def pure(self) -> bool:
        """Whether ε adds up, not ρ.

        >>> Budget(1).pure, Budget(1, "1e-9").pure
        (True, False)
        """
        return self.delta == 0

    @property
    def rho(self) -> Fraction | None:
        """What all ρ may add up to, rounded down; None without δ.

        >>> Budget(1).rho is None
        True
        """
        return None if self.pure else _largest_rho(self.epsilon, self.delta)

    def rho_of(self, epsilon: Fraction) -> Fraction:
        """Return the ρ of one release that is (epsilon, δ)-DP by itself, at this budget's δ.

        Half of δ is for selected keys, as in the budget itself: so a release of the budget's ε spends all of it.

        >>> budget = Budget(2, "1e-9")
        >>> budget.rho_of(Fraction(2)) == budget.rho
        True
        """
        rho = _largest_rho(epsilon, self.delta)
        if not rho:
            raise ParameterError(
                f"epsilon is too small: no ρ converts to it at δ = {left(self.delta)}.", found=epsilon
            )
        return rho

    @property
    def key_delta(self) -> Fraction:
        """What the δ of selected keys may add up to: half of the budget's.

        >>> Budget(1, "1e-6").key_delta
        Fraction(1, 2000000)
        """
        return self.delta / 2

    def __str__(self) -> str:
        epsilon = f"ε = {left(self.epsilon)}"
        return epsilon if self.pure else f"{epsilon} at δ = {left(self.delta)}"


def largest(holds: Callable[[Fraction], bool]) -> Fraction:
    """Return nearly the largest number of twelve digits for which a claim holds that fails for larger ones.

    Whatever is returned has been checked. It is 0 where nothing above 1e-300 is found.

    >>> largest(lambda x: x * x <= 2)
    Fraction(141421356237, 100000000000)
    """
    low, high = 0.0, 1.0
    while high < 1e300 and holds(Fraction(high)):
        low, high = high, high * 2
    while not low and high > 1e-300:
        low, high = (high / 2, high) if holds(Fraction(high / 2)) else (0.0, high / 2)
    for _ in range(54):
        middle = low + (high - low) / 2
        low, high = (middle, high) if holds(Fraction(middle)) else (low, middle)
    for digits in (12, 11, 10):  # claims about floats may waver in their last digits
        short = Fraction(decimal(Fraction(low), ROUND_FLOOR, digits))
        if short == 0 or holds(short):
            return short
    return Fraction(0)


@lru_cache(maxsize=256)
def _largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    return largest(lambda rho: Fraction(_finite(zcdp_to_approximate(rho, delta / 2))) <= epsilon)


def _finite(value: float) -> float:
    return min(value, math.nextafter(math.inf, 0))
