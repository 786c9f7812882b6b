"""Attack what a mechanism promises beside its loss: that it is a record, what it admits, and its error bar.

* It is frozen: its noise cannot be changed after its loss was read.
* It refuses values that are more sensitive than it was built for, and values that are not sealed as `Exact`.
* It answers at both ends of the range of an exact value: an exception that only some values cause is a leak.
* Its error bar holds: releases are within `error(confidence)` at least that often, at alpha = 10⁻⁷
  (Clopper–Pearson on 2000 releases).
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError, fields, is_dataclass
from typing import Any, TypeAlias

import numpy as np

from discreet.audit.attacks.clopper_pearson import upper
from discreet.audit.inputs.pairs import Value, pairs, sensitivity_of, takes_one
from discreet.audit.report.verdict import Verdict
from discreet.mechanisms import Exact, Mechanism, Sensitivity
from discreet.mechanisms.exact import LIMIT
from discreet.privacy.losses import Loss

_RELEASES, _CONFIDENCE, _ALPHA = 2_000, "0.9", 1e-7


def attack_contract(mechanism: Mechanism) -> Verdict:
    """Return whether the mechanism keeps the contract, apart from its law.

    >>> from discreet.mechanisms import Laplace
    >>> attack_contract(Laplace(1)).words
    'A frozen record that refuses values it was not built for, and answers at both ends of the integers.'
    """
    start = time.process_time()
    broken = list(_broken_promises(mechanism))
    good = "A frozen record that refuses values it was not built for, and answers at both ends of the integers."
    return Verdict(
        attack="contract",
        caught=bool(broken),
        words=" ".join(broken) or good,
        seconds=time.process_time() - start,
    )


def _broken_promises(mechanism: Any) -> Iterator[str]:
    if not isinstance(mechanism.loss, Loss):
        yield f"Its loss is a {type(mechanism.loss).__name__}: return a privacy.Loss, such as privacy.Pure(1)."
    if not _is_frozen(mechanism):
        yield "Its parameters can be changed after its loss was read: write @dataclass(frozen=True)."
    sensitivity = sensitivity_of(mechanism)
    values: Value = 0 if takes_one(mechanism) else [0, 0]
    over = (sensitivity.each or 1) + 1
    try:
        mechanism.release(Exact(values, Sensitivity(entries=1, each=over, monotonic=sensitivity.monotonic)))
        yield f"It releases a value of sensitivity {over}, but was built for {over - 1}."
    except Exception:  # any exception is a refusal
        pass
    try:
        mechanism.release(values)
        yield "It releases plain numbers, which state no sensitivity: take an Exact."
    except Exception:  # any exception is a refusal
        pass
    for end in (-LIMIT, LIMIT):
        try:
            mechanism.release(Exact(end if isinstance(values, int) else [end, -end], sensitivity))
        except Exception as error:
            yield f"At {end} it raises {type(error).__name__}, which an observer sees: {error}"


def _is_frozen(mechanism: Any) -> bool:
    if not is_dataclass(mechanism) or not fields(mechanism):
        return isinstance(mechanism, tuple)
    name = fields(mechanism)[0].name
    try:
        setattr(mechanism, name, getattr(mechanism, name))
    except FrozenInstanceError:
        return True
    return False


def attack_error(mechanism: Mechanism) -> Verdict:
    """Return whether releases are within the error bar as often as the mechanism claims.

    >>> from discreet.mechanisms import Laplace
    >>> attack_error(Laplace(1)).caught
    False
    """
    start = time.process_time()
    found = [_inside(mechanism, values) for pair in pairs(mechanism) for values in pair]
    inside, bar = min(found)
    most = float(upper(inside, _RELEASES, _ALPHA))
    caught = most < float(_CONFIDENCE)
    return Verdict(
        attack="error bar",
        caught=caught,
        words=f"±{bar} at confidence {_CONFIDENCE}: it held for {inside:,} of {_RELEASES:,} releases"
        + (f", so for less than {most:.1%} of all." if caught else "."),
        confidence=1 - _ALPHA * len(found),
        seconds=time.process_time() - start,
    )


def _inside(mechanism: Any, values: Value) -> tuple[int, int]:
    """Return how many releases are within the error bar, and the bar."""
    exact = Exact(values, sensitivity_of(mechanism))
    size = np.size(values)
    parameters = inspect.signature(mechanism.error).parameters
    named = next((name for name in ("candidates", "queries", "dimension") if name in parameters), None)
    bar: int = mechanism.error(_CONFIDENCE, **({named: size} if named else {}))
    error_of: Error = _ERRORS.get(named or "", _distance)

    def within() -> bool:
        try:
            return error_of(mechanism, values, mechanism.release(exact)) <= bar
        except Exception:  # a release that fails is not within the bar
            return False

    return sum(within() for _ in range(_RELEASES)), bar


def _distance(_: Any, values: Value, released: Any) -> int:
    pairs_of = zip(np.ravel(released).tolist(), np.ravel(values).tolist(), strict=True)
    return max(abs(int(found) - int(true)) for found, true in pairs_of)


def _below_the_best(_: Any, scores: Any, chosen: Any) -> int:
    return int(max(scores) - scores[int(chosen)])


def _wrong_side(mechanism: Any, values: Any, answers: Any) -> int:
    """Return by how much the worst answer is on the wrong side of the threshold."""
    above = (bool(answer) if isinstance(answer, bool | np.bool_) else answer is not None for answer in answers)
    wrong = (
        mechanism.threshold - value if yes else value - mechanism.threshold
        for value, yes in zip(values, above, strict=False)
    )
    return int(max(0, *wrong))


Error: TypeAlias = Callable[[Any, Any, Any], int]
_ERRORS: dict[str, Error] = {"candidates": _below_the_best, "queries": _wrong_side}
