"""Run the exact attack: enumerate all draws that a mechanism can make, and add up what an observer sees.

The code itself is run, once for every sequence of draws, the likeliest first, with `noise.testing.scripted`
deciding each draw; the laws of the draws are known (`draw_laws`), and each is tested by itself in tests/noise. The
result is the law of the answers on one table: for every outcome a certified interval around its probability,
and a bound τ on the mass that was not explored. For two neighbours with laws P and Q,

    δ(ε) = Σ_x max(0, P(x) − e^ε·Q(x)) ≥ Σ_x max(0, P_low(x) − e^ε·Q_high(x)) − e^ε·τ_Q,

because the unexplored part of Q can hide at most e^ε·τ_Q of the sum. So a claim that is wrong by more than that is
refuted with certainty: there are no statistics. Assumptions: all randomness comes from `discreet.noise`, in the
thread that runs, and the code does nothing else that varies between runs. Both are checked: a run that asks for
other draws than an earlier one is refused, and so is code whose likeliest runs, repeated, show different outcomes.
"""

from __future__ import annotations

import copy
import heapq
import math
import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet import privacy
from discreet.audit.attacks.draw_laws import ONE, PRECISION, options
from discreet.audit.attacks.outcomes import Raised, observed, outcome, written
from discreet.audit.inputs.subject import Subject
from discreet.audit.report.verdict import Verdict
from discreet.errors import Code, Fix, NotEnumerable, ParameterError
from discreet.noise.certified_exp import Interval, exp_minus, shift_up, times
from discreet.noise.testing import Asked, scripted
from discreet.privacy.losses import Approximate, Losses, counted
from discreet.privacy.parameters import nonnegative
from discreet.privacy.rounding import float_above
from discreet.rational import Rational, positive

_DELTAS = (0.0, 1e-4, 1e-3, 1e-2, 1e-1)
_FUTILE = 50.0  # the largest ε that is searched for: beyond it, a larger one says nothing more
_POINTS = 64  # tests shown in a picture
_REPEATS, _PATHS = 48, 32  # repeated runs of the likeliest path, and of the next ones: all must agree

Path: TypeAlias = tuple[int, ...]
"""The index of the option that was taken at each draw."""


@dataclass(frozen=True)
class Law:
    """The outcomes that an observer may see, with bounds on each probability in units of 2^−160.

    >>> from discreet import noise
    >>> fair = law(lambda: noise.bernoulli("1/2"))
    >>> fair.chance(1), fair.unexplored
    ((0.5, 0.5), 0.0)
    """

    chances: dict[Hashable, Interval] = field(repr=False)
    missing: int

    @property
    def unexplored(self) -> float:
        """An upper bound on the mass that was not explored."""
        return math.ldexp(self.missing, -PRECISION)

    def chance(self, seen: Hashable) -> tuple[float, float]:
        """Return bounds on the explored probability of one outcome."""
        low, high = self.chances.get(outcome(seen), (0, 0))
        return math.ldexp(low, -PRECISION), math.ldexp(high, -PRECISION)


class _Stopped(BaseException):
    """Draws that cannot be enumerated. Not an Exception: audited code must not catch it."""


def law(run: Callable[[], Any], *, unexplored: Rational = "1e-5", most: int = 100_000) -> Law:
    """Return the law of what `run()` shows, except for a mass of `unexplored`, or after `most` runs.

    >>> from discreet import noise
    >>> noisy = law(lambda: 3 + noise.discrete_laplace("1/2"))
    >>> low, high = noisy.chance(3)
    >>> low <= math.tanh(1) <= high
    True
    """
    return _explored(lambda _: run(), None, int(positive(unexplored, "unexplored") * ONE), most)


def _explored(release: Callable[[Any], Any], data: Any, rest: int, most: int) -> Law:
    chances: dict[Hashable, Interval] = {}
    seen: dict[Path, Asked] = {}
    missing = ONE
    first: list[tuple[Path, Hashable]] = []
    # The likeliest come first: the probability of a prefix bounds that of all its continuations.
    waiting: list[tuple[int, Path]] = [(-ONE, ())]
    for _ in range(most):
        if missing <= rest or not waiting:
            break
        _, start = heapq.heappop(waiting)
        walk = _Walk(start, seen)
        answer = walk.run(release, data)
        if len(first) < _PATHS:
            first.append((start, answer))
        low, high = chances.get(answer, (0, 0))
        chances[answer] = low + walk.chance[0], high + walk.chance[1]
        missing -= walk.chance[0]
        for branch in walk.branches():
            heapq.heappush(waiting, branch)
    for path, answer in [*first, *[first[0]] * _REPEATS] if first else ():
        if _Walk(path, seen).run(release, data) != answer:
            raise _not_enumerable("The code shows another outcome in another run with the same draws.")
    return Law(chances, missing)


