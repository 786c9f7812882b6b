"""Choose pairs of exact values for a mechanism: the worst that one person can do within its sensitivity.

A mechanism that keeps the contract states what it takes: its `sensitivity`, its `threshold` if it has one, whether
it was built for monotonic values, and, by what it refuses, whether it takes one integer or a vector. The pairs are
those on which proofs are tight: one value that changes as much as it may, entries that all rise, entries that rise
while others fall, a low score that overtakes, and values at both ends of the range of an exact value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from discreet.mechanisms import Exact, Mechanism, Sensitivity
from discreet.mechanisms.exact import LIMIT

Value: TypeAlias = int | list[int]
Pair: TypeAlias = tuple[Value, Value]


def sensitivity_of(mechanism: Mechanism) -> Sensitivity:
    """Return the sensitivity to declare for an exact value that the mechanism releases.

    >>> from discreet.mechanisms import Exponential
    >>> sensitivity_of(Exponential(1, sensitivity=3, monotonic=True))
    Sensitivity(entries=None, each=3, l1=None, l2_squared=None, monotonic='up')
    """
    built_for: Any = getattr(mechanism, "sensitivity", 1)
    if isinstance(built_for, Sensitivity):
        return built_for
    if takes_one(mechanism):
        return Sensitivity.of(built_for)
    return Sensitivity(each=built_for, monotonic="up" if getattr(mechanism, "monotonic", False) else None)


def takes_one(mechanism: Mechanism) -> bool:
    """Return whether the mechanism releases a single integer, and not only vectors.

    >>> from discreet.mechanisms import Exponential, Laplace
    >>> takes_one(Laplace(1)), takes_one(Exponential(1))
    (True, False)
    """
    built_for: Any = getattr(mechanism, "sensitivity", 1)
    single = Sensitivity.of(built_for) if isinstance(built_for, int) else built_for
    try:
        mechanism.release(Exact(0, Sensitivity(each=single.each, monotonic="up")))
    except Exception:  # any exception is a refusal
        return False
    return True


def pairs(mechanism: Mechanism) -> list[Pair]:
    """Return pairs of exact values that two neighbouring tables could have.

    >>> from discreet.mechanisms import Laplace
    >>> pairs(Laplace(1, sensitivity=2))[0]
    (0, 2)
    """
    return list(_single(mechanism) if takes_one(mechanism) else _vectors(mechanism))


def _single(mechanism: Mechanism) -> Iterator[Pair]:
    sensitivity = sensitivity_of(mechanism)
    change = sensitivity.each or 1
    yield 0, change
    yield LIMIT - change, LIMIT
    if sensitivity.entries and sensitivity.entries > 1:
        yield [0] * sensitivity.entries, [change] * sensitivity.entries


def _vectors(mechanism: Mechanism) -> Iterator[Pair]:
    rise, base = sensitivity_of(mechanism).each or 1, getattr(mechanism, "threshold", None) or 0
    fall = 0 if getattr(mechanism, "monotonic", False) else rise
    far = 6 * rise
    yield [base, base + fall], [base + rise, base]
    yield [base - far, base + fall], [base - far + rise, base]
    if not hasattr(mechanism, "threshold"):  # three queries and a threshold are too many draws to enumerate
        yield [base - far, base - far, base], [base - far + rise, base - far + rise, base - fall]
