"""The black-box attack: watch many answers on two neighbours, and bound the loss from below.

Claim. Let P and Q be the laws of the answers on D and on D2, and let all answers be independent. With probability
at least `confidence` over the answers watched, the ε of `lower_bound` is not above the least ε for which P and Q
satisfy (ε, δ)-differential privacy: if it exceeds what is claimed, the claim is refuted.

Proof. The first half of the answers chooses an event E and a direction (`events`); the second half is independent
of that choice. On it, Clopper and Pearson's bounds (`confidence`) give P(E) ≥ p and Q(E) ≤ q, each with doubt
(1 − confidence)/2, and (ε, δ)-DP says P(E) ≤ e^ε·Q(E) + δ, hence ε ≥ ln((p − δ)/q). One event, two bounds:
nothing else is tested, so nothing else has to be paid for. `attack` splits the doubt over the pairs it tries.

A black box proves leaks, never their absence: what happens once in a billion answers is not seen in a million.
Tested in tests/audit/test_blackbox.py, with the rate of false alarms at a low confidence.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import plots, privacy
from discreet.audit.confidence import lower, upper
from discreet.audit.events import Event, Group, Outcomes, choose, learned, shortened
from discreet.audit.outcomes import Raised, outcome
from discreet.audit.subject import Subject
from discreet.audit.verdict import Verdict
from discreet.errors import ParameterError
from discreet.privacy.losses import Approximate, Losses, counted
from discreet.privacy.rounding import downward, float_above, float_below
from discreet.rational import Rational, rational, whole

Mechanism = Callable[[Any], Any]
Batch = Callable[[Any, int], Any]
Progress = Callable[[int, int], object]

_FEWEST = 200  # samples of each law: with fewer there is nothing to learn from
_FIRST = 4096  # answers of the first part, which shows how large they are
_ROWS, _NUMBERS = 2**20, 2**22  # most answers, and most numbers in them, of a later part
_SINGLE = 2**14  # most answers of a part that is made one by one
# Where claims with a δ are tried, from what a million answers cannot see to what nobody should lose.
_DELTAS = tuple(map(Fraction, ["0", "1e-6", "1e-5", "1e-4", "1e-3", "3e-3", "0.01", "0.03", "0.1", "0.3"]))


@dataclass(frozen=True, kw_only=True)
class LowerBound:
    """A loss that a mechanism has at least, with this confidence, and the event that shows it."""

    epsilon: float
    delta: float
    confidence: float
    samples: int
    """Answers on each of the two inputs; the event was chosen by the first half, and tested on the second."""
    event: str
    """The event in words."""
    direction: str
    """`D against D2` if the event is more likely on D."""
    rates: tuple[float, float]
    """How often the event was seen on the input that makes it likely, and on the other."""
    bounds: tuple[float, float]
    """What the first of these rates is at least, and the second at most."""
    attained: tuple[tuple[float, float], ...] = field(default=(), repr=False)
    """(false alarms, misses) as measured on the second half, at every threshold of the chosen score."""

    def plot(self, loss: Losses) -> Any:
        """Draw (with Altair) the tests that were tried as points beside the trade-off curve of the declared loss.

        Points below the curve are tests that do better than the claim allows, but for the luck of sampling.
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
    """Return an ε that `mechanism` loses at least, between the neighbours `D` and `D2`, at `delta`.

    `mechanism(data)` is one release; an exception is an answer too. `batch(data, n)` returns n independent
    releases at once, an array or a list. `samples` releases are made on each input. `progress(done, total)` is
    called now and then.

    >>> from discreet import noise
    >>> found = lower_bound(lambda bit: bit ^ noise.bernoulli("1/4"), 0, 1, samples=20_000)
    >>> 0.9 < found.epsilon < 1.1, found.event
    (True, 'the number is ...')
    """
    exact = rational(delta, "delta", floats="exact")
    if not 0 <= exact < 1:
        raise ParameterError(f'delta must be 0 or more and below 1, such as "1e-6", not {delta!r}.')
    audit = _Audit(mechanism, batch, samples, _doubt(confidence), progress)
    return audit.bound(D, D2, [exact], np.zeros(1))