def _not_enumerable(problem: str) -> NotEnumerable:
    return NotEnumerable(
        problem,
        fix=[
            "The exact attack needs code whose only randomness is discreet.noise, drawn in the thread that runs.",
            "For other code use audit.lower_bound, which samples releases.",
        ],
    )


def _fresh(data: Any) -> Any:
    """Return a copy for one run: code that changes its data must not change the next run."""
    try:
        return copy.deepcopy(data)
    except TypeError:  # sealed values refuse to be copied, and cannot be changed
        return data


class _Walk:
    """One run: a given start of the path of draws, and after it the likeliest option of each draw."""

    def __init__(self, start: Path, seen: dict[Path, Asked]):
        self._start, self._seen = start, seen
        self._path: list[int] = []
        self._chances: list[Interval] = [(ONE, ONE)]
        self._sizes: list[tuple[Asked, int]] = []
        self._stopped: NotEnumerable | None = None

    @property
    def chance(self) -> Interval:
        return self._chances[-1]

    def run(self, release: Callable[[Any], Any], data: Any) -> Hashable:
        """Return what an observer sees of one run, on its own copy of the data."""
        try:
            with scripted(self.choose):
                answer = observed(release, _fresh(data))
        except _Stopped:
            answer = None
        if not self._stopped and len(self._path) < len(self._start):
            before = len(self._start)
            self._stopped = _not_enumerable(
                f"The code makes {len(self._path)} draws where it made {before} before."
            )
        if self._stopped:  # also if the code caught the exception that stopped it
            raise self._stopped
        return answer

    def choose(self, asked: Asked) -> int:
        depth, path = len(self._path), tuple(self._path)
        if self._seen.setdefault(path, asked) != asked:
            one = self._seen[path]
            raise self._stop(_not_enumerable(f"The code asks for {one} in one run and for {asked} in another."))
        try:
            known = options(asked)
        except NotEnumerable as error:
            raise self._stop(error) from None
        choice = self._start[depth] if depth < len(self._start) else 0
        value, chance = known[choice]
        self._path.append(choice)
        self._chances.append(times(self._chances[-1], chance, PRECISION))
        self._sizes.append((asked, len(options(asked))))
        return value

    def _stop(self, reason: NotEnumerable) -> _Stopped:
        self._stopped = reason.with_traceback(None)
        return _Stopped()

    def branches(self) -> Iterator[tuple[int, Path]]:
        """Yield the next option at the last draw of the start, and at every draw after it."""
        for depth in range(max(len(self._start) - 1, 0), len(self._path)):
            asked, size = self._sizes[depth]
            option = self._path[depth] + 1
            if option < size:
                chance = times(self._chances[depth], options(asked)[option][1], PRECISION)[1]
                yield -chance, (*self._path[:depth], option)


def hockey_stick(P: Law, Q: Law, epsilon: Rational) -> tuple[float, float]:
    """Return certified bounds on Σ max(0, P(x) − e^ε·Q(x)), the δ at ε.

    >>> from discreet import noise
    >>> P, Q = (law(lambda: bit ^ noise.bernoulli("1/4")) for bit in (0, 1))
    >>> low, high = hockey_stick(P, Q, 0)
    >>> low <= 0.5 <= high < low + 1e-14
    True
    """
    shrink = exp_minus(nonnegative(epsilon, "epsilon"), PRECISION)  # e^{−ε}·P − Q has no large number in it
    low = high = 0
    for seen, p in P.chances.items():
        q = Q.chances.get(seen, (0, 0))
        low += max(0, (shrink[0] * p[0] >> PRECISION) - q[1])
        high += max(0, shift_up(shrink[1] * p[1], PRECISION) - q[0])
    low = max(0, low - Q.missing)
    high += shift_up(shrink[1] * P.missing, PRECISION)
    most = high / shrink[0] * (1 + 2**-50) if shrink[0] else 1.0  # beyond ε = 110 there is no upper bound here
    return max(0.0, low / shrink[1] * (1 - 2**-50)), min(1.0, most)


