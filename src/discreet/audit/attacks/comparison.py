"""Compare the laws of what is seen on two neighbours with the loss that is claimed.

A law has for every outcome a certified interval around its probability, and a bound τ on the mass that was not
explored. For two neighbours with laws P and Q,

    δ(ε) = Σ_x max(0, P(x) − e^ε·Q(x)) ≥ Σ_x max(0, P_low(x) − e^ε·Q_high(x)) − e^ε·τ_Q,

because the unexplored part of Q can hide at most e^ε·τ_Q of the sum. A claim that is a Rényi curve is also
compared order by order, because (ε, δ) shows only part of what it says:

    D_α(P‖Q) ≥ ln(Σ_x P_low(x)^α·(Q_high(x) + τ_Q)^{1−α})/(α − 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import privacy
from discreet.audit.attacks.draw_laws import PRECISION
from discreet.audit.attacks.outcomes import Raised, outcome, written
from discreet.audit.inputs.subject import Subject
from discreet.audit.report.verdict import Verdict
from discreet.errors import Code, Fix, ParameterError
from discreet.noise.certified_exp import Interval, exp_minus, shift_up
from discreet.privacy.losses import Approximate, Losses, Renyi, counted
from discreet.privacy.parameters import nonnegative
from discreet.privacy.rounding import float_above
from discreet.rational import Rational

_DELTAS = (0.0, 1e-4, 1e-3, 1e-2, 1e-1)
_FUTILE = 50.0  # the largest ε that is searched for: beyond it, a larger one says nothing more
_POINTS = 64  # tests shown in a picture
_ROUNDING = 1e-9  # what floats may add to a Rényi divergence, relatively, with room to spare


@dataclass(frozen=True)
class Law:
    """The outcomes that an observer may see, with bounds on each probability in units of 2^−160.

    >>> from discreet import noise
    >>> from discreet.audit.attacks.exact import law
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


def hockey_stick(P: Law, Q: Law, epsilon: Rational) -> tuple[float, float]:
    """Return certified bounds on Σ max(0, P(x) − e^ε·Q(x)), the δ at ε.

    >>> from discreet import noise
    >>> from discreet.audit.attacks.exact import law
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


def compare(subject: Subject, law_of: Callable[[Any], Law], *, rest: int) -> Verdict:
    """Return the verdict of the laws on every pair, both ways; undecided if more than `rest` of one is missing.

    Args:
        subject: What is attacked.
        law_of: Returns the law of what is seen on one table.
        rest: The mass that may be missing, in units of 2^−160.
    """
    findings: list[_Finding] = []
    claims: dict[float, float] = {}
    for pair in subject.pairs:
        laws = [law_of(data) for data in pair]
        # One claim for all pairs, and none if the laws cannot be had: an ε of a composition takes a second.
        claims = claims or {delta: privacy.epsilon(subject.loss, delta) for delta in _deltas(subject.loss)}
        for both, (P, Q) in ((pair, laws), (pair[::-1], laws[::-1])):
            findings += [_compared(subject, claims, both, P, Q), *_diverging(subject, both, P, Q)]
    if not findings:
        raise ParameterError(
            f"{subject.name} has no pair of neighbours to compare.", fix=Fix("pairs", Code("[(D, D2)]"))
        )
    worst = max(findings, key=lambda finding: finding.excess)
    missing = max(finding.missing for finding in findings)
    return Verdict(
        attack="exact",
        caught=worst.excess > 0,
        undecided=worst.excess <= 0 and missing > math.ldexp(rest, -PRECISION),
        words=worst.words(),
        claimed=worst.claimed,
        found=worst.found,
        delta=worst.delta,
        unexplored=missing,
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
    order: float | None = None
    """The order, if a Rényi divergence was compared and not ε at a δ."""

    @property
    def excess(self) -> float:
        return self.found - self.claimed

    def words(self) -> str:
        seen, p, q = self.telling
        shown = f"{seen.kind}: {seen.message}" if isinstance(seen, Raised) else _short(seen)
        where = f"On {_short(self.pair[0])} and {_short(self.pair[1])}"
        if self.order is None:
            says = f"{where} the loss is ε ≥ {self.found:.4g} at δ = {self.delta:g}"
        else:
            says = f"{where} the Rényi divergence of order {self.order:.3g} is at least {self.found:.4g}"
        return (
            f"{says}; the claim is {self.claimed:.4g}. Largest difference: {shown}, with probability "
            f"{p:.3g} against {q:.3g}. All but {self.missing:.1e} of the draws were enumerated."
        )


def _compared(subject: Subject, claims: dict[float, float], pair: tuple[Any, Any], P: Law, Q: Law) -> _Finding:
    """Return the finding at the smallest δ where the claim is refuted, or else at the smallest δ of all."""
    every = list(dict.fromkeys([*P.chances, *Q.chances])) or [None]  # nothing, if no run came to an end
    p, q = (np.array([law.chance(seen)[0] for seen in every]) for law in (P, Q))
    best = int(np.argmax(p - q))
    telling = every[best], float(p[best]), float(q[best])
    missing, attained = max(P.unexplored, Q.unexplored), _tests(p, q)
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


def _diverging(subject: Subject, pair: tuple[Any, Any], P: Law, Q: Law) -> list[_Finding]:
    """Return the order of a Rényi curve at which the laws are nearest to the claim, or beyond it."""
    if not isinstance(subject.loss, Renyi) or not P.chances:
        return []
    every = list(P.chances)
    p = np.array([P.chance(seen)[0] for seen in every])
    q = np.array([Q.chance(seen)[1] for seen in every]) + Q.unexplored
    orders, claimed = np.array(subject.loss.orders, float), np.array(subject.loss.epsilons, float)
    there = p > 0
    with np.errstate(divide="ignore", over="ignore"):
        terms = np.log(p[there])[:, None] * orders + np.log(q[there])[:, None] * (1 - orders)
        sums = np.logaddexp.reduce(terms, axis=0)
    found = sums / (orders - 1) - _ROUNDING * (1 + np.abs(sums)) / (orders - 1)
    worst = int(np.argmax(np.where(np.isfinite(claimed), found / claimed, -np.inf)))
    best = int(np.argmax(p - q))
    telling = every[best], float(p[best]), float(q[best])
    missing = max(P.unexplored, Q.unexplored)
    shown = max(0.0, float(found[worst]))
    return [_Finding(float(claimed[worst]), shown, 0.0, pair, telling, missing, (), float(orders[worst]))]


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
