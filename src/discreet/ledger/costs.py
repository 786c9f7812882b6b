"""Compute the cost of a question in the amounts that add up under adaptivity: its ε, its ρ, and its own δ.

| loss | ε | ρ | δ |
|---|---|---|---|
| any loss with a pure ε | ε | by `loss_measures.zcdp_rho`, at most ε²/2 | 0 |
| Gaussian noise, zCDP, GDP | – | by `loss_measures.zcdp_rho` | 0 |
| (ε, δ), such as keys selected by a threshold | – | that of pure ε, at most ε²/2 | δ |
| a Rényi curve | refused | | |

(ε, δ): the pair of output laws is (1 − δ) times an ε-indistinguishable pair plus δ times an arbitrary one
(Kairouz, Oh, Viswanath 2015), hence δ-approximately ρ-zCDP with the ρ of ε-DP.

All three are kept for every account, so that a budget can be amended from one filter to the other. Sums are exact
as long as their denominator has at most 2048 bits; beyond, they are rounded up to a multiple of 1e-300, so that
no sequence of odd denominators makes an entry grow.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.errors import Code, Fix, NotComposable, ParameterError
from discreet.privacy.loss_measures import pure_epsilon, zcdp_rho
from discreet.privacy.losses import Approximate, Loss, Losses, PoissonSubsampled, Pure, Renyi, counted, describe
from discreet.privacy.theorems.subsampling import poisson

_BITS, _GRID = 2048, 10**300


@dataclass(frozen=True)
class Cost:
    """The amounts that add up: pure ε (None where there is none), zCDP ρ, and δ.

    >>> Cost(epsilon=Fraction(1), rho=Fraction(1, 2)) + Cost(epsilon=None, rho=Fraction(1, 2))
    Cost(epsilon=None, rho=Fraction(1, 1), delta=Fraction(0, 1))
    """

    epsilon: Fraction | None = Fraction(0)
    rho: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    def __add__(self, other: Cost) -> Cost:
        both = self.epsilon is not None and other.epsilon is not None
        return Cost(
            rounded_up((self.epsilon or Fraction(0)) + (other.epsilon or Fraction(0))) if both else None,
            rounded_up(self.rho + other.rho),
            rounded_up(self.delta + other.delta),
        )


NOTHING = Cost()
"""The cost of no question at all."""


def cost(losses: Losses) -> Cost:
    """Return the cost of a question with these losses.

    >>> from discreet.privacy import Gaussian, Laplace
    >>> cost([Gaussian(sigma=10) * 2, Gaussian(sigma=5)])
    Cost(epsilon=None, rho=Fraction(3, 100), delta=Fraction(0, 1))
    >>> cost(Laplace(scale=10)).epsilon
    Fraction(1, 10)
    """
    listed = [losses] if isinstance(losses, Loss) else list(losses)
    if not listed:
        raise ParameterError(
            "A charge has at least one loss.", fix="A release that reads no data needs no charge."
        )
    for loss in listed:
        if not isinstance(loss, Loss):
            raise NotComposable(
                "A ledger charges losses. The result of a plan is not a valid stopping rule: "
                "it holds for parameters fixed in advance.",
                found=type(loss).__name__,
                fix=Fix("losses", Code("privacy.Laplace(scale=10)")),
            )
    total = NOTHING
    for loss, count in counted(listed).items():
        single = _single(loss)
        epsilon = None if single.epsilon is None else count * single.epsilon
        total += Cost(epsilon, count * single.rho, count * single.delta)
    return total


def described(losses: Losses) -> list[str]:
    """Describe the losses, one line for each kind.

    >>> described([Pure(1), Pure(1)])
    ['2 × Pure(epsilon=1)']
    """
    return [_described(loss if count == 1 else loss * count) for loss, count in counted(losses).items()]


def rounded_up(value: Fraction) -> Fraction:
    """Return the number itself, or if its denominator is too long, a little more.

    >>> rounded_up(Fraction(1, 3)), rounded_up(Fraction(1, 3**2000)) == Fraction(1, 10**300)
    (Fraction(1, 3), True)
    """
    if value.denominator.bit_length() <= _BITS:
        return value
    return Fraction(-(-value.numerator * _GRID // value.denominator), _GRID)


def _described(loss: Loss) -> str:
    try:
        return describe(loss)
    except ValueError:  # Python writes out no number of more than 4300 digits
        return f"{type(loss).__name__} with numbers too long to write"


@lru_cache(maxsize=1024)  # questions of one ε have the same few losses
def _single(loss: Loss) -> Cost:
    match loss:
        case Approximate() if loss.delta:
            return Cost(None, _rho(Pure(loss.epsilon)), loss.delta)
        case PoissonSubsampled(loss=Approximate() as whole):
            return _single(poisson(whole, loss.rate))
    return Cost(pure_epsilon(loss), _rho(loss), Fraction(0))


def _rho(loss: Loss) -> Fraction:
    rho = zcdp_rho(loss)
    if rho is None:
        inner = loss.loss if isinstance(loss, PoissonSubsampled) else loss
        curve = "a Rényi curve known at some orders bounds no ρ"
        reason = curve if isinstance(inner, Renyi) else "no ρ bounds it"
        raise NotComposable(
            f"{describe(loss)} has no amount that adds up in a ledger: {reason}.",
            fix="Charge the mechanism itself, such as privacy.Laplace or privacy.Gaussian.",
        )
    return rho