def attack(subject: Subject, *, samples: int = 200_000, confidence: Rational = "0.999999") -> Verdict:
    """Return whether a black box refutes the subject's claim on any of its pairs of neighbours.

    A claim that holds is refuted with probability at most 1 − `confidence`, however many pairs there are.

    >>> from discreet import noise, privacy
    >>> liar = Subject(
    ...     name="a coin that lies too rarely",
    ...     release=lambda bit: bit ^ noise.bernoulli("1/10"),
    ...     loss=privacy.Pure(1),
    ...     pairs=[(0, 1)],
    ... )
    >>> attack(liar, samples=10_000).caught
    True
    """
    start = time.perf_counter()
    if not subject.pairs:
        raise ParameterError(f"{subject.name} has no pairs of neighbours to look at. Write pairs=[(D, D2)].")
    doubt, tries = _doubt(confidence), 2 if subject.batch else 1
    audit = _Audit(subject.release, subject.batch, samples, doubt / tries, None)
    try:
        pair, allowed, bound = _worst(audit, subject)
    except _BatchFailed:  # a second try, for which half of the doubt was left
        pair, allowed, bound = _worst(replace(audit, batch=None), subject)
    return Verdict(
        attack="black box",
        caught=bound.epsilon > allowed,
        words=_words(bound, allowed, pair),
        claimed=allowed,
        found=bound.epsilon,
        delta=bound.delta,
        confidence=1 - float_above(doubt),
        seconds=time.perf_counter() - start,
        attained=bound.attained,
    )


def _worst(audit: _Audit, subject: Subject) -> tuple[tuple[Any, Any], float, LowerBound]:
    """Return the pair that exceeds the claim most, what is claimed, and what was found; the first caught is it."""
    shared, deltas = replace(audit, doubt=audit.doubt / len(subject.pairs)), _deltas(subject.loss)
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
        f"(seen: {bound.rates[1]:.3g}). So ε ≥ {bound.epsilon:.3f}{at}, and {allowed:.3f} is claimed."
    )


def _doubt(confidence: Rational) -> Fraction:
    exact = rational(confidence, "confidence", floats="exact")
    if not 0 < exact < 1:
        raise ParameterError(f'confidence must be above 0 and below 1, such as "0.999", not {confidence!r}.')
    return 1 - exact


def _deltas(loss: Losses) -> list[Fraction]:
    """Where a claim is tried: at δ = 0 if it is one pure loss, else at some δ, its own among them."""
    counts = counted(loss)
    if sum(counts.values()) <= 1 and privacy.epsilon(loss, 0) < math.inf:
        return [Fraction(0)]
    own = sum((kind.delta * count for kind, count in counts.items() if isinstance(kind, Approximate)), Fraction(0))
    # A claim is stated at the very float that is subtracted from a rate.
    return sorted({Fraction(float_above(at)) for at in (*_DELTAS, own) if at < 1})


@dataclass(frozen=True)
class _Audit:
    """What all audits of one mechanism share."""

    mechanism: Mechanism
    batch: Batch | None
    samples: int
    doubt: Fraction
    progress: Progress | None

    def __post_init__(self) -> None:
        for name in ("mechanism", "batch", "progress"):
            given = getattr(self, name)
            if not callable(given) and (given is not None or name == "mechanism"):
                raise ParameterError(
                    f"{name} must be a function, not {type(given).__name__}. "
                    "Write mechanism=lambda data: …, and batch=lambda data, n: … for many releases at once."
                )
        if whole(self.samples, "samples") < _FEWEST:
            raise ParameterError(f"samples={self.samples} is too few to learn from: write {_FEWEST} or more.")

    def bound(self, D: Any, D2: Any, deltas: Sequence[Fraction], claimed: NDArray[np.float64]) -> LowerBound:
        """Learn from a quarter of the samples, choose by another, and test on the remaining half."""
        doubt, quarter = float_below(self.doubt / 2), self.samples // 4
        watch, floats = _Watch(self), np.array([float_above(at) for at in deltas])
        scores = learned(*(merged(watch.answers(data, quarter)) for data in (D, D2)))
        fresh = [merged(watch.answers(data, quarter)) for data in (D, D2)]
        event = choose(scores, *fresh, doubt=doubt, deltas=floats, claimed=claimed)
        tested = self.samples - 2 * quarter
        hits = [np.sum([event.hits(part) for part in watch.answers(data, tested)], axis=0) for data in (D, D2)]
        return self._shown(event, hits[::-1] if event.swapped else hits, tested, float(floats[event.choice]))

    def _shown(self, event: Event, hits: list[NDArray[np.int64]], tested: int, delta: float) -> LowerBound:
        doubt = float_below(self.doubt / 2)
        likely, other = (int(counts[event.at]) for counts in hits)
        low, high = float(lower(likely, tested, doubt)), float(upper(other, tested, doubt))
        ratio = downward(downward(low - delta, 1) / high, 1)
        alarms, misses = hits[1] / tested, 1 - hits[0] / tested
        return LowerBound(
            epsilon=max(0.0, downward(math.log(ratio), 5)) if ratio > 0 else 0.0,
            delta=delta,
            confidence=1 - float_above(self.doubt),
            samples=self.samples,
            event=event.words,
            direction="D2 against D" if event.swapped else "D against D2",
            rates=(likely / tested, other / tested),
            bounds=(low, high),
            attained=tuple(sorted(set(zip(alarms.tolist(), misses.tolist(), strict=True)))),
        )


