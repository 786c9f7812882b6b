"""Define a budget: the (ε, δ) that is promised, and the filter that keeps it under adaptive questions.

* δ = 0: the ε of all questions add up to at most ε.
* δ > 0: the ρ of all questions add up to at most `rho`, and the δ of those that have one (selected keys) to δ/2.
  `rho` is the largest ρ found whose conversion at δ/2 gives ε or less. By Whitehouse, Ramdas, Rogers and Wu (2023)
  the transcript is δ/2-approximately ρ-zCDP, hence (ε, δ/2 + δ/2)-DP, however the questions were chosen.

The search for ρ decides how good the filter is, not whether it is valid: what it returns has passed the certified
conversion (`privacy.rho_for`). Theory in docs/theory/ledger.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import Code, Fix, ParameterError
from discreet.privacy.theorems.calibration import largest_rho, rho_for
from discreet.rational import Exactly
from discreet.render.numbers import left

_DIGITS = 300  # of a budget's numerator and denominator: they are written into every entry


@dataclass(frozen=True)
class Budget:
    """A promise of (ε, δ)-differential privacy for all questions together.

    Without δ, the ε of pure questions add up. With δ, Gaussian noise and selected keys are allowed too, and many
    small questions cost far less; but one large pure question may not fit although its ε does.

    >>> Budget(epsilon=2, delta="1e-9")
    Budget(epsilon=Fraction(2, 1), delta=Fraction(1, 1000000000))
    >>> float(Budget(epsilon=2, delta="1e-9").rho)
    0.0541...
    """

    epsilon: Exactly = Exactly(floats="decimal", example=2)
    delta: Exactly = Exactly(default=0, most=1, floats="decimal")

    def __post_init__(self) -> None:
        if self.delta == 1:
            raise ParameterError(
                "A delta of 1 promises nothing.",
                fix=Fix("delta", "1e-9", note="well below 1 divided by the number of people"),
            )
        for name, value in (("epsilon", self.epsilon), ("delta", self.delta)):
            if max(value.numerator, value.denominator) >= 10**_DIGITS:
                raise ParameterError(
                    f"The {name} of a budget has at most {_DIGITS} digits in its numerator and in its denominator."
                )

    @property
    def pure(self) -> bool:
        """True if ε adds up, not ρ.

        >>> Budget(1).pure, Budget(1, "1e-9").pure
        (True, False)
        """
        return self.delta == 0

    @property
    def rho(self) -> Fraction | None:
        """The most that all ρ may add up to, rounded down; None without δ.

        >>> Budget(1).rho is None
        True
        """
        return None if self.pure else largest_rho(self.epsilon, self.delta / 2)

    def rho_of(self, epsilon: Fraction) -> Fraction:
        """Return the ρ of one release that is (epsilon, δ)-DP by itself, at this budget's δ.

        Half of δ is for selected keys, as in the budget itself: so a release of the budget's ε spends all of it.

        >>> budget = Budget(2, "1e-9")
        >>> budget.rho_of(Fraction(2)) == budget.rho
        True
        """
        return rho_for(epsilon, self.delta / 2)

    @property
    def key_delta(self) -> Fraction:
        """The most that the δ of selected keys may add up to: half of the budget's δ.

        >>> Budget(1, "1e-6").key_delta
        Fraction(1, 2000000)
        """
        return self.delta / 2

    @property
    def code(self) -> Code:
        """The budget as Python code, rounded down to six digits: for the fix of an error.

        >>> Budget(2, "1e-9").code
        Budget(epsilon="2", delta="1e-9")
        """
        delta = "" if self.pure else f', delta="{left(self.delta)}"'
        return Code(f'Budget(epsilon="{left(self.epsilon)}"{delta})')

    def __str__(self) -> str:
        epsilon = f"ε = {left(self.epsilon)}"
        return epsilon if self.pure else f"{epsilon} at δ = {left(self.delta)}"
