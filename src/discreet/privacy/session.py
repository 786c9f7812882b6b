"""Account for sessions: each step is chosen after the last answer, and the budget is never exceeded.

Claim: whatever an analyst releases through one session, adaptively in every way (queries, mechanisms and their
parameters), is private at the session's budget as a whole. The sum of what was charged is a *filter*: a stopping
rule that is valid although each cost may depend on earlier answers.

* pure ε, the ε add up (Rogers, Roth, Ullman, Vadhan 2016);
* zCDP, the ρ add up (Feldman and Zrnic 2021; Whitehouse, Ramdas, Rogers, Wu 2023);
* GDP, the μ² add up (Smith and Thakurta 2022).

There are no other filters here, on purpose. A plan adds losses up more tightly by composing whole curves (privacy
loss distributions), which is right when all parameters are fixed in advance. "Compose the curves so far and stop
at the budget" is not a valid filter in general (arXiv 2602.06756, 2602.15815): an analyst who picks the next
mechanism by what the last answer revealed can spend more than the budget. So the result of a plan is not a `Loss`,
and `charge` takes nothing else: a type checker refuses it, and so does `charge`.

The guarantee is that of the budget, not of what happens to be spent at some moment that depended on the answers.
Amounts are exact fractions, spending the budget exactly is allowed, and a step takes constant time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import NoReturn, TypeAlias

from discreet.errors import BudgetExceeded, Code, Fix, NotComposable
from discreet.privacy.loss_measures import gdp_mu_squared, pure_epsilon, zcdp_rho
from discreet.privacy.losses import (
    Approximate,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    GaussianDP,
    Laplace,
    Loss,
    PermuteAndFlip,
    PoissonSubsampled,
    Pure,
    RandomizedResponse,
    Repeated,
    SparseVector,
    ZeroConcentrated,
    describe,
)
from discreet.privacy.theorems.conversions import (
    gdp_to_approximate,
    pure_to_approximate,
    zcdp_to_approximate,
)
from discreet.rational import Rational, shown

Budget: TypeAlias = Pure | ZeroConcentrated | GaussianDP
"""The guarantees that a session can have as a whole."""

AdaptiveLoss: TypeAlias = (
    Pure
    | ZeroConcentrated
    | GaussianDP
    | Laplace
    | DiscreteLaplace
    | Gaussian
    | DiscreteGaussian
    | RandomizedResponse
    | Exponential
    | PermuteAndFlip
    | SparseVector
    | PoissonSubsampled
    | Repeated
)
"""The losses that a session charges: those with a number that adds up under adaptivity. No (ε, δ), no curves."""


@dataclass(frozen=True)
class _Measure:
    """One filter: the amount that adds up, its size for a loss, and the (ε, δ) of the whole budget."""

    symbol: str
    total: Fraction
    cost: Callable[[Loss], Fraction | None]
    epsilon: Callable[[Rational], float]


class Session:
    """A budget that is spent step by step, each step chosen freely. Safe for threads; cannot be copied.

    >>> session = Session(ZeroConcentrated("0.5"))
    >>> session.charge(Gaussian(sigma=5) * 10)
    >>> session.spent, session.remaining
    (Fraction(1, 5), Fraction(3, 10))
    >>> session.charge(Gaussian(sigma=1))
    Traceback (most recent call last):
    discreet.errors.BudgetExceeded: Gaussian(sigma=1, sensitivity=1) costs ρ = 0.5, and 0.3 of 0.5 is left.
    Try: loss=privacy.ZeroConcentrated("0.3") (the most that still fits).
    """

    def __init__(self, budget: Budget):
        self._budget = budget
        self._measure = _measure(budget)
        self._spent = Fraction(0)
        self._lock = threading.Lock()

    @property
    def budget(self) -> Budget:
        """The guarantee of the session as a whole.

        >>> Session(Pure(1)).budget
        Pure(epsilon=Fraction(1, 1))
        """
        return self._budget

    @property
    def spent(self) -> Fraction:
        """The amount that was charged: ε, ρ or μ², whichever adds up.

        >>> Session(GaussianDP(1)).spent
        Fraction(0, 1)
        """
        return self._spent

    @property
    def remaining(self) -> Fraction:
        """The amount that is left: ε, ρ or μ², whichever adds up.

        >>> Session(GaussianDP(2)).remaining
        Fraction(4, 1)
        """
        return self._measure.total - self._spent

    def charge(self, loss: AdaptiveLoss) -> None:
        """Charge one step, before it is taken. A step that is refused costs nothing.

        >>> session = Session(Pure(1))
        >>> session.charge(Laplace(scale=2))
        >>> session.remaining
        Fraction(1, 2)
        """
        cost = self._cost(loss)
        with self._lock:
            if cost > self.remaining:
                raise self._refusal(loss, cost)
            self._spent += cost

    def can_afford(self, loss: AdaptiveLoss) -> bool:
        """Return whether `charge` would accept the loss now.

        >>> Session(Pure(1)).can_afford(Laplace(scale=1)), Session(Pure(1)).can_afford(Laplace(scale="0.9"))
        (True, False)
        """
        return self._cost(loss) <= self.remaining

    def epsilon(self, delta: Rational) -> float:
        """Return ε such that the whole session, spent or not, is (ε, δ)-DP.

        >>> Session(ZeroConcentrated("0.1")).epsilon("1e-6")
        2.14193892...
        """
        return self._measure.epsilon(delta)

    def _cost(self, loss: Loss) -> Fraction:
        if not isinstance(loss, Loss):
            raise NotComposable(
                "A session charges losses. The result of a plan is not a valid stopping rule: "
                "it holds for parameters fixed in advance.",
                found=type(loss).__name__,
                fix=Fix("loss", Code("privacy.Laplace(scale=10)")),
            )
        cost = self._measure.cost(loss)
        if cost is None:
            reason, fix = _reason(loss)
            raise NotComposable(f"{describe(loss)} has no {self._measure.symbol}: {reason}.", fix=fix)
        return cost

    def _refusal(self, loss: Loss, cost: Fraction) -> BudgetExceeded:
        left = _decimal(self.remaining, ROUND_FLOOR)
        problem = (
            f"{describe(loss)} costs {self._measure.symbol} = {_decimal(cost, ROUND_CEILING)}, "
            f"and {left:f} of {_decimal(self._measure.total, ROUND_FLOOR):f} is left."
        )
        if left == 0:
            return BudgetExceeded(problem, fix="Nothing more can be released in this session.")
        offer = (
            _decimal(Fraction(left.sqrt(Context(prec=28))), ROUND_FLOOR) if self._measure.symbol == "μ²" else left
        )
        step = Code(f'privacy.{type(self._budget).__name__}("{offer:f}")')
        return BudgetExceeded(problem, fix=Fix("loss", step, note="the most that still fits"))

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("A session cannot be copied or pickled: two copies would each spend the same budget.")

    def __repr__(self) -> str:
        return f"Session({describe(self._budget)}, spent={self._spent})"


def _measure(budget: Budget) -> _Measure:
    match budget:
        case Pure():
            return _Measure("ε", budget.epsilon, pure_epsilon, lambda d: pure_to_approximate(budget.epsilon, d))
        case ZeroConcentrated():
            return _Measure("ρ", budget.rho, zcdp_rho, lambda d: zcdp_to_approximate(budget.rho, d))
        case GaussianDP():
            return _Measure("μ²", budget.mu**2, gdp_mu_squared, lambda d: gdp_to_approximate(budget.mu, d))
    raise NotComposable(
        "The budget of a session must be Pure, ZeroConcentrated or GaussianDP: "
        "only these add up when each step depends on the last answer.",
        found=shown(budget),
        fix=[
            Fix("budget", Code('privacy.ZeroConcentrated("0.1")')),
            "Read the (ε, δ) of the session from session.epsilon(delta).",
        ],
    )


def _reason(loss: Loss) -> tuple[str, str]:
    """Return why the loss does not fit, and the fix."""
    match loss:
        case Repeated() | PoissonSubsampled():
            return _reason(loss.loss)
        case Approximate():
            return (
                "with probability δ it may reveal everything",
                "Charge the mechanism itself, such as privacy.Gaussian(sigma=10), in a zCDP session, "
                "or compose it in a plan.",
            )
        case Gaussian() | GaussianDP():
            return (
                "no ε bounds its loss",
                "Use privacy.Laplace, or a session with a budget of privacy.ZeroConcentrated.",
            )
        case DiscreteGaussian():
            return (
                "its loss is unbounded, and its steps are a little easier to distinguish than a Gaussian's",
                "Use a session with a budget of privacy.ZeroConcentrated.",
            )
        case ZeroConcentrated():
            return "ρ bounds moments only", "Use a session with a budget of privacy.ZeroConcentrated."
    return (
        "a curve known at some orders does not bound it",
        "Charge the mechanism itself, or compose it in a plan.",
    )


def _decimal(value: Fraction, rounding: str) -> Decimal:
    """Return six digits, rounded in the direction given."""
    context = Context(prec=6, rounding=rounding)
    return context.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize(context)
