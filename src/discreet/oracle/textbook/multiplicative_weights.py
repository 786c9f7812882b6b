"""Multiplicative weights: a distribution over the cells of a domain that learns from its mistakes.

Start uniform over N cells. A step multiplies the weight of every cell by e^{η·q(cell)} and normalises. Write p for
the truth, w and w′ for the weights before and after, q·p for the mean of a query q with values in [0, 1]. Then

    KL(p‖w) − KL(p‖w′) = η·q·p − ln Σ w·e^{η·q} ≥ η·(q·p − q·w) − η²/8,

by Hoeffding's lemma, for every real η: a step towards the truth makes the divergence fall. The textbook has η² in
place of η²/8, and so asks for η ≤ 1. The divergence starts at ln N at most and is never negative, so T steps with
the right sign have errors e₁ … e_T with

    Σ e_t ≤ ln N/η + η·T,   which is 2·√(T·ln N) at η = √(ln N/T).

Everything here is public: it sees released numbers, and no data. Theory: docs/theory/multiplicative-weights.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.rational import Rational, positive, whole

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Weights:
    """A distribution over cells, kept as logarithms so that no number of steps loses a cell.

    >>> weights = Weights.uniform(4).moved(np.array([1, 1, 0, 0]), math.log(3))
    >>> weights.shares.round(3)
    array([0.375, 0.375, 0.125, 0.125])
    """

    logs: Floats

    @classmethod
    def uniform(cls, cells: int) -> Weights:
        """Return the weights that know nothing.

        >>> Weights.uniform(5).shares
        array([0.2, 0.2, 0.2, 0.2, 0.2])
        """
        return cls(np.zeros(whole(cells, "cells")))

    @cached_property
    def shares(self) -> Floats:
        """The distribution itself: weights that sum to 1."""
        raised = np.exp(self.logs - self.logs.max())
        shares: Floats = raised / raised.sum()
        return shares

    def moved(self, query: NDArray[np.generic], step: float) -> Weights:
        """Return these weights after a step: every cell times e^{step·query}."""
        logs = self.logs + step * np.asarray(query, np.float64)
        return Weights(logs - logs.max())

    def divergence(self, truth: Floats) -> float:
        """Return KL(truth‖weights), the potential of every proof here.

        >>> round(Weights.uniform(8).divergence(np.eye(8)[0]), 4) == round(math.log(8), 4)
        True
        """
        there = truth > 0
        logs = self.logs - self.logs.max()
        total = math.log(float(np.exp(logs).sum()))
        return float(truth[there] @ (np.log(truth[there]) - logs[there] + total))


def regret(cells: int, steps: int) -> float:
    """Return 2·√(T·ln N): how much T mistakes can add up to at most, at the learning rate made for T.

    >>> round(regret(cells=1024, steps=100), 1)
    52.7
    """
    return 2 * math.sqrt(whole(steps, "steps", least=0) * log_of(cells))


def regret_at(cells: int, steps: int, rate: float) -> float:
    """Return ln N/η + η·T: how much T mistakes can add up to at most, at any learning rate η.

    >>> round(regret_at(cells=1024, steps=100, rate=math.sqrt(math.log(1024) / 100)), 1)
    52.7
    """
    return log_of(cells) / rate + rate * steps


def mistakes(cells: int, alpha: Rational) -> int:
    """Return ⌊4·ln N/α²⌋: how many mistakes of α or more there can be at most, at the learning rate α/2.

    >>> mistakes(cells=1024, alpha="0.1")
    2772
    """
    share = positive(alpha, "alpha", floats="exact")
    return math.floor(4 * log_of(cells) / float(share * share))


def log_of(cells: int) -> float:
    """Return ln N.

    >>> round(log_of(10**20), 2)
    46.05
    """
    return math.log(whole(cells, "cells"))
