"""The sentry: is the hypothesis good enough? Two lines of defence, one on either side, that survive a restart.

Let f = q(D) − h, where h is the public integer that the hypothesis gives for q(D). An "up" run watches f, which
can only rise when a person joins; a "down" run watches −f, which can only fall. So both are monotonic, and each is
an `AboveThreshold` run of its own: a line T + ρ drawn once, fresh ν for each query, over at its first "above".
Taken together they are C + 1 runs for C alarms, each with noise cΔ/ε₂ instead of the 2cΔ/ε₂ that |f| would need.

**The gap.** An alarm says how far above the line it was: g = f + ν − (T + ρ). This costs nothing more: in the
proof of `AboveThreshold` (docs/theory/sparse-vector.md) ρ goes to ρ + Δ and ν to ν + f + Δ − f′, or ρ stays and ν
goes to ν + f − f′, which leaves g where it was, and moves ν by at most Δ either way (Ding, Wang, Zhang, Kifer
2019). It is T + g = f + ν − ρ, a measurement of f by itself.

**Restarts.** The line is secret and is part of the oracle's durable state. A comparison is announced on the disk
before it is made; one that was announced and has no outcome may have been an alarm that somebody saw, and the run
counts as over. Theory: docs/theory/oracle.md. Tested exactly in tests/oracle/test_oracle_sentry.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Literal, NoReturn, cast

from discreet import noise
from discreet.errors import BudgetExceeded, SensitivityExceeded
from discreet.mechanisms import AboveThreshold, Exact, tails
from discreet.mechanisms.exact import added

Side = Literal["up", "down"]


@dataclass(frozen=True)
class Watch(AboveThreshold):
    """`AboveThreshold` with twice as much of ε for the comparisons as for the line.

    Any division is as private. This one suits many comparisons of which hardly any should raise an alarm: then T
    is many times the noise of a comparison, which counts for more than that of the line.

    >>> watch = Watch(epsilon=3, threshold=100, monotonic=True)
    >>> watch.threshold_scale, watch.query_scale
    (Fraction(1, 1), Fraction(1, 2))
    """

    @cached_property
    def split(self) -> tuple[Fraction, Fraction]:
        """What the line and the comparisons may spend: together all of ε."""
        epsilon = cast(Fraction, self.epsilon)
        return epsilon / 3, 2 * epsilon / 3


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
        gap: Any = added(exact, noise.discrete_laplace(self.mechanism.query_scale)) - self.height
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


def start(mechanism: Watch, side: Side, number: int) -> Run:
    """Draw a line. What the run costs must have been set aside before anything is compared with it."""
    height = mechanism.threshold + noise.discrete_laplace(mechanism.threshold_scale)
    return Run(Line(mechanism, height), side, number)


@lru_cache(maxsize=64)
def slack(mechanism: Watch, doubt: Fraction) -> int:
    """Return the least s such that "below" is said of a query above T + s with a chance of at most `doubt`.

    However the query was chosen, even by someone who knows the line: given ρ a query at T + s + 1 is the worst, so
    the chance that a comparison says "below" wrongly is at most E_ρ[P(ν ≤ ρ − s − 2)].

    >>> slack(Watch(epsilon=1, threshold=0, monotonic=True), Fraction(1, 20))
    7
    """
    law = tails.laplace_pieces(mechanism.threshold_scale, doubt)

    def holds(s: int) -> bool:
        wrong = tails.laplace_above(mechanism.query_scale, s + 1 - law.last)
        return tails.at_most(float(law.mass @ wrong) + law.beyond, doubt)

    return _smallest(holds, beyond_scales(mechanism, float(doubt)))


@lru_cache(maxsize=64)
def gap_radius(mechanism: Watch, doubt: Fraction) -> int:
    """Return the least r such that |ν − ρ| exceeds r with a chance of at most `doubt`: how far off T + gap is.

    >>> gap_radius(Watch(epsilon=1, threshold=0, monotonic=True), Fraction(1, 20))
    10
    """
    law = tails.laplace_pieces(mechanism.threshold_scale, doubt)

    def holds(r: int) -> bool:
        above = tails.laplace_above(mechanism.query_scale, r + law.first)  # ν > ρ + r
        below = tails.laplace_above(mechanism.query_scale, r - law.last)  # −ν > r − ρ
        return tails.at_most(float(law.mass @ (above + below)) + law.beyond, doubt)

    return _smallest(holds, beyond_scales(mechanism, float(doubt) / 2))


def beyond_scales(mechanism: Watch, doubt: float) -> float:
    """Return the x that the noise of the line exceeds that of a comparison by with this chance, on the real line.

    P(ρ − ν > x) = (a²·e^{−x/a} − b²·e^{−x/b}) / 2(a² − b²) for Laplace noises of scales a ≠ b. For a first guess.

    >>> round(beyond_scales(Watch(epsilon=1, threshold=0, monotonic=True), 0.05), 2)
    7.71
    """
    a, b = float(mechanism.threshold_scale), float(mechanism.query_scale)
    low, high = 0.0, 300.0 * a
    for _ in range(100):
        x = (low + high) / 2
        chance = (a * a * math.exp(-x / a) - b * b * math.exp(-x / b)) / (2 * (a * a - b * b))
        low, high = (x, high) if chance > doubt else (low, x)
    return high


def _smallest(holds: Callable[[int], bool], near: float) -> int:
    """Return an integer from which `holds` is true, the smallest to five digits, looking near a guess first."""
    low, high = math.floor(0.999 * near) - 2, math.ceil(1.005 * near) + 2
    if low < 0 or holds(low) or not holds(high):
        return tails.smallest(holds)
    while high - low > max(1, high // 10**5):
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