def attack(subject: Subject, *, unexplored: Rational = "1e-5", most: int = 100_000) -> Verdict:
    """Compare the declared loss with the exact laws on every pair of neighbours, both ways.

    >>> from discreet import noise, privacy
    >>> half = Subject(
    ...     name="half the noise",
    ...     release=lambda count: count + noise.discrete_laplace("1/2"),
    ...     loss=privacy.Pure(1),
    ...     pairs=[(0, 1)],
    ... )
    >>> verdict = attack(half)
    >>> verdict.caught, round(verdict.found, 2)
    (True, 2.0)
    """
    start = time.process_time()
    rest = int(positive(unexplored, "unexplored") * ONE)
    findings: list[_Finding] = []
    for pair in subject.pairs:
        laws = [_explored(subject.release, data, rest, most) for data in pair]
        findings += [_compared(subject, pair, *laws), _compared(subject, pair[::-1], *laws[::-1])]
    if not findings:
        raise ParameterError(
            f"{subject.name} has no pair of neighbours to compare.", fix=Fix("pairs", Code("[(D, D2)]"))
        )
    worst = max(findings, key=lambda finding: finding.excess)
    return Verdict(
        attack="exact",
        caught=worst.excess > 0,
        words=worst.words(),
        claimed=worst.claimed,
        found=worst.found,
        delta=worst.delta,
        seconds=time.process_time() - start,
        attained=worst.attained,
    )


@dataclass(frozen=True)
class _Finding:
    claimed: float
    found: float
    delta: float
    pair: tuple[Any, Any]
    telling: tuple[Hashable, float, float]
    missing: float
    attained: tuple[tuple[float, float], ...]

    @property
    def excess(self) -> float:
        return self.found - self.claimed

    def words(self) -> str:
        seen, p, q = self.telling
        shown = f"{seen.kind}: {seen.message}" if isinstance(seen, Raised) else _short(seen)
        return (
            f"On {_short(self.pair[0])} and {_short(self.pair[1])} the loss is ε ≥ {self.found:.4g} at "
            f"δ = {self.delta:g}; the claim is {self.claimed:.4g}. Largest difference: {shown}, with probability "
            f"{p:.3g} against {q:.3g}. All but {self.missing:.1e} of the draws were enumerated."
        )


def _compared(subject: Subject, pair: tuple[Any, Any], P: Law, Q: Law) -> _Finding:
    """Return the finding at the smallest δ where the claim is refuted, or else at the smallest δ of all."""
    every = list(dict.fromkeys([*P.chances, *Q.chances]))
    p, q = (np.array([law.chance(seen)[0] for seen in every]) for law in (P, Q))
    best = int(np.argmax(p - q))
    telling = every[best], float(p[best]), float(q[best])
    missing, attained = max(P.unexplored, Q.unexplored), _tests(p, q)
    claims = {delta: privacy.epsilon(subject.loss, delta) for delta in _deltas(subject.loss)}
    found = [
        _Finding(claimed, _shown(P, Q, delta, (p, q)), delta, pair, telling, missing, attained)
        for delta, claimed in claims.items()
        if claimed < math.inf
    ]
    if not found:
        raise ParameterError(
            f"{subject.name} claims nothing that could be refuted: its ε is infinite at every δ.",
            fix=Fix("loss", Code("privacy.Pure(1)")),
        )
    return next((finding for finding in found if finding.excess > 0), found[0])


def _deltas(loss: Losses) -> list[float]:
    """Return the δ at which to compare: the one that the claim names, and some others."""
    named = [(single, count) for single, count in counted(loss).items() if isinstance(single, Approximate)]
    own = float_above(sum((count * single.delta for single, count in named), Fraction(0)))
    return sorted({*_DELTAS, min(1.0, own)})


def _shown(P: Law, Q: Law, delta: float, floats: tuple[NDArray[np.float64], NDArray[np.float64]]) -> float:
    """Return nearly the largest ε for which δ(ε) is certified to be above `delta`."""
    p, q = floats

    def about(epsilon: float) -> float:
        return float(np.maximum(0, p - math.exp(epsilon) * q).sum()) - math.exp(epsilon) * Q.unexplored

    low, high = 0.0, _FUTILE
    while high - low > 1e-7 * (1 + low):
        middle = (low + high) / 2
        low, high = (middle, high) if about(middle) > delta else (low, middle)
    # Floats find the ε; integers certify it, or one that is a little lower.
    steps = (low * (1 - 2.0**-k) for k in range(40, 0, -4))
    return next((step for step in steps if hockey_stick(P, Q, Fraction(step))[0] > delta), 0.0)


def _tests(p: NDArray[np.float64], q: NDArray[np.float64]) -> tuple[tuple[float, float], ...]:
    """Return (false alarms, misses) of some of the likelihood-ratio tests."""
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(-np.nan_to_num(p / q, posinf=np.inf))
    alarms = np.concatenate([[0.0], np.cumsum(q[order])])
    misses = 1 - np.concatenate([[0.0], np.cumsum(p[order])])
    some = np.unique(np.linspace(0, len(alarms) - 1, _POINTS).astype(int))
    return tuple(zip(alarms[some].clip(0, 1).tolist(), misses[some].clip(0, 1).tolist(), strict=True))


def _short(value: object) -> str:
    text = written(value)
    return text if len(text) <= 60 else text[:57] + "…"
