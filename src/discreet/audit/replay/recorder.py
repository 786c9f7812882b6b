"""Record every call to a mechanism on a tape, or replay the calls with all released values held fixed.

Inside `recording` and `replaying` the mechanisms' own methods are wrapped, and restored at the end of the last
block, so that the mechanisms need no code for it. The recorded methods are found, not listed: every method
`release` of a class of this package (and of its subclasses) that is given an `Exact` or an `ExactByKey`; `ask` of
the runs of the sparse vector technique; `Session.charge`, which is always executed, because it sees no data; and
functions marked as `primitive`. All comparisons with one noisy threshold (`kernel.threshold_test`) are one run,
with the loss of its mechanism; a run that goes on after a restart counts twice. A call within a call (a mechanism
that uses another) is part of the outer call. So partition selection is one call: its value is the presence of all
partitions, its answer those that it keeps.

A tape belongs to one context: threads that were not given it are neither recorded nor changed, and a method that
was bound before the block began (`draw = mechanism.release`) is not recorded either. A release that is not
recorded is drawn again, or shows in the result, so that `replay` finds it.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from typing import Any, TypeVar, overload

import numpy as np

from discreet import noise
from discreet.audit.attacks.outcomes import glimpse
from discreet.audit.replay.sensitivity import Bound, Norm, exactly
from discreet.audit.replay.tape import Call, Tape, copied, running
from discreet.errors import DiscreetError
from discreet.kernel.threshold_test import NoisyThreshold
from discreet.mechanisms import Exact, Mechanism
from discreet.mechanisms.exact import ExactByKey, opened
from discreet.mechanisms.threshold_run import Run
from discreet.privacy import Loss, Pure, Session

Function = TypeVar("Function", bound=Callable[..., Any])
Method = tuple[type, str]

_wrapping = threading.Lock()
_blocks = _modules = 0
_originals: dict[Method, Any] = {}


@contextmanager
def recording(seed: int) -> Iterator[Tape]:
    """Record every call that this context makes in the block.

    >>> from discreet.mechanisms import Laplace
    >>> with recording(seed=1) as tape:
    ...     noisy = Laplace(scale=2).release(Exact(7, sensitivity=1))
    >>> [(call.what, int(call.value), call.answer == noisy) for call in tape.calls]
    [('Laplace.release', 7, True)]
    """
    with _listening(Tape(seed)) as tape:
        yield tape


@contextmanager
def replaying(source: Tape) -> Iterator[Tape]:
    """Answer every call in the block from `source`; a call that is not on it ends the block with `Diverged`.

    >>> from discreet.mechanisms import Laplace
    >>> with recording(seed=1) as tape:
    ...     first = Laplace(scale=2).release(Exact(7, sensitivity=1))
    >>> with replaying(tape):
    ...     again = Laplace(scale=2).release(Exact(8, sensitivity=1))
    >>> first == again
    True
    """
    with _listening(Tape(source.seed, source)) as tape:
        yield tape


@overload
def primitive(function: Function) -> Function: ...
@overload
def primitive(*, norm: Norm = "l1") -> Callable[[Function], Function]: ...
def primitive(function: Callable[..., Any] | None = None, *, norm: Norm = "l1") -> Any:
    """Mark `f(value, *, sensitivity, …)` as a mechanism, for code that has its own noise.

    One person changes `value` by at most `sensitivity` in the given norm; all other arguments are parameters,
    which may not depend on the data. If one of them is `epsilon=`, it is the loss of the call. Outside a recording
    the function runs unchanged.

    >>> @primitive
    ... def noisy(value, *, sensitivity, epsilon):
    ...     return value + noise.discrete_laplace(sensitivity / epsilon)
    >>> with recording(seed=1) as tape:
    ...     _ = noisy(2.5, sensitivity=1, epsilon=1)
    >>> tape.calls[0].value, tape.calls[0].losses
    (2.5, (Pure(epsilon=Fraction(1, 1)),))
    """
    if function is None:
        return functools.partial(_primitive, norm=Bound(1, norm).norm)
    return _primitive(function, norm)


def listened() -> set[Method]:
    """Return what is recorded, among loaded modules: classes, each with the name of one of its methods.

    >>> from discreet.mechanisms import Laplace
    >>> (Laplace, "release") in listened()
    True
    """
    return set(_readers())


# -- reading calls ----------------------------------------------------------------------------------------------


def _release(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def release(mechanism: Any, *given: Any, **named: Any) -> Any:
        make, tape = functools.partial(original, mechanism, *given, **named), running.get()
        exact = next(iter((*given, *named.values())), None)
        if tape is None or not isinstance(exact, Exact | ExactByKey):
            return make()
        beside = _arguments(given[1:], {name: part for name, part in named.items() if part is not exact})
        call = _call(mechanism, "release", exact, beside)
        if isinstance(mechanism, NoisyThreshold):
            call = replace(call, owner=tape.number(mechanism), losses=_losses(mechanism.mechanism))
        return tape.meet(call, make)

    return release


def _ask(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def ask(run: Run, exact: Exact) -> Any:
        tape = running.get()
        if tape is None or not isinstance(exact, Exact):
            return original(run, exact)
        call = replace(_call(run.mechanism, "ask", exact), owner=tape.number(run))
        # The number of positives left is public: a run that is answered from the tape keeps counting.
        answer, left = tape.meet(call, lambda: (original(run, exact), run.left))
        run.lower(left)
        return answer

    return ask


def _charge(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def charge(session: Session, loss: Any) -> Any:
        tape = running.get()
        if tape is None or not isinstance(loss, Loss):
            return original(session, loss)
        call = Call(what="Session.charge", parameters={"loss": loss}, owner=tape.number(session), losses=(loss,))
        return tape.meet(call, lambda: original(session, loss), live=True)

    return charge


def _primitive(function: Callable[..., Any], norm: Norm) -> Callable[..., Any]:
    @functools.wraps(function)
    def marked(value: Any, *given: Any, sensitivity: Any, **named: Any) -> Any:
        make, tape = functools.partial(function, value, *given, sensitivity=sensitivity, **named), running.get()
        if tape is None:
            return make()
        call = Call(
            what=function.__name__,
            parameters=_arguments(given, named),
            value=copied(value),
            declared=Bound(_number(sensitivity), norm),
            losses=_pure(named.get("epsilon")),
        )
        return tape.meet(call, make)

    return marked


def _call(mechanism: Any, method: str, exact: Exact | ExactByKey, beside: dict[str, Any] | None = None) -> Call:
    return Call(
        what=f"{type(mechanism).__name__}.{method}",
        parameters={"mechanism": mechanism, **(beside or {})},
        value=opened(exact),
        declared=exact.sensitivity,
        losses=_losses(mechanism),
    )


def _losses(mechanism: Any) -> tuple[Loss, ...]:
    """Return what one release costs: `loss`, or several `losses` that are charged together."""
    single = getattr(mechanism, "loss", None)
    return tuple(getattr(mechanism, "losses", ())) if single is None else (single,)


def _arguments(given: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments beside the exact value: parameters, which may not depend on the data."""
    numbered = {f"argument {i}": glimpse(part) for i, part in enumerate(given, start=2)}
    return numbered | {name: glimpse(part) for name, part in named.items()}


