"""The sentry: is the hypothesis good enough? Two lines of defence, one on either side, that survive a restart.

Let f = q(D) − h, where h is the public integer that the hypothesis gives for q(D). An "up" run watches f, which
can only rise when a person joins; a "down" run watches −f, which can only fall. So both are monotonic, and each is
an `AboveThreshold` run of its own: a line T + ρ drawn once, fresh ν for each query, over at its first "above".
Taken together they are C + 1 runs for C alarms, each with noise cΔ/ε₂ instead of the 2cΔ/ε₂ that |f| would need.

**One-sided noise.** In the proof for monotonic queries ρ and ν are only ever moved upwards: ρ to ρ + Δ or nowhere,
ν by something between 0 and Δ. So noise that is never negative will do: geometric, P(x) ∝ e^{−x/b} for x ≥ 0, of
the same scales. It has half the spread, and above all a line is never low by bad luck: false alarms come from ν
alone. A draw X of discrete Laplace noise gives one: X, or −1 − X where X is negative, is geometric, and the sign
of X is independent of it (`discreet.noise.laplace_sampler`).

**The gap.** An alarm says how far above the line it was: g = f + ν − (T + ρ). This costs nothing more: in the
proof of `AboveThreshold` (docs/theory/sparse-vector.md) ρ goes to ρ + Δ and ν to ν + f + Δ − f′, or ρ stays and ν
goes to ν + f − f′, which leaves g where it was, and moves ν by at most Δ either way (Ding, Wang, Zhang, Kifer
2019). It is T + g = f + ν − ρ, a measurement of f by itself.

**Restarts.** The line is secret and is part of the oracle's durable state. A comparison is announced on the disk
before it is made; one that was announced and has no outcome may have been an alarm that somebody saw, and the run
counts as over. Theory: docs/theory/oracle.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, NoReturn, cast

from discreet import noise
from discreet.errors import BudgetExceeded, SensitivityExceeded
from discreet.mechanisms import AboveThreshold, Exact
from discreet.mechanisms.exact import added

Side = Literal["up", "down"]


@dataclass(frozen=True)
class Watch(AboveThreshold):
    """`AboveThreshold` for monotonic queries, with one-sided noise, and a little more of ε for the comparisons.

    Any division is as private. This one suits thousands of comparisons of which hardly any should raise an alarm.

    >>> watch = Watch(epsilon=1, threshold=100, monotonic=True)
    >>> watch.threshold_scale, watch.query_scale
    (Fraction(20, 9), Fraction(20, 11))
    """

    @cached_property
    def split(self) -> tuple[Fraction, Fraction]:
        """What the line and the comparisons may spend: together all of ε."""
        epsilon = cast(Fraction, self.epsilon)
        return epsilon * Fraction(9, 20), epsilon * Fraction(11, 20)


@dataclass(frozen=True)
class Line:
    """A threshold with its noise: secret, and drawn once. Two lines of one mechanism look the same to everyone.

    >>> line = Line(Watch(epsilon=1, threshold=1000, monotonic=True), 990)
    >>> line
    <line, sealed>
    """

    mechanism: Watch
    height: int = field(compare=False)

    def release(self, exact: Exact) -> Any:
        """Return how far a query with fresh noise is above the line, None if it is below."""
        self.mechanism._admit(exact, vector=False)
        gap: Any = added(exact, one_sided(self.mechanism.query_scale)) - self.height
        return None if gap < 0 else gap

    def __repr__(self) -> str:
        return "<line, sealed>"


class Run:
    """One side's run: over at its first alarm.

    >>> from discreet.mechanisms import Sensitivity
    >>> run = start(Watch(epsilon=1, threshold=1000, monotonic=True), "up", 0)
    >>> run.gap(Exact(0, Sensitivity(each=1, monotonic="up"))) is None
    True
    >>> run
    <run 0, up>
    """

    def __init__(self, line: Line, side: Side, number: int):
        self.line, self.side, self.number, self.over = line, side, number, False

    @property
    def mechanism(self) -> Watch:
        """What it is a run of."""
        return self.line.mechanism

    def gap(self, exact: Exact) -> Any:
        """Return None while the query is below the line. Above, say by how much: then the run is over."""
        if exact.sensitivity.monotonic != self.side:
            raise SensitivityExceeded(f'This run watches "{self.side}", and the query goes the other way.')
        if self.over:
            raise BudgetExceeded("This run of the sentry is over.")
        gap = self.line.release(exact)
        self.over = gap is not None
        return gap

    def __repr__(self) -> str:
        return f"<run {self.number}, {self.side}{', over' if self.over else ''}>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("A run cannot be copied or pickled: it would give its alarm twice.")


def one_sided(scale: Fraction) -> Any:
    """Return an integer x ≥ 0 drawn with probability exactly proportional to exp(−x/scale).

    >>> one_sided(Fraction(5)) >= 0
    True
    """
    drawn = noise.discrete_laplace(scale)
    return drawn if drawn >= 0 else -1 - drawn


def start(mechanism: Watch, side: Side, number: int) -> Run:
    """Draw a line. What the run costs must have been set aside before anything is compared with it."""
    height = mechanism.threshold + one_sided(mechanism.threshold_scale)
    return Run(Line(mechanism, height), side, number)


def slack(mechanism: Watch, alpha: Fraction) -> int:
    """Return the least s such that "below" is said of a query above T + s with a chance of at most `doubt`.

    However the query was chosen, even by someone who knows the line: given ρ a query at T + s + 1 is the worst, so
    the chance that a comparison says "below" wrongly is at most P(ν ≤ ρ − s − 2), which is `late(s + 2)`.

    >>> slack(Watch(epsilon=1, threshold=0, monotonic=True), Fraction(1, 20))
    4
    """
    return _least(lambda s: late(mechanism, s + 2), alpha)


def gap_radius(mechanism: Watch, alpha: Fraction) -> int:
    """Return the least r such that |ν − ρ| exceeds r with a chance of at most `doubt`: how far off T + gap is.

    >>> gap_radius(Watch(epsilon=1, threshold=0, monotonic=True), Fraction(1, 20))
    6
    """
    return _least(lambda r: late(mechanism, r + 1) + early(mechanism, r + 1), alpha)


def late(mechanism: Watch, by: int) -> float:
    """P(ρ − ν ≥ by), for by ≥ 0: q^by·(1 − p)/(1 − pq), where ρ has the ratio q and ν has p.

    For P(ρ ≥ by) = q^by, and given that, ρ − by has the law of ρ again: what is left is that ν is not above it.
    """
    return _ahead(mechanism.threshold_scale, mechanism.query_scale, by)


def early(mechanism: Watch, by: int) -> float:
    """P(ν − ρ ≥ by), for by ≥ 0: the chance of a false alarm on a query that is by so much below T."""
    return _ahead(mechanism.query_scale, mechanism.threshold_scale, by)


def _ahead(first: Fraction, second: Fraction, by: int) -> float:
    q, p = 1 / float(first), 1 / float(second)
    return math.exp(-by * q) * math.expm1(-p) / math.expm1(-p - q)


def _least(chance: Callable[[int], float], alpha: Fraction) -> int:
    """The least integer at which a falling chance is at most `doubt`, by a margin that covers what floats lose."""
    wanted = float(alpha) * (1 - 1e-9)
    low, high = -1, 1
    while chance(high) > wanted:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chance(middle) <= wanted else (middle, high)
    return high