# -- watching ---------------------------------------------------------------------------------------------------


class _BatchFailed(ParameterError):
    """A batch that raised: which of its answers was the exception cannot be told."""


class _Watch:
    """Answers of one mechanism, in parts that fit into memory, and how many there have been."""

    def __init__(self, audit: _Audit):
        self.audit, self.done, self.rows = audit, 0, _FIRST

    def answers(self, data: Any, count: int) -> Iterator[Outcomes]:
        while count > 0:
            size = min(count, self.rows)
            part = self._part(data, size)
            width = max(group.numbers.shape[1] for group in part.values())
            self.rows = max(_FIRST, min(_ROWS if self.audit.batch else _SINGLE, _NUMBERS // max(1, width)))
            self.done, count = self.done + size, count - size
            if self.audit.progress:
                self.audit.progress(self.done, 2 * self.audit.samples)
            yield part

    def _part(self, data: Any, size: int) -> Outcomes:
        if self.audit.batch is None:
            return seen([_answer(self.audit.mechanism, data) for _ in range(size)])
        try:
            made = self.audit.batch(data, size)
        except Exception as error:
            raise _BatchFailed(
                f"batch(data, {size}) raised {type(error).__name__}: {error}. Leave out batch: of single releases "
                "exceptions count as answers."
            ) from error
        if not hasattr(made, "__len__") or len(made) != size:
            found = f"{len(made)} of them" if hasattr(made, "__len__") else type(made).__name__
            raise ParameterError(
                f"batch(data, {size}) must return {size} releases along its first axis, not {found}."
            )
        return seen(made)


def _answer(mechanism: Mechanism, data: Any) -> Any:
    try:
        return mechanism(data)
    except Exception as error:
        return Raised(type(error).__name__, str(error))


def seen(answers: Any) -> Outcomes:
    """Return answers, an array or a list, sorted by kind and, where they are few, counted.

    >>> {kind: group.counts.tolist() for kind, group in seen([3, 3, None, 4, (1.5, 2.0)]).items()}
    {'int': [2, 1], 'None': [1], ('float', 'float'): [1]}
    """
    listed = answers if isinstance(answers, np.ndarray) else list(answers)
    array = listed if isinstance(listed, np.ndarray) else _stacked(listed)
    numbers = None if array is None else _numbers(np.asarray(array))
    if numbers is None:
        items = listed.tolist() if isinstance(listed, np.ndarray) else listed
        return _sorted_by_kind(a if isinstance(a, Raised) else outcome(a) for a in items)
    group = _counted(Group(numbers.reshape(len(listed), -1), np.broadcast_to(np.int64(1), len(listed))))
    return {_kind_of_rows(np.asarray(array)): group}


def _numbers(array: NDArray[Any]) -> NDArray[Any] | None:
    """The array in one of the three types of numbers there are here, if it holds numbers."""
    if array.dtype == np.uint64 and array.size and array.max() >= 2**63:
        return None
    wanted = {"b": np.int8, "i": np.int64, "u": np.int64, "f": np.float64}.get(array.dtype.kind)
    return array.astype(wanted, copy=False) if wanted else None


def _stacked(answers: list[Any]) -> NDArray[Any] | None:
    types = set(map(type, answers))
    if types <= {list, tuple} and len(set(map(len, answers))) == 1:
        types = {type(part) for answer in answers for part in answer}
    if len(types) != 1:
        return None
    (only,) = types
    if issubclass(only, np.ndarray) and isinstance(answers[0], np.ndarray):
        same = len({(answer.shape, answer.dtype) for answer in answers}) == 1
        return np.stack([np.asarray(answer) for answer in answers]) if same else None
    if not issubclass(only, bool | int | float | np.number | np.bool_):
        return None
    try:
        return np.array(answers, dtype=np.int64 if only is int else None)
    except OverflowError:
        return None


def _kind_of_rows(array: NDArray[Any]) -> Hashable:
    zero: Any = {"b": False, "f": 0.0}.get(array.dtype.kind, 0)
    return _taken_apart(outcome(np.full(array.shape[1:], zero)), [])


def _sorted_by_kind(answers: Iterable[Hashable]) -> Outcomes:
    # Counted within each kind, since to Python True, 1 and 1.0 are the same: what one answer counts as must not
    # depend on which others stand beside it.
    kinds: dict[Hashable, dict[Hashable, tuple[list[float], int]]] = {}
    for answer in answers:
        numbers: list[float] = []
        rows = kinds.setdefault(_taken_apart(answer, numbers), {})
        rows[answer] = (numbers, rows.get(answer, (numbers, 0))[1] + 1)
    return {kind: _group(kind, rows) for kind, rows in kinds.items()}


def _group(kind: Hashable, rows: dict[Hashable, tuple[list[float], int]]) -> Group:
    leaves = set(_leaves(kind))
    dtype: Any = np.int8 if leaves <= {"bool"} else np.int64 if leaves <= {"bool", "int"} else np.float64
    numbers = np.array([found for found, _ in rows.values()], dtype=dtype).reshape(len(rows), -1)
    itself = None
    if not leaves <= {"bool", "int", "float"}:
        itself = np.empty(len(rows), dtype=object)
        for row, answer in enumerate(rows):  # numpy would take tuples apart
            itself[row] = answer
    return Group(numbers, np.array([count for _, count in rows.values()], np.int64), itself)


def _taken_apart(answer: Hashable, numbers: list[float]) -> Hashable:
    """Return the kind of an outcome, and add the numbers in it to `numbers`."""
    match answer:
        case tuple():
            return tuple(_taken_apart(part, numbers) for part in answer)
        case int() if not -(2**63) <= answer < 2**63:
            numbers.append(float(answer) if abs(answer) < 2**1023 else math.inf if answer > 0 else -math.inf)
            return "huge int"
        case bool() | int() | float():  # and numpy's float64, which is a float
            numbers.append(answer)
            return "bool" if isinstance(answer, bool) else "int" if isinstance(answer, int) else "float"
        case "NaN" | "+0.0" | "-0.0":  # how `outcome` writes these three doubles
            numbers.append(float(answer))
            return "float"
        case Raised(kind):
            return f"raised {kind}"
        case None:
            return "None"
    return type(answer).__name__


def _leaves(kind: Hashable) -> Iterator[Hashable]:
    if isinstance(kind, tuple):
        for part in kind:
            yield from _leaves(part)
    else:
        yield kind


def merged(parts: Iterable[Outcomes]) -> Outcomes:
    """Return all parts as one."""
    kinds: dict[Hashable, list[Group]] = {}
    for part in parts:
        for kind, group in part.items():
            kinds.setdefault(kind, []).append(group)
    return {kind: _counted(_joined(groups)) for kind, groups in kinds.items()}


def _joined(groups: list[Group]) -> Group:
    itself = [group.whole for group in groups if group.whole is not None]
    return Group(
        np.concatenate([group.numbers for group in groups]),
        np.concatenate([group.counts for group in groups]),
        np.concatenate(itself) if itself else None,
    )


def _counted(group: Group) -> Group:
    """Single integers in a narrow range, with how often each was seen: ten million of them become a few."""
    if group.numbers.shape[1] != 1 or group.numbers.dtype.kind == "f" or group.whole is not None:
        return group
    x = group.numbers[:, 0]
    low, high = int(x.min()), int(x.max())
    if high - low > 4 * len(x) + 1000:
        return group
    counts = np.bincount(x.astype(np.int64) - low, None if group.counts.strides == (0,) else group.counts)
    found = np.flatnonzero(counts)
    return Group((found + low).astype(x.dtype)[:, None], counts[found].astype(np.int64))
