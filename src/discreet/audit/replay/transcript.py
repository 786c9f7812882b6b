"""Measure what a whole run of additive releases loses between two neighbours, without statistics.

A run on D is recorded, and replayed on D2 with all released values held fixed (`recorder`). Each release is an
exact value v with noise whose law is known, and on D2 the value is v′. So the loss of the whole transcript is the
sum of the losses of its releases, each of which is known exactly:

    discrete Gaussian noise of variance s   ρ = ‖v − v′‖²/(2s)
    discrete Laplace noise of scale s       ε = ‖v − v′‖₁/s
    a run of the threshold test             ε, at least: see `audit.replay.comparisons`

Claim. If every release may depend on the ones before, and the costs of all are fixed in advance, then no
transcript may show more than what was charged: where one does, some release moved by more than it was paid for.
The exact values are those of the code that was run. That the noise has its law is not tested here, but for each
mechanism by itself. Power: with a pair that attains every sensitivity, an overcharge of one in a thousand is seen.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import privacy
from discreet.audit.inputs.subject import Subject
from discreet.audit.replay.comparisons import run_loss
from discreet.audit.replay.tape import Call
from discreet.audit.replay.traces import Trace, again, record
from discreet.audit.report.verdict import Verdict
from discreet.errors import DiscreetError
from discreet.kernel.threshold_test import NoisyThreshold
from discreet.ledger.costs import NOTHING, Cost, cost
from discreet.mechanisms import Gaussian, Laplace
from discreet.privacy import Loss, Pure, ZeroConcentrated

DELTA = Fraction(1, 10**5)
"""The δ at which Gaussian transcripts are compared with their claim."""


def losses(first: Trace, second: Trace) -> list[Loss]:
    """Return the loss of each release between a recorded run and its replay, exactly.

    >>> from discreet.mechanisms import Exact
    >>> def count(rows):
    ...     return int(Laplace(scale=2).release(Exact(len(rows), sensitivity=1)))
    >>> one = record(count, [{"age": 30}], seed=1)
    >>> losses(one, again(count, [], one.tape))
    [Pure(epsilon=Fraction(1, 2))]
    """
    found: list[Loss] = []
    runs: dict[int, list[tuple[Call, Call]]] = {}
    for call, other in zip(first.tape.calls, second.tape.calls, strict=True):
        if call.value is None:  # a charge: nothing is released
            continue
        mechanism = call.parameters.get("mechanism")
        if isinstance(mechanism, NoisyThreshold) and call.owner is not None:
            runs.setdefault(call.owner, []).append((call, other))
            continue
        moved = [int(a) - int(b) for a, b in zip(_flat(call.value), _flat(other.value), strict=True)]
        if not any(moved):
            continue
        if isinstance(mechanism, Gaussian):
            found.append(ZeroConcentrated(Fraction(sum(step**2 for step in moved)) / (2 * mechanism.variance)))
        elif isinstance(mechanism, Laplace):
            found.append(Pure(sum(map(abs, moved)) / mechanism.scale))
        else:
            raise DiscreetError(
                f"A transcript has additive noise only, and this one has {call.what}.",
                fix="Use the exact attack, or the black box.",
            )
    for compared in runs.values():
        mechanism = compared[0][0].parameters["mechanism"].mechanism
        lost = run_loss(mechanism, [(int(call.value), int(other.value)) for call, other in compared])
        if lost:
            found.append(Pure(Fraction(lost)))
    return found


def attack(subject: Subject) -> Verdict:
    """Return whether a run on any pair of the subject loses more than is claimed. Inputs are lists of rows.

    >>> from discreet.mechanisms import Exact
    >>> def count(rows):
    ...     return int(Laplace(scale=2).release(Exact(len(rows), sensitivity=1)))
    >>> said = Subject(name="a count", release=count, loss=Pure("0.4"), pairs=[([], [{"age": 30}])])
    >>> verdict = attack(said)
    >>> verdict.caught, verdict.found
    (True, 0.5)
    """
    start = time.perf_counter()
    worst: Verdict | None = None
    for D, D2 in subject.pairs:
        for one, other in ((D, D2), (D2, D)):
            verdict = _compared(subject, one, other)
            if worst is None or verdict.caught or (verdict.found or 0) > (worst.found or 0):
                worst = verdict
            if verdict.caught:
                break
        if worst is not None and worst.caught:
            break
    if worst is None:
        raise DiscreetError(f"{subject.name} has no pair of neighbours to compare.")
    return Verdict(**{**vars(worst), "seconds": time.perf_counter() - start})


def _compared(subject: Subject, D: Any, D2: Any) -> Verdict:
    release: Callable[[Any], Any] = subject.release
    first = record(release, D, seed=1)
    second = again(release, D2, first.tape)
    if second.tape.departure is not None or not second.ends_as(first):
        why = second.tape.departure or "the result changes although every release is held fixed"
        return Verdict(attack="transcript", caught=True, words=f"Between {D} and {D2}, {why}.")
    listed = losses(first, second)
    found, charged = cost(listed) if listed else NOTHING, cost(subject.loss)
    pure = found.epsilon is not None and charged.epsilon is not None
    over = found.epsilon > charged.epsilon if pure else found.rho > charged.rho  # type: ignore[operator]
    delta = Fraction(0) if pure else DELTA
    shown, claimed = (_epsilon(amounts, pure) for amounts in (found, charged))
    at = f" at δ = {float(delta):g}" if delta else ""
    return Verdict(
        attack="transcript",
        caught=over,
        words=f"Between {D} and {D2} the {len(first.tape.calls)} releases of a run lose ε = {shown:.4g}{at}; the "
        f"claim is {claimed:.4g}.",
        claimed=claimed,
        found=shown,
        delta=float(delta),
    )


def _epsilon(amounts: Cost, pure: bool) -> float:
    if pure:
        return float(amounts.epsilon or 0)
    return privacy.epsilon(ZeroConcentrated(amounts.rho), DELTA) if amounts.rho else 0.0


def _flat(value: Any) -> list[Any]:
    return list(np.asarray(value, object).ravel())
