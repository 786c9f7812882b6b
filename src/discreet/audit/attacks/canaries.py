"""Bound the loss of a learner from one run on a table with many canaries.

A canary is a person made up by the auditor. Each of m canaries is in the table or not, by a fair coin of its own;
the learner runs once; and the auditor guesses for some of them whether they were in.

Claim. If the learner is ε-differentially private for adding or removing one person, the number of right guesses
among r is stochastically at most Binomial(r, e^ε/(1 + e^ε)), whatever the guesses depend on (Steinke, Nasr and
Jagielski 2023). So with a Clopper–Pearson bound p ≤ the chance of a right guess, ε ≥
ln(p/(1 − p)), but for a probability alpha. The auditor may abstain, but not by looking at which guesses are right.

One run replaces thousands, where canaries do not disturb each other: each in a cell of its own.
"""

from __future__ import annotations

import math

from discreet.audit.attacks.clopper_pearson import lower


def one_run(right: int, guesses: int, *, alpha: float = 1e-6) -> float:
    """Return a lower bound on ε from right guesses about canaries in one run.

    Args:
        right: The number of right guesses.
        guesses: The number of guesses.
        alpha: The probability that the bound fails.

    >>> round(one_run(900, 1000), 3), one_run(520, 1000)
    (1.721, 0.0)
    """
    chance = float(lower(right, guesses, alpha)) if guesses else 0.0
    return max(0.0, math.log(chance / (1 - chance))) if chance > 0 else 0.0
