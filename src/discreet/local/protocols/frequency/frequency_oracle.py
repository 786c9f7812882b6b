"""Protocols whose reports support values: what all of them have in common.

A report supports some values of the domain: those whose holders are likelier to send it. If a holder of v sends a
report that supports v with probability p, and one that supports any other given value with probability q < p, the
number c_v of reports that support v says how many hold it:

    f̂_v = (c_v/n − q)/(p − q),        n·Var f̂_v = q(1 − q)/(p − q)² + f_v·(1 − p − q)/(p − q).

Unbiased, whatever the others hold; the variance is over the devices' coins, with f the frequencies among those who
report. (Wang, Blocki, Li and Jha 2017 call such protocols pure.) Summed over the domain the second term is
(1 − p − q)/(p − q) for every population, so the mean of the variances depends on the protocol alone.

One report adds 1/(p − q) to n·f̂_v if it supports v and did not: no lie moves it further.
p and q are exact fractions here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.local.primitives.fixed_point import epsilon_above
from discreet.local.primitives.randomness import FRESH, Draws
from discreet.local.server.estimate import Estimate
from discreet.privacy import Pure
from discreet.rational import Rational, whole

Values = NDArray[np.int64]
Payloads = NDArray[np.uint8]

MOST_VALUES = 2**31
_LISTED = 2**18  # reports of a law that can be listed


class Supporting(ABC):
    """A randomiser whose reports support values, the true one most. A record of integers inherits from it."""

    name: ClassVar[str]

    domain: int
    """How many values there are: 0 … domain − 1."""

    @property
    @abstractmethod
    def outputs(self) -> int:
        """How many different reports there are."""

    @property
    @abstractmethod
    def support(self) -> tuple[Fraction, Fraction]:
        """The probabilities that a report supports the value held, and that it supports another one."""

    @property
    @abstractmethod
    def worst(self) -> Fraction:
        """The largest ratio of the probabilities of one report on two values."""

    @property
    @abstractmethod
    def payload_bytes(self) -> int:
        """How long every report is."""

    @classmethod
    @abstractmethod
    def for_epsilon(cls, domain: int, epsilon: Rational) -> Self:
        """Return the most accurate protocol of its kind that costs a device at most ε."""

    @abstractmethod
    def parameters(self) -> dict[str, int]:
        """Return what `registry.of(name, parameters)` makes it from."""

    @abstractmethod
    def encode(self, values: Values, draws: Draws = FRESH) -> Payloads:
        """Return a report for each value."""

    @abstractmethod
    def law(self, value: int) -> dict[bytes, Fraction]:
        """Return the probability of every report on a value: for small domains."""

    @abstractmethod
    def valid(self, payloads: Payloads) -> NDArray[np.bool_]:
        """Return which of these are reports that some device could have made."""

    @abstractmethod
    def add(self, state: Values, payloads: Payloads) -> None:
        """Count valid reports into a state."""

    def state(self) -> Values:
        """Return the state of no reports."""
        return np.zeros(self.domain, np.int64)

    def supported(self, state: Values) -> Values:
        """Return how many reports support each value."""
        return state

    @property
    def loss(self) -> Pure:
        """What one report costs its device: the logarithm of the worst ratio, rounded up."""
        return _certified(self.worst)

    @property
    def bits(self) -> int:
        """How many bits a report needs, if they were packed."""
        return (self.outputs - 1).bit_length()

    @property
    def influence(self) -> float:
        """By how much one lying report moves one estimated frequency at most, times the number of reports."""
        p, q = self.support
        return float(1 / (p - q))

    def variance(self, frequency: float | None = None) -> float:
        """Return n·Var of the estimate of a value of this frequency; the mean over the domain if none is given."""
        f = 1 / self.domain if frequency is None else frequency
        p, q = self.support
        return float(q * (1 - q) / (p - q) ** 2) + f * float((1 - p - q) / (p - q))

    def estimate(self, state: Values, n: int) -> Estimate:
        """Return unbiased frequencies with their standard errors, from the state of n reports."""
        if n < 1:
            raise ParameterError("there is no report yet, so there is nothing to estimate.")
        p, q = self.support
        values = (self.supported(state) / n - float(q)) / float(p - q)
        certain, moved = self.variance(0), self.variance(1)
        f = np.clip(values, 0, 1)
        return Estimate(values, np.sqrt((certain + f * (moved - certain)) / n), n)


@lru_cache(maxsize=1024)
def _certified(worst: Fraction) -> Pure:
    return Pure(epsilon_above(worst))


def domain_of(values: int, most: int = MOST_VALUES) -> int:
    """Return how many values there are, at least two.

    >>> domain_of(10)
    10
    """
    found = whole(values, "domain", least=2)
    if found > most:
        raise ParameterError(
            f"a domain of {found:,} values is more than the {most:,} that this protocol can hold."
        )
    return found


def refuse_useless(p: Fraction, q: Fraction) -> None:
    """Refuse a protocol that supports the truth no more than anything else."""
    if p <= q:
        raise ParameterError(
            f"reports that support the truth with probability {float(p):.3g}, and another value with "
            f"{float(q):.3g}, say nothing about it. Take the parameters from for_epsilon(domain, epsilon)."
        )


def refuse_endless(outputs: int) -> None:
    """Refuse to list a law of too many reports."""
    if outputs > _LISTED:
        raise ParameterError(
            f"a law of {outputs:.3g} reports is too long to list. Look at the same protocol with a smaller domain."
        )
