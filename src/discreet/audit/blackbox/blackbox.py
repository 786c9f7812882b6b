"""Run the black-box attack: sample answers on two neighbours, and bound the loss from below.

Claim. Let P and Q be the laws of the answers on D and on D2, and let all answers be independent. With probability
at least `confidence` over the sampled answers, the ε of `lower_bound` is not above the least ε for which P and Q
satisfy (ε, δ)-differential privacy: if it exceeds what is claimed, the claim is refuted.

Proof. The first half of the answers chooses an event E and a direction (`events`); the second half is independent
of that choice. On it, Clopper and Pearson's bounds (`clopper_pearson`) give P(E) ≥ p and Q(E) ≤ q, each at alpha =
(1 − confidence)/2, and (ε, δ)-DP says P(E) ≤ e^ε·Q(E) + δ, hence ε ≥ ln((p − δ)/q). One event and two bounds are
tested and nothing else, so no other correction for multiple tests is needed. `attack` splits alpha over the pairs
that it tries.

A black box proves leaks, never their absence: an event of probability 10⁻⁹ is not seen in a million answers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import plots, privacy
from discreet.audit.attacks.clopper_pearson import lower, upper
from discreet.audit.blackbox.events import Event, choose
from discreet.audit.blackbox.sampling import Batch, BatchFailed, Mechanism, Progress, Sampler
from discreet.audit.blackbox.scores import learned
from discreet.audit.inputs.mutation_check import Unchanged
from discreet.audit.inputs.subject import Subject
from discreet.audit.report.event_text import shortened
from discreet.audit.report.verdict import Verdict
from discreet.errors import Code, Fix, ParameterError
from discreet.privacy.losses import Approximate, Losses, counted
from discreet.privacy.rounding import downward, float_above, float_below
from discreet.rational import Rational, rational, whole

_FEWEST = 200  # samples of each law: fewer are not enough to learn from
# The δ at which claims are tried, from what a million answers cannot show to what no release should lose.
_DELTAS = tuple(map(Fraction, ["0", "1e-6", "1e-5", "1e-4", "1e-3", "3e-3", "0.01", "0.03", "0.1", "0.3"]))

_FUNCTIONS = {
    "mechanism": Fix("mechanism", Code("lambda data: …"), note="one release"),
    "batch": Fix("batch", Code("lambda data, n: …"), note="n releases at once"),
    "progress": Fix("progress", Code("lambda done, total: …")),
}


@dataclass(frozen=True, kw_only=True)
class LowerBound:
    """A lower bound on the loss of a mechanism, at a confidence, and the event that shows it."""

    epsilon: float
    delta: float
    confidence: float
    samples: int
    """Answers on each of the two inputs; the event was chosen by the first half, and tested on the second."""
    event: str
    """The event, described as text."""
    direction: str
    """`D against D2` if the event is more likely on D."""
    rates: tuple[float, float]
    """The rate of the event on the input that makes it likely, and on the other, as measured."""
    bounds: tuple[float, float]
    """A lower bound on the first of these rates, and an upper bound on the second."""
    attained: tuple[tuple[float, float], ...] = field(default=(), repr=False)
    """(false alarms, misses) as measured on the second half, at every threshold of the chosen score."""

    def plot(self, loss: Losses) -> Any:
        """Draw (with Altair) the tests that were tried as points, with the trade-off curve of the declared loss.

        Points below the curve are tests that do better than the claim allows, up to sampling error.
        """
        return plots.tradeoff({"declared": privacy.tradeoff(loss)}, {"measured": self.attained})


def lower_bound(
    mechanism: Mechanism,
    D: Any,
    D2: Any,
    *,
    delta: Rational = 0,
    samples: int = 200_000,
    confidence: Rational = "0.999",
    batch: Batch | None = None,
    progress: Progress | None = None,
) -> LowerBound:
    """Return a lower bound on the ε that `mechanism` loses between the neighbours `D` and `D2`, at `delta`.

    Args:
        mechanism: `mechanism(data)` is one release, which must not change the data; an exception is an answer too.
        D: The first input.
        D2: A neighbour of the first input.
        delta: The δ of the bound, 0 by default.
        samples: The number of releases on each input, 200 or more.
        confidence: The probability that the bound holds.
        batch: `batch(data, n)` returns n independent releases at once, an array or a list.
        progress: `progress(done, total)` is called from time to time.

    >>> from discreet import noise
    >>> found = lower_bound(lambda bit: bit ^ noise.bernoulli("1/4"), 0, 1, samples=20_000)
    >>> 0.9 < found.epsilon < 1.1, found.event
    (True, 'the number is ...')
    """
    exact = rational(delta, "delta", floats="exact")
    if not 0 <= exact < 1:
        raise ParameterError("delta must be 0 or more and below 1.", found=delta, fix=Fix("delta", "1e-6"))
    audit = _Audit(mechanism, batch, samples, _alpha(confidence), progress)
    return audit.bound(D, D2, [exact], np.zeros(1))


def attack(subject: Subject, *, samples: int = 200_000, confidence: Rational = "0.999999") -> Verdict:
    """Return whether a black box refutes the subject's claim on any of its pairs of neighbours.

    A claim that holds is refuted with probability at most 1 − `confidence`, for any number of pairs.

    >>> from discreet import noise, privacy
    >>> coin = Subject(
    ...     name="a coin that flips too rarely",
    ...     release=lambda bit: bit ^ noise.bernoulli("1/10"),
    ...     loss=privacy.Pure(1),
    ...     pairs=[(0, 1)],
    ... )
    >>> attack(coin, samples=10_000).caught
    True
    """
    start = time.perf_counter()
    if not subject.pairs:
        raise ParameterError(
            f"{subject.name} has no pair of neighbours to compare.", fix=Fix("pairs", Code("[(D, D2)]"))
        )
    alpha, tries = _alpha(confidence), 2 if subject.batch else 1
    audit = _Audit(subject.release, subject.batch, samples, alpha / tries, None)
    try:
        pair, allowed, bound = _worst(audit, subject)
    except BatchFailed:  # a second try, for which half of alpha was reserved
        pair, allowed, bound = _worst(replace(audit, batch=None), subject)
    return Verdict(
        attack="black box",
        caught=bound.epsilon > allowed,
        words=_words(bound, allowed, pair),
        claimed=allowed,
        found=bound.epsilon,
        delta=bound.delta,
        confidence=1 - float_above(alpha),
        seconds=time.perf_counter() - start,
        attained=bound.attained,
    )


def _worst(audit: _Audit, subject: Subject) -> tuple[tuple[Any, Any], float, LowerBound]:
    """Return the pair that exceeds the claim most, the claim and the bound. The search ends at a caught pair."""
    shared, deltas = replace(audit, alpha=audit.alpha / len(subject.pairs)), _deltas(subject.loss)
    claimed = np.array([privacy.epsilon(subject.loss, at) for at in deltas])
    worst = None
    for D, D2 in subject.pairs:
        bound = shared.bound(D, D2, deltas, claimed)
        allowed = float(claimed[[float(at) for at in deltas].index(bound.delta)])
        if worst is None or bound.epsilon - allowed > worst[2].epsilon - worst[1]:
            worst = (D, D2), allowed, bound
        if bound.epsilon > allowed:
            break
    assert worst
    return worst


def _words(bound: LowerBound, allowed: float, pair: tuple[Any, Any]) -> str:
    likely, other = pair if bound.direction == "D against D2" else pair[::-1]
    at = f" at δ = {bound.delta:.3g}" if bound.delta else ""
    return (
        f"{bound.event[0].upper()}{bound.event[1:]}: on {shortened(likely)} with probability at least "
        f"{bound.bounds[0]:.3g} (seen: {bound.rates[0]:.3g}), on {shortened(other)} at most {bound.bounds[1]:.3g} "
        f"(seen: {bound.rates[1]:.3g}). So ε ≥ {bound.epsilon:.3f}{at}; the claim is {allowed:.3f}."
    )


def _alpha(confidence: Rational) -> Fraction:
    exact = rational(confidence, "confidence", floats="exact")
    if not 0 < exact < 1:
        raise ParameterError(
            "confidence must be above 0 and below 1.", found=confidence, fix=Fix("confidence", "0.999")
        )
    return 1 - exact


def _deltas(loss: Losses) -> list[Fraction]:
    """Return the δ at which a claim is tried: 0 if it is one pure loss, else several, its own among them."""
    counts = counted(loss)
    if sum(counts.values()) <= 1 and privacy.epsilon(loss, 0) < math.inf:
        return [Fraction(0)]
    own = sum((kind.delta * count for kind, count in counts.items() if isinstance(kind, Approximate)), Fraction(0))
    # Each δ is a float, because the claim must be evaluated at exactly the number that is subtracted from a rate.
    return sorted({Fraction(float_above(at)) for at in (*_DELTAS, own) if at < 1})


@dataclass(frozen=True)
class _Audit:
    """The parameters that all audits of one mechanism share."""

    mechanism: Mechanism
    batch: Batch | None
    samples: int
    alpha: Fraction
    progress: Progress | None

    def __post_init__(self) -> None:
        for name in ("mechanism", "batch", "progress"):
            given = getattr(self, name)
            if not callable(given) and (given is not None or name == "mechanism"):
                raise ParameterError(
                    f"{name} must be a function.", found=type(given).__name__, fix=_FUNCTIONS[name]
                )
        if whole(self.samples, "samples") < _FEWEST:
            raise ParameterError(
                f"At least {_FEWEST} samples are needed to learn from.",
                found=self.samples,
                fix=Fix("samples", 200_000),
            )

    def bound(self, D: Any, D2: Any, deltas: Sequence[Fraction], claimed: NDArray[np.float64]) -> LowerBound:
        """Learn from a quarter of the samples, choose by another, and test on the remaining half."""
        alpha, quarter = float_below(self.alpha / 2), self.samples // 4
        floats = np.array([float_above(at) for at in deltas])
        sampler = Sampler(self.mechanism, self.batch, Unchanged(D, D2), 2 * self.samples, self.progress)
        scores = learned(*(sampler.answers(data, quarter) for data in (D, D2)))
        fresh = [sampler.answers(data, quarter) for data in (D, D2)]
        event = choose(scores, *fresh, alpha=alpha, deltas=floats, claimed=claimed)
        tested = self.samples - 2 * quarter
        hits = [np.sum([event.hits(part) for part in sampler.answers(data, tested)], axis=0) for data in (D, D2)]
        return self._shown(event, hits[::-1] if event.swapped else hits, tested, float(floats[event.choice]))

    def _shown(self, event: Event, hits: list[NDArray[np.int64]], tested: int, delta: float) -> LowerBound:
        alpha = float_below(self.alpha / 2)
        likely, other = (int(counts[event.at]) for counts in hits)
        low, high = float(lower(likely, tested, alpha)), float(upper(other, tested, alpha))
        ratio = downward(downward(low - delta, 1) / high, 1)
        alarms, misses = hits[1] / tested, 1 - hits[0] / tested
        return LowerBound(
            epsilon=max(0.0, downward(math.log(ratio), 5)) if ratio > 0 else 0.0,
            delta=delta,
            confidence=1 - float_above(self.alpha),
            samples=self.samples,
            event=event.words,
            direction="D2 against D" if event.swapped else "D against D2",
            rates=(likely / tested, other / tested),
            bounds=(low, high),
            attained=tuple(sorted(set(zip(alarms.tolist(), misses.tolist(), strict=True)))),
        )
