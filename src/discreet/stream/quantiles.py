"""Follow quantiles of a stream: private at every moment, on one charge.

Mechanism. Values are put into public bins. The bins are the leaves of a binary tree, and every node of it has
running sums of its own (`toeplitz`). The number of values up to a bin's end is the sum of at most one node of each
level; a quantile is where it crosses the share of all values.

Claim. As of a `Counter`, for the quantiles of all shares at all ticks together. An event is in one node of each of
the h levels, so the squared sensitivity is h times that of a counter (`entries`), and a tree of bins has an error
that grows with h, where single bins would have one that grows with the square root of their number.

Intervals. Let D_i be the number of values up to the end of bin i, less the share of all. The quantile is in the
bin i with D_{i−1} < 0 ≤ D_i. The interval has all bins for which neither is refuted: D_{i−1} ≤ m and D_i ≥ −m for
the estimates, where each margin fails on its side with α/2. So the true bin is missed with probability at most α;
it is one fixed bin, whatever the number of bins.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Code, Fix, ParameterError
from discreet.rational import Rational, rational, shown
from discreet.release.label import Noise
from discreet.stream.answer import StreamAnswer
from discreet.stream.counter import SECRET, sums_for
from discreet.stream.factorisations.units import Unit, unit_of
from discreet.stream.session import Session
from discreet.stream.terms import Terms, checked_horizon, terms_of

Floats = NDArray[np.float64]


class Quantiles(Session):
    """Follow quantiles of the values in a stream, privately at every moment.

    Args:
        edges: The public ends of the bins, rising: two and more. Values outside are moved to the first or last
            bin, and what is not a number to the first.
        epsilon: The guarantee of everything that is ever shown. It needs a `delta`.
        delta: The δ of that guarantee.
        rho: The zCDP loss instead of `epsilon`.
        horizon: The number of ticks; None, the default, for a stream without end.
        unit: What is protected: "event" by default, or `Person(events=8)`.
        confidence: The confidence of each interval; 0.95 by default.
        name: The name of the values.
        path: A file for the state, which makes it durable; none by default.
        terms: What a vault has paid; for `vault.stream` only.

    >>> waits = Quantiles(range(0, 65), epsilon=4, delta="1e-9", horizon=100)
    >>> for _ in range(20):
    ...     waits.add([10.5, 20.5, 30.5] * 1000)
    >>> answer = waits.at("0.5")
    >>> answer.estimate.low[0] <= 20.5 <= answer.estimate.high[0]
    True
    """

    kind = "quantiles"

    def __init__(
        self,
        edges: Sequence[float] | Floats,
        *,
        epsilon: Rational | None = None,
        delta: Rational = 0,
        rho: Rational | None = None,
        horizon: int | None = None,
        unit: Unit = "event",
        confidence: Rational = "0.95",
        name: str = "value",
        path: str | Path | None = None,
        terms: Terms | None = None,
    ):
        self.edges = checked_edges(edges)
        self.bins = len(self.edges) - 1
        self._levels = max(self.bins - 1, 0).bit_length() + 1
        self._sizes = [-(-self.bins // 2**level) for level in range(self._levels)]
        self._starts = np.concatenate([[0], np.cumsum(self._sizes)])
        agreed, person = terms or terms_of(epsilon, delta, rho, table=name), unit_of(unit)
        agreed.rho  # noqa: B018  # refuses a pure budget before anything else is made
        options: dict[str, Any] = {"unit": person, "each": 1, "method": "auto", "pan_private": False}
        self._sums = sums_for(
            agreed, checked_horizon(horizon), keys=int(self._starts[-1]), entries=self._levels, **options
        )
        law, spread = self._sums.spread()
        noises = [Noise("each node of a tree of bins at each tick", law, spread, float(person.events))]
        label = agreed.label(person, noises, "quantiles of a stream", [SECRET])
        super().__init__(name=name, label=label, confidence=confidence, path=path)
        facts = {"loss": str(agreed.loss), "horizon": self._sums.horizon, "unit": person.words}
        self._open({**facts, "edges": self.edges.tolist()})

    @property
    def tick(self) -> int:
        """The ticks so far: where a source has to go on."""
        return self._sums.tick

    @property
    def horizon(self) -> int | None:
        """The number of ticks that it takes; None without an end."""
        return self._sums.horizon

    @property
    def loss(self) -> Any:
        """The privacy loss of everything that is ever shown."""
        return self._sums.loss

    def add(self, values: Sequence[float] | Floats) -> None:
        """End a tick in which these values occurred."""
        counts = self._nodes(values)
        with self._lock:
            self._expect_room(1)
            self._expect_process()
            self._sums.push(counts)

    def at(self, *shares: Rational) -> StreamAnswer:
        """Return the quantiles of these shares, such as "0.5" and "0.9", of all values so far.

        A quantile is the upper end of its bin; the interval is made of whole bins.
        """
        wanted = [_share(share) for share in shares or ("0.5",)]
        with self._lock:
            self._before_showing()
            found = np.array([self._quantile(float(share)) for share in wanted])
            estimate = self._estimate(found[:, 0], found[:, 1], found[:, 2])
            return StreamAnswer(estimate, (self.tick,), tuple(f"{float(s):g}" for s in wanted), label=self.label)

    @property
    def value(self) -> Any:
        """The private median so far, with its interval."""
        return self.at("0.5").estimate

    def _quantile(self, share: float) -> tuple[float, float, float]:
        sums, nodes = self._up_to()
        margin = float(self._sums.margins(np.array([self.tick]), self.alpha)[0])
        total = sums[-1]
        gap = sums - share * total
        # The node of all values is in `total`, with the share as its weight: variances of independent nodes add
        # up.
        around = margin * np.sqrt(nodes + share**2)
        before, about = np.concatenate([[-np.inf], gap[:-1]]), np.concatenate([[0.0], around[:-1]])
        possible = np.flatnonzero((before <= about) & (gap >= -around))
        best = int(np.argmax(np.maximum.accumulate(gap) >= 0)) if (gap >= 0).any() else self.bins - 1
        low, high = (possible[0], possible[-1]) if len(possible) else (0, self.bins - 1)
        low, high = min(low, best), max(high, best)
        return float(self.edges[best + 1]), float(self.edges[low]), float(self.edges[high + 1])

    def _up_to(self) -> tuple[Floats, Floats]:
        """Return the estimated number of values up to the end of each bin, and of how many nodes it is the sum."""
        value = np.asarray(self._sums.value, np.float64)
        ends, sums, nodes = np.arange(1, self.bins + 1), np.zeros(self.bins), np.zeros(self.bins)
        for level in range(self._levels):
            digit = (ends >> level & 1).astype(bool)
            place = np.minimum((ends >> level) - 1, self._sizes[level] - 1)
            sums += np.where(digit, value[self._starts[level] + place], 0)
            nodes += digit
        return sums, nodes

    def _nodes(self, values: Sequence[float] | Floats) -> NDArray[np.int64]:
        """Return the count of every node, with no exception that depends on a value."""
        try:
            array = np.asarray(values, np.float64)
            if not array.ndim:
                raise TypeError
            array = array.ravel()
        except (TypeError, ValueError):
            raise ParameterError(
                "The values of a tick must be a list of numbers.",
                found=type(values).__name__,
                fix="Nothing was added. Write add([12.5, 3]).",
            ) from None
        place = np.clip(
            np.searchsorted(self.edges, np.nan_to_num(array, nan=-np.inf), side="right") - 1, 0, self.bins - 1
        )
        counts = np.bincount(place, minlength=self.bins)
        levels = [counts]
        for _ in range(1, self._levels):
            below = levels[-1]
            padded = np.append(below, 0) if len(below) % 2 else below
            levels.append(padded[::2] + padded[1::2])
        return np.concatenate(levels).astype(np.int64)

    def _marked(self) -> bool:
        return self._sums.test_bits

    def _state(self) -> dict[str, Any]:
        return self._sums.state()

    def _restore(self, state: dict[str, Any]) -> None:
        self._sums.restore(state)


def checked_edges(edges: Sequence[float] | Floats) -> Floats:
    """Return the ends of the bins as floats that rise.

    >>> checked_edges([0, 1, 5]).tolist()
    [0.0, 1.0, 5.0]
    """
    try:
        found = np.asarray(list(edges), np.float64)
        fits = found.ndim == 1 and len(found) >= 2 and np.isfinite(found).all() and (np.diff(found) > 0).all()
    except (TypeError, ValueError):
        fits = False
    if not fits:
        raise ParameterError(
            "The edges of the bins must be finite numbers that rise, two at least.",
            found=shown(edges),
            fix=Fix("edges", Code("range(0, 65)")),
        )
    return found


def _share(share: Rational) -> Fraction:
    exact = rational(share, "share", floats="exact")
    if not 0 < exact < 1:
        raise ParameterError(
            "The share of a quantile lies between 0 and 1.", found=shown(share), fix=Fix("share", "0.5")
        )
    return exact
