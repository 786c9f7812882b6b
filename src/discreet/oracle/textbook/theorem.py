"""What a theorem promises about answers, and whether that says anything.

Every share of rows lies between 0 and 1, so a promise of an error of 1 or more promises nothing. The constants of
the textbook often come to that on tables of a size that people have: then the promise says so. A mechanism is as
private as it says all the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, kw_only=True)
class Promise:
    """Every answer is within `error` of the truth, as a share of the rows, but for a chance of `failure`.

    >>> print(Promise(error=0.13, failure=Fraction(1, 20), queries=1000))
    all of 1,000 answers within 0.13 of the truth, as a share of the rows, but for a chance of 0.05
    >>> print(Promise(error=2.7, failure=Fraction(1, 20), queries=1000))
    nothing: an error of 2.7, where every share lies between 0 and 1. It is private; but for answers take more
    rows, a larger epsilon or a smaller domain. What people use on such tables are vault.oracle and
    vault.synthesize.
    """

    error: float
    failure: Fraction
    queries: int

    @property
    def vacuous(self) -> bool:
        """Whether nothing is promised."""
        return self.error >= 1

    def __str__(self) -> str:
        if self.vacuous:
            return (
                f"nothing: an error of {self.error:.2g}, where every share lies between 0 and 1. It is private; "
                "but for answers take more rows, a larger epsilon or a smaller domain. What people use on such "
                "tables are vault.oracle and vault.synthesize."
            )
        return (
            f"all of {self.queries:,} answers within {self.error:.2g} of the truth, as a share of the rows, "
            f"but for a chance of {float(self.failure):g}"
        )
