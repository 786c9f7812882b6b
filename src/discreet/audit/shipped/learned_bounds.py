"""List the release of learned bounds as a subject of an attack.

The weights of three bins, with rows of weight 1 instead of 4096, so that the exact attack enumerates nearly all
draws. A person has two rows at most, in one bin or in two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from discreet.audit.inputs.subject import Subject
from discreet.sealing.learning import noise_for, noisy_weights

_ROWS = 2
_PAIRS = [([3, 0, 1], [5, 0, 1]), ([3, 0, 1], [4, 1, 1]), ([0, 0, 0], [0, 0, 2])]


def learned_bounds() -> list[Subject]:
    """Return the subjects: in a vault without δ, and in one with it.

    >>> [subject.name for subject in learned_bounds()]
    ['LearnedBounds(epsilon=2, rows_per_person=2)', 'LearnedBounds(rho=2, rows_per_person=2)']
    """
    return [
        Subject(
            name=f"LearnedBounds({'epsilon' if pure else 'rho'}=2, rows_per_person={_ROWS})",
            release=released(pure=pure),
            loss=noise_for(Fraction(2), _ROWS, pure=pure, unit=1).loss,
            pairs=_PAIRS,
        )
        for pure in (True, False)
    ]


def released(*, pure: bool) -> Callable[[Sequence[int]], list[int]]:
    """Return what releases the weights of bins: bounds are computed from them alone."""
    mechanism = noise_for(Fraction(2), _ROWS, pure=pure, unit=1)
    return lambda weights: noisy_weights(weights, mechanism)