def _number(sensitivity: Any) -> Any:
    """Return the sensitivity as a value that equals itself: NaN does not."""
    single = isinstance(sensitivity, np.ndarray | np.generic) and sensitivity.size == 1
    plain = sensitivity.item() if single else sensitivity
    if isinstance(plain, np.generic):  # item() does not convert a long double
        plain = exactly(plain)
    return plain if isinstance(plain, int | float | Fraction | Decimal) and plain == plain else glimpse(plain)


def _pure(epsilon: Any) -> tuple[Loss, ...]:
    try:
        return () if epsilon is None else (Pure(epsilon),)
    except (DiscreetError, TypeError):
        return ()


# -- wrapping methods -------------------------------------------------------------------------------------------


@contextmanager
def _listening(tape: Tape) -> Iterator[Tape]:
    token = running.set(tape)
    try:
        with wrapped(), noise.deterministic(tape.seed):
            yield tape
    finally:
        running.reset(token)


@contextmanager
def wrapped() -> Iterator[None]:
    """Wrap the recorded methods. Blocks may be nested: the first one wraps, and the last one restores.

    >>> from discreet.mechanisms import Laplace
    >>> release = Laplace.release
    >>> with wrapped():
    ...     Laplace.release is release
    False
    >>> Laplace.release is release
    True
    """
    global _blocks, _modules
    with _wrapping:
        _blocks += 1
        if _blocks == 1 or _modules != len(sys.modules):  # searching takes longer than most computations
            _modules = len(sys.modules)
            _wrap()
    try:
        yield
    finally:
        with _wrapping:
            _blocks -= 1
            if not _blocks:
                while _originals:
                    (owner, name), original = _originals.popitem()
                    setattr(owner, name, original)


def _wrap() -> None:
    for (owner, name), reader in _readers().items():
        if (owner, name) not in _originals:
            _originals[owner, name] = vars(owner)[name]
            setattr(owner, name, reader(vars(owner)[name]))


def _readers() -> dict[Method, Callable[[Any], Any]]:
    releasing = {kind for kind in _heirs(_loaded()) if inspect.isfunction(vars(kind).get("release"))}
    asking = {kind for kind in _heirs({Run}) if "ask" in vars(kind)}
    return {
        **{(kind, "release"): _release for kind in releasing - {Mechanism}},
        **{(kind, "ask"): _ask for kind in asking},
        (Session, "charge"): _charge,
    }


def _loaded() -> set[type]:
    ours = [module for name, module in list(sys.modules.items()) if name.split(".")[0] == "discreet"]
    return {thing for module in ours for thing in vars(module).values() if _is_ours(thing)}


def _is_ours(thing: object) -> bool:
    if not isinstance(thing, type) or issubclass(thing, type):
        return False
    return thing.__module__.split(".")[0] == "discreet"


def _heirs(kinds: set[type]) -> set[type]:
    every, new = set(kinds), set(kinds)
    while new:
        found: list[list[type]] = [kind.__subclasses__() for kind in new]
        new = set(chain.from_iterable(found)) - every
        every |= new
    return every
