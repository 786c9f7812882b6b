"""Estimate frequencies from reports that support values: the common part of all such protocols.

A report supports some values of the domain: those whose holders are likelier to send it. If a holder of v sends a
report that supports v with probability p, and one that supports any other given value with probability q < p, the
number c_v of reports that support v gives the frequency of v:

    f̂_v = (c_v/n − q)/(p − q),        n·Var f̂_v = q(1 − q)/(p − q)² + f_v·(1 − p − q)/(p − q).

Unbiased, whatever the others hold; the variance is over the devices' coins, with f the frequencies among those who
report. (Wang, Blocki, Li and Jha 2017 call such protocols pure.) Summed over the domain the second term is
(1 − p − q)/(p − q) for every population, so the mean of the variances depends on the protocol alone.

One report adds 1/(p − q) to n·f̂_v if it supports v and did not: no malicious report moves it further.
p and q are exact fractions here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Fix, ParameterError
from discreet.local.primitives.fixed_point import FROM_EPSILON, epsilon_above
from discreet.local.primitives.randomness import FRESH, Draws
from discreet.local.server.estimate import Estimate
from discreet.privacy import Pure
from discreet.rational import Rational, whole

Values = NDArray[np.int64]
Payloads = NDArray[np.uint8]

MOST_VALUES = 2**31
_LISTED = 2**18  # the most reports of a law that is listed


class FrequencyOracle(ABC):
    """A randomiser whose reports support values, the true one most. Records of integers inherit from it."""

    name: ClassVar[str]

    domain: int
    """The number of values: 0 … domain − 1."""

    @property
    @abstractmethod
    def outputs(self) -> int:
        """The number of different reports."""

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
        """The length of every report in bytes."""

    @classmethod
    @abstractmethod
    def for_epsilon(cls, domain: int, epsilon: Rational) -> Self:
        """Return the most accurate protocol of its kind that costs a device at most ε."""

    @abstractmethod
    def parameters(self) -> dict[str, int]:
        """Return the parameters from which `registry.of(name, parameters)` builds it."""

    @abstractmethod
    def encode(self, values: Values, draws: Draws = FRESH) -> Payloads:
        """Return a report for each value."""

    @abstractmethod
    def law(self, value: int) -> dict[bytes, Fraction]:
        """Return the probability of every report on a value: for small domains."""

    @abstractmethod
    def valid(self, payloads: Payloads) -> NDArray[np.bool_]:
        """Return which of these are reports that an honest device could have made."""

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
        """The cost of one report for its device: the logarithm of the worst ratio, rounded up."""
        return _certified(self.worst)

    @property
    def bits(self) -> int:
        """The number of bits of a report, if it were packed."""
        return (self.outputs - 1).bit_length()

    @property
    def influence(self) -> float:
        """The largest shift of one estimated frequency by one malicious report, times the number of reports."""
        p, q = self.support
        return float(1 / (p - q))

    def variance(self, frequency: float | None = None) -> float:
        """Return n·Var of the estimate of a value of this frequency; by default the mean over the domain."""
        f = 1 / self.domain if frequency is None else frequency
        p, q = self.support
        return float(q * (1 - q) / (p - q) ** 2) + f * float((1 - p - q) / (p - q))

    def estimate(self, state: Values, n: int) -> Estimate:
        """Return unbiased frequencies with their standard errors, from the state of n reports."""
        if n < 1:
            raise ParameterError(
                "There is no report yet, so there is nothing to estimate.", fix="Count reports first."
            )
        p, q = self.support
        values = (self.supported(state) / n - float(q)) / float(p - q)
        certain, moved = self.variance(0), self.variance(1)
        f = np.clip(values, 0, 1)
        return Estimate(values, np.sqrt((certain + f * (moved - certain)) / n), n)


@lru_cache(maxsize=1024)
def _certified(worst: Fraction) -> Pure:
    return Pure(epsilon_above(worst))


def domain_of(values: int, most: int = MOST_VALUES) -> int:
    """Return the number of values, which must be at least two.

    >>> domain_of(10)
    10
    """
    found = whole(values, "domain", least=2)
    if found > most:
        raise ParameterError(
            f"This protocol can hold a domain of at most {most:,} values.",
            found=f"{found:,}",
            fix=Fix("domain", most),
        )
    return found


def refuse_useless(p: Fraction, q: Fraction) -> None:
    """Refuse a protocol that does not support the truth more than other values."""
    if p <= q:
        raise ParameterError(
            f"Reports that support the truth with probability {float(p):.3g}, and another value with "
            f"{float(q):.3g}, say nothing about it.",
            fix=FROM_EPSILON,
        )


def refuse_endless(outputs: int) -> None:
    """Refuse to list a law of too many reports."""
    if outputs > _LISTED:
        raise ParameterError(
            f"A law of {outputs:.3g} reports is too long to list.",
            fix="List the law of the same protocol with a smaller domain.",
        )
