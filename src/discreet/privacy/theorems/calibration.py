"""Find the largest ρ that an (ε, δ) allows.

Claim: a mechanism that is `rho_for(ε, δ)`-zCDP is (ε, δ)-differentially private. The search decides how good ρ is,
not whether it is valid: whatever is returned has passed `zcdp_to_approximate(ρ, δ) ≤ ε`, an exact comparison with
a conversion that is rounded up. ρ has at most twelve digits and is rounded down.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_FLOOR
from fractions import Fraction
from functools import lru_cache

from discreet.errors import Fix, ParameterError
from discreet.privacy.parameters import log_inverse
from discreet.privacy.theorems.conversions import zcdp_to_approximate
from discreet.rational import Rational, positive, shown
from discreet.render.numbers import decimal

_CLOSE = 1e-13  # the error of a ρ found by secants, and some: ρ has twelve digits
_FUTILE = 10**6  # an ε that gives no protection


def rho_for(epsilon: Rational, delta: Rational) -> Fraction:
    """Return the largest ρ found such that every ρ-zCDP mechanism is (ε, δ)-DP.

    >>> rho = rho_for(1, "1e-9")
    >>> float(rho), zcdp_to_approximate(rho, "1e-9") <= 1
    (0.01497305..., True)
    """
    wanted, small = positive(epsilon, "epsilon"), positive(delta, "delta")
    if wanted > _FUTILE:
        raise ParameterError(
            f"An epsilon above {_FUTILE:,} gives no protection.", found=shown(epsilon), fix=Fix("epsilon", 1)
        )
    if small >= 1:
        raise ParameterError("delta must be below 1.", found=shown(delta), fix=Fix("delta", "1e-9"))
    rho = largest_rho(wanted, small)
    if not rho:
        raise ParameterError(
            "This epsilon is too small: at this delta it allows no ρ above 0.",
            found=f"epsilon={shown(epsilon)}, delta={shown(delta)}",
            fix=Fix("epsilon", "0.01"),
        )
    return rho


@lru_cache(maxsize=256)
def largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest ρ found whose conversion at δ is ε or less; 0 if there is none above 1e-300.

    >>> largest_rho(Fraction(0), Fraction(1, 10**400))
    Fraction(0, 1)
    """
    # A float and a fraction are compared exactly. A question at a new ε waits for this search.
    return largest(lambda rho: zcdp_to_approximate(rho, delta) <= epsilon, near=_near(float(epsilon), delta))


def _near(epsilon: float, delta: Fraction) -> float:
    """Return about the ρ of an ε, by secants in √ρ, in which ε is nearly a line; it decides no more than speed."""
    log_odds = log_inverse(delta)
    if not (epsilon > 0 and 0 < log_odds < math.inf):
        return 0.0
    # From the classical conversion, ε = ρ + 2·√(ρ·ln(1/δ)), which is above the true one.
    before, root = 0.0, epsilon / (math.sqrt(log_odds + epsilon) + math.sqrt(log_odds))
    short, off = -epsilon, zcdp_to_approximate(root * root, delta) - epsilon
    for _ in range(8):
        if off == short or abs(root - before) <= 1e-15 * root:
            break
        before, root, short = root, root - off * (root - before) / (off - short), off
        if not 0 < root < 1e150:
            return 0.0
        off = zcdp_to_approximate(root * root, delta) - epsilon
    return root * root


def largest(holds: Callable[[Fraction], bool], *, near: float = 0.0) -> Fraction:
    """Return nearly the largest number of twelve digits for which a claim holds that fails for larger ones.

    Whatever is returned has been checked. It is 0 if no number above 1e-300 is found.

    Args:
        holds: The claim.
        near: Where to look first. A wrong one costs time only.

    >>> largest(lambda x: x * x <= 2), largest(lambda x: x * x <= 2, near=1.41421356237309)
    (Fraction(141421356237, 100000000000), Fraction(141421356237, 100000000000))
    """
    low, high = near * (1 - _CLOSE), near * (1 + _CLOSE)
    if not (1e-290 < near < 1e290 and holds(Fraction(low)) and not holds(Fraction(high))):
        low, high = _bracket(holds)
    while low < (middle := low + (high - low) / 2) < high:
        low, high = (middle, high) if holds(Fraction(middle)) else (low, middle)
    for digits in (12, 11, 10):  # a claim about floats may waver in its last digits
        short = Fraction(decimal(Fraction(low), ROUND_FLOOR, digits))
        if short == 0 or holds(short):
            return short
    return Fraction(0)


def _bracket(holds: Callable[[Fraction], bool]) -> tuple[float, float]:
    """Return a number for which the claim holds, and its double for which it fails."""
    low, high = 0.0, 1.0
    while high < 1e300 and holds(Fraction(high)):
        low, high = high, high * 2
    while not low and high > 1e-300:
        low, high = (high / 2, high) if holds(Fraction(high / 2)) else (0.0, high / 2)
    return low, high if low else 0.0
