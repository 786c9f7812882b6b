"""Test privately whether the hypothesis is good enough, with runs on either side that survive a restart.

Let f = q(D) − h, where h is the public integer that the hypothesis gives for q(D). An "up" run tests f, which
can only rise when a person joins; a "down" run tests −f, which can only fall. So both are monotonic, and each is
an `AboveThreshold` run of its own: a noisy threshold T + ρ is drawn once, each query gets a fresh ν, and the run
is over at its first "above", which we call an alarm. Together they are C + 1 runs for C alarms, each with noise
cΔ/ε₂ instead of the 2cΔ/ε₂ that |f| would need.

**One-sided noise.** In the proof for monotonic queries ρ and ν are only ever moved upwards: ρ to ρ + Δ or nowhere,
ν by something between 0 and Δ. So noise that is never negative will do: geometric, P(x) ∝ e^{−x/b} for x ≥ 0, of
the same scales. It has half the spread, and a noisy threshold is never below T, so false alarms come from ν
alone. A draw X of discrete Laplace noise gives one: X, or −1 − X where X is negative, is geometric, and the sign
of X is independent of it (`discreet.noise.laplace_sampler`).

**The gap.** An alarm also releases how far above the threshold it was: g = f + ν − (T + ρ). This is free: in the
proof of `AboveThreshold` (docs/theory/sparse-vector.md) ρ goes to ρ + Δ and ν to ν + f + Δ − f′, or ρ stays and ν
goes to ν + f − f′, which leaves g where it was, and moves ν by at most Δ either way (Ding, Wang, Zhang, Kifer
2019). It is T + g = f + ν − ρ, a measurement of f by itself.

**Restarts.** The noisy threshold is secret and is part of the oracle's durable state. A comparison is announced on
the disk before it is made. One that was announced and has no outcome may have been an alarm that the analyst saw,
so its run counts as over. The cost of a run is on the disk before anything is compared with its threshold
(`Guard`), and so is the threshold: a run that began before a restart goes on with the same one.
Theory: docs/theory/oracle.md.
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
from discreet.kernel.journal import Journal
from discreet.mechanisms import AboveThreshold, Exact
from discreet.mechanisms.exact import added

Side = Literal["up", "down"]
SIDES: tuple[Side, Side] = ("up", "down")


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
        """The ε of the threshold and of the comparisons: together all of ε."""
        epsilon = cast(Fraction, self.epsilon)
        return epsilon * Fraction(9, 20), epsilon * Fraction(11, 20)

    def admit(self, exact: Exact) -> None:
        """Refuse an exact value that this mechanism was not built for."""
        self._admit(exact, vector=False)


@dataclass(frozen=True)
class NoisyThreshold:
    """A threshold with its noise: secret, and drawn once. Two of one mechanism compare equal and look the same.

    >>> NoisyThreshold(Watch(epsilon=1, threshold=1000, monotonic=True), 1010)
    <noisy threshold, sealed>
    """

    mechanism: Watch
    value: int = field(compare=False)

    def release(self, exact: Exact) -> Any:
        """Return how far a query with fresh noise is above the threshold, None if it is below."""
        self.mechanism.admit(exact)
        gap: Any = added(exact, one_sided(self.mechanism.query_scale)) - self.value
        return None if gap < 0 else gap

    def __repr__(self) -> str:
        return "<noisy threshold, sealed>"


class Run:
    """One side's run: over at its first alarm.

    >>> from discreet.mechanisms import Sensitivity
    >>> run = start(Watch(epsilon=1, threshold=1000, monotonic=True), "up", 0)
    >>> run.gap(Exact(0, Sensitivity(each=1, monotonic="up"))) is None
    True
    >>> run
    <run 0, up>
    """

    def __init__(self, threshold: NoisyThreshold, side: Side, number: int):
        self.threshold, self.side, self.number, self.over = threshold, side, number, False

    @property
    def mechanism(self) -> Watch:
        """The mechanism that it is a run of."""
        return self.threshold.mechanism

    def gap(self, exact: Exact) -> Any:
        """Return by how much the query is above the threshold, which ends the run; None if it is below."""
        if exact.sensitivity.monotonic != self.side:
            raise SensitivityExceeded(
                f'This run takes only queries that are monotonic "{self.side}".',
                found=exact.sensitivity.monotonic,
                fix="Compare it with the run of the other side.",
            )
        if self.over:
            raise BudgetExceeded("This run of the threshold test is over.", fix="Start another run.")
        gap = self.threshold.release(exact)
        self.over = gap is not None
        return gap

    def __repr__(self) -> str:
        return f"<run {self.number}, {self.side}{', over' if self.over else ''}>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("A run cannot be copied or pickled, because it may give only one alarm.")


def one_sided(scale: Fraction) -> Any:
    """Return an integer x ≥ 0 drawn with probability exactly proportional to exp(−x/scale).

    >>> one_sided(Fraction(5)) >= 0
    True
    """
    drawn = noise.discrete_laplace(scale)
    return drawn if drawn >= 0 else -1 - drawn


def start(mechanism: Watch, side: Side, number: int) -> Run:
    """Draw a noisy threshold. The cost of the run must be set aside before anything is compared with it."""
    value = mechanism.threshold + one_sided(mechanism.threshold_scale)
    return Run(NoisyThreshold(mechanism, value), side, number)


class Guard:
    """All runs of one oracle so far. The newest run of either side may still go on.

    Args:
        journal: Where the cost and the threshold of a run are written before it is used.
        watch: The mechanism of every run; None if the oracle has no threshold test.
        runs: The number of runs that the oracle may begin.
        cost: The ρ of one run.
        sensitivity: The sensitivity of the sums that are compared.
    """

    def __init__(self, journal: Journal, watch: Watch | None, *, runs: int, cost: Fraction, sensitivity: int):
        self._journal, self._watch, self._planned = journal, watch, runs
        self._cost, self._sensitivity = cost, sensitivity
        self._runs: dict[int, Run] = {}

    @property
    def runs(self) -> tuple[Run, ...]:
        """Every run, the oldest first."""
        return tuple(self._runs.values())

    @property
    def to_come(self) -> int:
        """The number of runs that are not yet begun. Their cost is reserved, and not for payments."""
        return self._planned - len(self._runs)

    def ready(self) -> dict[Side, Run] | None:
        """Return a run for either side, and begin it if needed; None if too little budget is left for them."""
        watch = self._watch
        if watch is None:
            return None
        newest = {run.side: run for run in self._runs.values()}
        missing = [side for side in SIDES if side not in newest or newest[side].over]
        if len(missing) > self.to_come or len(missing) * self._cost > self._journal.left:
            return None
        return newest | {side: self._begin(watch, side) for side in missing}

    def resume(self, record: dict[str, Any]) -> None:
        """Go on with a run that was begun before. A run of another mechanism is over."""
        drawn = Watch(record["epsilon"], record["threshold"], sensitivity=self._sensitivity, monotonic=True)
        run = Run(NoisyThreshold(drawn, int(record["line"])), record["side"], record["run"])
        run.over = drawn != self._watch
        self._runs[run.number] = run

    def end(self, number: int) -> None:
        """End a run that gave an alarm, or may have given one that the analyst saw."""
        self._runs[number].over = True

    def _begin(self, watch: Watch, side: Side) -> Run:
        """Draw a new threshold for a side, and set aside the cost of its run."""
        run = start(watch, side, len(self._runs))
        facts = {"line": int(run.threshold.value), "epsilon": str(watch.epsilon), "threshold": watch.threshold}
        self._journal.begin("run", self._cost, side=side, run=run.number, **facts)
        self._runs[run.number] = run
        return run


def slack(mechanism: Watch, alpha: Fraction) -> int:
    """Return the least s such that a query above T + s is found "below" with probability at most `alpha`.

    This holds however the query was chosen, even by an attacker who knows the noisy threshold: given ρ, a query at
    T + s + 1 is the worst, so the probability that a comparison says "below" wrongly is at most P(ν ≤ ρ − s − 2),
    which is `late(s + 2)`.

    >>> slack(Watch(epsilon=1, threshold=0, monotonic=True), Fraction(1, 20))
    4
    """
    return _least(lambda s: late(mechanism, s + 2), alpha)


def gap_margin(mechanism: Watch, alpha: Fraction) -> int:
    """Return the least r such that |ν − ρ| exceeds r with probability at most `alpha`: the margin of T + gap.

    >>> gap_margin(Watch(epsilon=1, threshold=0, monotonic=True), Fraction(1, 20))
    6
    """
    return _least(lambda r: late(mechanism, r + 1) + early(mechanism, r + 1), alpha)


def overshoot(mechanism: Watch, alpha: Fraction) -> int:
    """Return the least r such that ν − ρ of one comparison exceeds r with probability at most `alpha`.

    Of many comparisons, the one that raises an alarm has a large ν: it was chosen by it. So whatever is said of
    the gap of an alarm divides its α among all comparisons that could have raised one. `gap_margin` is about a
    question that is given, whether it raises an alarm or not.

    >>> overshoot(Watch(epsilon=1, threshold=0, monotonic=True), Fraction(1, 20))
    4
    """
    return _least(lambda r: early(mechanism, r + 1), alpha)


def undershoot(mechanism: Watch, alpha: Fraction) -> int:
    """Return the least r such that ρ − ν exceeds r anywhere in a run with probability at most `alpha`.

    ν is never negative, so ρ itself would have to exceed r, and it is drawn once in a run, however many
    comparisons there are.

    >>> undershoot(Watch(epsilon=1, threshold=0, monotonic=True), Fraction(1, 20))
    6
    """
    rate = 1 / float(mechanism.threshold_scale)
    return _least(lambda r: math.exp(-(r + 1) * rate), alpha)


def late(mechanism: Watch, by: int) -> float:
    """P(ρ − ν ≥ by), for by ≥ 0: q^by·(1 − p)/(1 − pq), where ρ has the ratio q and ν has p.

    P(ρ ≥ by) = q^by, and given that, ρ − by has the law of ρ again; the other factor is P(ν ≤ ρ − by).
    """
    return _ahead(mechanism.threshold_scale, mechanism.query_scale, by)


def early(mechanism: Watch, by: int) -> float:
    """P(ν − ρ ≥ by), for by ≥ 0: the probability of a false alarm on a query that is `by` below T."""
    return _ahead(mechanism.query_scale, mechanism.threshold_scale, by)


def _ahead(first: Fraction, second: Fraction, by: int) -> float:
    q, p = 1 / float(first), 1 / float(second)
    return math.exp(-by * q) * math.expm1(-p) / math.expm1(-p - q)


def _least(chance: Callable[[int], float], alpha: Fraction) -> int:
    """Return the least integer at which a falling chance is at most `alpha`, with room for rounding."""
    wanted = float(alpha) * (1 - 1e-9)
    low, high = -1, 1
    while chance(high) > wanted:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chance(middle) <= wanted else (middle, high)
    return high
