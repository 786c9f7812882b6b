"""Release running sums by the binary tree, with the estimate from below, and with a state that is private.

Mechanism. Node i of level l covers the ticks i·2^l + 1, …, (i + 1)·2^l. A horizon of T ticks has h = ⌈log₂(T + 1)⌉
levels. When a node closes, its sum is released with noise of its own. The sum of the first t ticks is that of the
nodes at the binary digits of t.

Claim. An event is in one node of each level. With discrete Laplace noise of scale h·each·k/ε all releases together
are ε-DP for a unit of k events; with discrete Gaussian noise of variance Δ²/(2ρ) they are ρ-zCDP, where Δ² =
each²·Σ_l s_l and s_l
bounds Σᵢ(events in node i)²: k², or less if events keep apart, as a node of level l then holds at most
c = ⌈2^l/apart⌉ of them, so s_l = k·min(k, c).

**The estimate from below** (Honaker 2015). A node's sum is measured twice: by itself, and by its two children. The
estimate weighs both by their variances, which gives variance 1/(2 − 2^−l) of a node's own at level l. It is
post-processing.

**Pan privacy.** With `pan_private` an open node holds its sum *with* noise η, drawn when the node opened, and no
exact sum is held anywhere; when it closes, it is released with η and another draw η′ of the same law. Claim: all
releases, together with *one* look at the whole state at any moment, are as private as stated above. Proof: let the
look be after tick s. An event in tick j ≤ s moves, in its node of each level, what the look and the release both
show; the draw η moved by the same amount explains both. If j > s, the look shows nothing of it, and η′ explains
the release. Either way one draw per level moves, by what the claim charges. A look that is announced is followed
by `refresh`: every open node takes another η, so the next look is covered in the same way. The noise of a release
has twice the variance, and more with each refresh. A look at the memory of the process finds no noise of a later
release, and no key that such noise or noise of the state was drawn with. Tests enumerate releases and looks:
tests/stream, tests/audit/shipped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.mechanisms import tails
from discreet.privacy.losses import Loss, Pure, ZeroConcentrated
from discreet.stream.factorisations.running_sums import deviations
from discreet.stream.factorisations.units import EVENT, Person

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_TOGETHER = 1024  # ticks whose noise is drawn at once


class TreeSums:
    """Running sums by the binary tree.

    Args:
        loss: Pure(ε) for Laplace noise, ZeroConcentrated(ρ) for Gaussian noise: the loss of all values together.
        horizon: The number of ticks.
        keys: The number of keys; None for one count.
        unit: What is protected.
        each: The most that one event adds to a count.
        entries: The keys that one event changes; 1 by default.
        from_below: Whether nodes are estimated from their children too; they are by default.
        pan_private: Whether open nodes hold noise, so that one look at the state is covered; not by default.

    >>> sums = TreeSums(Pure(50), 1000)
    >>> for count in (3, 0, 4):
    ...     sums.push(count)
    >>> abs(sums.value - 7) < 3, sums.levels
    (True, 10)
    """

    def __init__(
        self,
        loss: Pure | ZeroConcentrated,
        horizon: int,
        *,
        keys: int | None = None,
        unit: Person = EVENT,
        each: int = 1,
        entries: int = 1,
        from_below: bool = True,
        pan_private: bool = False,
    ):
        self._loss, self.horizon, self.keys, self._tick = loss, horizon, keys, 0
        self.pan_private, self._from_below = pan_private, from_below
        self.levels = horizon.bit_length()
        self.sensitivity_l1 = self.levels * each * unit.events * entries
        self.sensitivity_squared = each**2 * entries * sum(_squares(unit, level) for level in range(self.levels))
        if isinstance(loss, Pure):
            self.scale = self.sensitivity_l1 / loss.epsilon
            tails.refuse_too_wide("scale", self.scale)
        else:
            self.scale = self.sensitivity_squared / (2 * loss.rho)
            tails.refuse_too_wide("variance", self.scale, tails.WIDEST**2)
        zero: Any = 0 if keys is None else np.zeros(keys, np.int64)
        self._marked = False
        self._supply: list[Any] = []
        self._open: list[Any] = [self._opened() if pan_private else zero for _ in range(self.levels)]
        self.refreshes = 0
        self._draws = [1] * self.levels  # draws in each open node, with that of its release
        if pan_private:
            self._draws = [2] * self.levels
        # The latest closed node of each level that no larger one has taken in: estimate and variance.
        self._closed: list[tuple[Any, float]] = [(0.0, 0.0)] * self.levels
        self._value: Any = 0.0 if keys is None else np.zeros(keys)

    @property
    def tick(self) -> int:
        """The ticks so far."""
        return self._tick

    @property
    def test_bits(self) -> bool:
        """Whether noise was drawn from test bits."""
        return self._marked

    @property
    def loss(self) -> Loss:
        """The privacy loss of all values together."""
        return self._loss

    @property
    def value(self) -> Any:
        """The private sum so far."""
        return self._value

    def push(self, count: Any) -> None:
        """Take the count of the next tick."""
        if not self.pan_private:
            self._push(count)
            return
        with self._supplied(1):
            self._push(count)

    def _push(self, count: Any) -> None:
        # One step, which no interrupt divides: an event that was in some nodes only would be added again with its
        # tick, and count twice there.
        self._open, self._tick = [node + count for node in self._open], self._tick + 1
        ending = (self._tick & -self._tick).bit_length() - 1
        estimate, variance = self._close(0)
        for level in range(1, ending + 1):
            estimate, variance = self._joined(level, self._closed[level - 1], (estimate, variance))
            self._closed[level - 1] = (0.0, 0.0)
        self._closed[ending] = (estimate, variance)
        digits = [level for level in range(self.levels) if self._tick >> level & 1]
        self._value = sum((self._closed[level][0] for level in digits), start=0 * self._value)

    def push_many(self, counts: Integers) -> Floats:
        """Take the counts of many ticks, and return the value after each."""
        made = []
        for start in range(0, len(counts), _TOGETHER):
            part = counts[start : start + _TOGETHER]
            with self._supplied(len(part)):
                for count in part.tolist() if self.keys is None else part:
                    self._push(count)
                    made.append(self._value)
        return np.array(made).reshape(-1) if self.keys is None else np.array(made).reshape(-1, self.keys)

    def refresh(self) -> None:
        """Add noise to every open node, after a look at the state that was announced."""
        for level in range(self.levels):
            self._open[level] = self._open[level] + self._draw()
            self._draws[level] += 1
        self.refreshes += 1

    def margins(self, ticks: Integers, alpha: Fraction) -> Floats:
        """Return the margin of error of a value at each of these ticks, with all noise that refreshes added."""
        found = [self._margin(int(tick), alpha) for tick in np.atleast_1d(ticks)]
        return np.array(found)

    def spread(self) -> tuple[str, float]:
        """Return the law of the noise in words, and its largest standard deviation over all ticks."""
        draws = 2 if self.pan_private else 1
        law = "discrete Laplace noise" if isinstance(self._loss, Pure) else "discrete Gaussian noise"
        full = sum(_variance(level, draws, self._from_below) for level in range(self.levels))
        single = 2 * self.scale**2 if isinstance(self._loss, Pure) else self.scale
        return f"{law} in a binary tree", math.sqrt(float(single) * full)

    def state(self) -> dict[str, Any]:
        """Return what `restore` takes. With `pan_private` it is what a look shows."""
        return {
            "tick": self._tick,
            "value": _listed(self._value),
            "open": [_listed(one) for one in self._open],
            "draws": list(self._draws),
            "refreshes": self.refreshes,
            "closed": [[_listed(estimate), variance] for estimate, variance in self._closed],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self._tick, self._draws = int(state["tick"]), [int(one) for one in state["draws"]]
        self.refreshes = int(state["refreshes"])
        self._value = self._read(state["value"], np.float64)
        self._open = [self._read(one, np.int64) for one in state["open"]]
        closed = state["closed"]
        self._closed = [(self._read(estimate, np.float64), float(variance)) for estimate, variance in closed]

    @contextmanager
    def _supplied(self, ticks: int) -> Iterator[None]:
        """Draw what a private state needs for the next ticks, and forget what is left when they are over.

        The noise of a private state must not be found in the memory beside it: not ahead of its use, and not
        after. So it comes from a key of its own, and none is held between ticks.
        """
        if not self.pan_private:
            yield
            return
        closing = sum((tick & -tick).bit_length() for tick in range(self._tick + 1, self._tick + ticks + 1))
        self._supply = self._drawn(2 * closing)
        try:
            yield
        finally:
            self._supply = []

    def _drawn(self, count: int) -> list[Any]:
        """Draw noise for so many nodes with a key that is used for them alone."""
        draw = noise.discrete_laplace if isinstance(self._loss, Pure) else noise.discrete_gaussian
        drawn = draw(self.scale, count if self.keys is None else (count, self.keys), fresh=True)
        self._marked = self._marked or noise.is_test_noise(drawn)
        # Rows are copied: a view of one would keep all of them in memory.
        return [row.copy() for row in np.asarray(drawn)] if self.keys is not None else np.asarray(drawn).tolist()

    def _draw(self) -> Any:
        if self.pan_private:
            return self._supply.pop() if self._supply else self._drawn(1)[0]
        draw = noise.discrete_laplace if isinstance(self._loss, Pure) else noise.discrete_gaussian
        drawn = draw(self.scale, self.keys) if self.keys is not None else draw(self.scale)
        if noise.is_test_noise(drawn):
            self._marked = True
            return np.asarray(drawn) if self.keys is not None else int(drawn)
        return drawn

    def _opened(self) -> Any:
        """Return what a node holds when it opens: noise if the state is private, else nothing."""
        if self.pan_private:
            return self._draw()
        return 0 if self.keys is None else np.zeros(self.keys, np.int64)

    def _close(self, level: int) -> tuple[Any, float]:
        """Release the open node of a level, and open the next one."""
        released, draws = self._open[level] + self._draw(), self._draws[level]
        self._open[level] = self._opened()
        self._draws[level] = 2 if self.pan_private else 1
        return released, float(draws)

    def _joined(self, level: int, left: tuple[Any, float], right: tuple[Any, float]) -> tuple[Any, float]:
        """Return the estimate of a node that closes, from its own release and from its children."""
        own, variance = self._close(level)
        if not self._from_below:
            return own, variance
        below = left[1] + right[1]
        weight = below / (variance + below)
        return weight * own + (1 - weight) * (left[0] + right[0]), variance * weight

    def _margin(self, tick: int, alpha: Fraction) -> float:
        draws = 2 + self.refreshes if self.pan_private else 1
        digits = [level for level in range(self.levels) if tick >> level & 1]
        variances = [_variance(level, draws, self._from_below) for level in digits]
        if tick == self._tick and tick:  # a refresh may have added noise
            variances = [self._closed[level][1] for level in digits]
        if isinstance(self._loss, Pure):
            return _laplace_margin(self.scale, tuple(variances), alpha)
        return deviations(self.scale, alpha) * math.sqrt(float(self.scale) * sum(variances))

    def _read(self, written: Any, dtype: type[Any]) -> Any:
        return np.array(written, dtype) if isinstance(written, list) else written


def _squares(unit: Person, level: int) -> int:
    """Return the most that the squares of the events of a unit in the nodes of a level add up to."""
    if not unit.apart:
        return int(unit.events**2)
    return int(unit.events * min(unit.events, -(-(2**level) // unit.apart)))


@lru_cache(maxsize=256)
def _variance(level: int, draws: int, from_below: bool) -> float:
    """Return the variance of a closed node's estimate, in units of one draw."""
    return draws / (2 - 2.0**-level) if from_below else float(draws)


@lru_cache(maxsize=4096)
def _laplace_margin(scale: Fraction, variances: Sequence[float], alpha: Fraction) -> float:
    """Return a such that a weighted sum of Laplace draws exceeds ±a with probability at most `alpha`.

    By Chernoff, for every s below 1/t: P(X ≥ a) ≤ e^{−s·a}·E[e^{s·X}]. A weighted sum with weights w and Σw² = V
    has Π E[e^{s·w·Z}] ≤ (1 − t²s²)^{−V} for |w| ≤ 1, as discrete Laplace noise has E[e^{sZ}] ≤ 1/(1 − t²s²) and
    −ln(1 − w²y) ≤ −w²·ln(1 − y).
    """
    total, t = sum(variances), float(scale)
    if not total:
        return 0.0
    shares = np.linspace(0.001, 0.999, 999)
    logs = math.log(2 / alpha) - total * np.log1p(-(shares**2))
    return float(np.min(logs * t / shares))


def _listed(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value
