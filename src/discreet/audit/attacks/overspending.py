"""Attack a session: make it grant more than its budget.

A session promises that the charges it grants add up to its budget at most, in the amount that adds up for its kind
(ε, ρ or μ²). Every attempt below opens a fresh session, charges it in a hostile way, and adds up *exactly* what
was granted. Any excess over the whole budget is a leak, however small: a session that grants too much once can do
it again.

* tiny charges, which sums of floats lose, after charges that add up to the budget or nearly to it;
* threads that charge the last part at the same time, each with a pause before every line, so that they interleave;
* copies and pickles of the session, each with a budget of its own;
* charges that are refused, and then the whole budget once more;
* charges below zero, of zero or of NaN, which may give back what was spent;
* with `processes=True`, a forked child that spends as well. A session in memory cannot refuse that, and
  `privacy.Session` does not claim to; a session that keeps its records on disk must.

A refusal never leaks, whatever the exception. The verdict remarks on a session that refuses to spend its budget
exactly, or that lets a refused charge cost something; neither counts as caught.

Whether a sum is the right quantity to compare with the budget, when the next step depends on the last answer, is
another question: see the exhibit `natural-filter` of the museum.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from types import FrameType
from typing import Any, Protocol, TypeAlias

from discreet.audit.attacks.randomness import DUPLICATES, in_child
from discreet.audit.report.verdict import Verdict
from discreet.privacy import GaussianDP, Pure, ZeroConcentrated
from discreet.privacy.losses import Loss
from discreet.privacy.session import Budget


class Chargeable(Protocol):
    """A session to attack: it takes charges, and raises when it refuses one."""

    def charge(self, loss: Any, /) -> Any:
        """Charge one step."""
        ...


Step: TypeAlias = Callable[[Any], Any]
"""Turns an amount (ε, ρ or μ²) into a charge that the session accepts."""

# Shares of the budget. All are squares of fractions, so that a step of μ²·share is a rational μ: 3² + 4² = 5².
_PART, _REST, _WHOLE = Fraction(9, 25), Fraction(16, 25), Fraction(1)


class _Tally:
    """A fresh session, and the exact share of its budget that it has granted so far."""

    def __init__(self, make_session: Callable[[Any], Chargeable], budget: Budget, step: Step | None):
        self.session = make_session(budget)
        self._budget, self._step = budget, step
        self._granted: list[Fraction] = []

    @property
    def granted(self) -> Fraction:
        return sum(self._granted, Fraction(0))

    @property
    def overspent(self) -> bool:
        return self.granted > 1

    def charge(self, share: Fraction | float, times: int = 1, *, of: Chargeable | None = None) -> bool:
        """Charge a share of the budget `times` times; return whether all charges were granted."""
        try:
            loss = self.loss_of(share)
        except Exception:
            return False  # such a step cannot be written, so it is refused before it is charged
        return all(self.charge_once(loss, share, of or self.session) for _ in range(times))

    def charge_once(self, loss: Any, share: Fraction | float, session: Chargeable) -> bool:
        try:
            session.charge(loss)
        except Exception:
            return False
        if share > 0:
            self._granted.append(Fraction(share))  # appending is atomic, so threads lose nothing
        return True

    def loss_of(self, share: Fraction | float) -> Any:
        return _record(self._budget, share) if self._step is None else self._step(_total(self._budget) * share)


Attempt: TypeAlias = Callable[[Callable[[], _Tally]], Iterator[str]]
"""Opens fresh sessions, and yields what it was granted beyond the budget."""


def attack(
    make_session: Callable[[Any], Chargeable],
    *,
    budget: Budget = Pure(1),  # noqa: B008  # a frozen record
    step: Step | None = None,
    processes: bool = False,
    name: str = "the session",
) -> Verdict:
    """Try to get more than `budget` from `make_session(budget)`, in all the ways above.

    Args:
        make_session: Opens a session with the budget that it is given.
        budget: The budget to exceed, ε = 1 by default.
        step: Turns an amount (ε, ρ or μ²) into a charge; by default charges are records of the budget's kind.
        processes: Also try a forked child that spends the same budget.
        name: The name of the session in the verdict.

    >>> from discreet.privacy import Session
    >>> attack(Session).caught
    False
    >>> class Generous:
    ...     def __init__(self, budget): ...
    ...     def charge(self, loss): ...
    >>> attack(Generous).caught
    True
    """
    started = time.perf_counter()

    def open_tally() -> _Tally:
        return _Tally(make_session, budget, step)

    attempts: list[Attempt] = [_tiny_charges, _threads, _copies, _after_a_refusal, _gifts]
    leaks = [leak for attempt in [*attempts, *[_child] * processes] for leak in attempt(open_tally)]
    words = (
        [f"{name} grants more than its budget: {'; '.join(leaks)}."] if leaks else [f"{name} keeps its budget."]
    )
    return Verdict(
        attack="budget",
        caught=bool(leaks),
        words=" ".join([*words, *_remarks(open_tally)]),
        seconds=time.perf_counter() - started,
    )


# -- attempts -----------------------------------------------------------------------------------------------------

# Charges that leave nothing of the budget, or next to nothing: (share, how often).
_OPENINGS = {
    "all of it": (_WHOLE, 1),
    "a hundred hundredths of it": (Fraction(1, 100), 100),
    "all but 2⁻⁴⁹ of it": ((1 - Fraction(1, 2**50)) ** 2, 1),
    # Just below 1 floats are 2⁻⁵³ apart, and rounding this share to a float loses a quarter of it.
    "all but 3·2⁻⁵⁵ of it": ((1 - Fraction(3, 2**56)) ** 2, 1),
}
# Below the distance of floats near 1; far below it; the least subnormal float; a share that a float rounds to 0.
# When the first is refused, less than 1024 of the second are left: eleven hundred are too many.
_TINY = {
    Fraction(1, 2**56): 200,
    Fraction(1, 2**66): 1100,
    Fraction(1, 2**1074): 20,
    Fraction(1, 2**1100): 20,
}


def _tiny_charges(open_tally: Callable[[], _Tally]) -> Iterator[str]:
    for opening, (share, times) in _OPENINGS.items():
        tally = open_tally()
        tally.charge(share, times)
        for tiny, most in _TINY.items():
            tally.charge(tiny, most)
            if tally.overspent:
                power = tiny.denominator.bit_length() - 1
                yield f"after {opening} was spent, charges of 2^-{power} were still granted"
                return


# Measured: one round catches a session without a lock in more than 99 of 100 cases, six rounds practically always.
_ROUNDS, _CROWD, _PAUSES = 6, 4, 200


def _threads(open_tally: Callable[[], _Tally]) -> Iterator[str]:
    for _ in range(_ROUNDS):
        tally = open_tally()
        tally.charge(_PART)
        _all_at_once(tally, _REST)
        if tally.overspent:
            yield f"threads that charged the last {_REST} of it at once got {tally.granted} of it in total"
            return


def _all_at_once(tally: _Tally, share: Fraction) -> None:
    start = threading.Barrier(_CROWD)
    loss = tally.loss_of(share)

    def charge() -> None:
        start.wait()
        sys.settrace(_pausing())  # applies to this thread only, which ends here
        tally.charge_once(loss, share, tally.session)

    crowd = [threading.Thread(target=charge) for _ in range(_CROWD)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()


def _pausing() -> Callable[[FrameType, str, Any], Any]:
    """Let other threads run before every line, so that a race that is rare in practice happens here."""
    left = _PAUSES

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left
        if left and event == "line":
            left -= 1
            time.sleep(1e-6)
        return trace

    return trace


def _copies(open_tally: Callable[[], _Tally]) -> Iterator[str]:
    for way, duplicate in DUPLICATES.items():
        tally = open_tally()
        try:
            twin = duplicate(tally.session)
        except Exception:
            continue  # refused, as it should be
        tally.charge(_WHOLE)
        tally.charge(_WHOLE, of=twin)
        if tally.overspent:
            yield f"{way} of the session can spend it again"
            return


def _after_a_refusal(open_tally: Callable[[], _Tally]) -> Iterator[str]:
    tally = open_tally()
    for share in (_PART, _WHOLE, _REST, _WHOLE, _WHOLE, _PART):
        tally.charge(share)
    if tally.overspent:
        yield f"charges that should have been refused were granted, {tally.granted} of it in total"


def _gifts(open_tally: Callable[[], _Tally]) -> Iterator[str]:
    for gift in (-_WHOLE, Fraction(0), math.nan, -math.inf):
        tally = open_tally()
        tally.charge(_WHOLE)
        tally.charge(gift)
        tally.charge(_WHOLE)
        if tally.overspent:
            yield f"it could be spent again after a charge of {gift} times the budget"


def _child(open_tally: Callable[[], _Tally]) -> Iterator[str]:
    tally = open_tally()
    if in_child(lambda: tally.charge(_WHOLE)) and tally.charge(_WHOLE):
        yield "a forked child and its parent each spent it"


# -- remarks on what is not a leak --------------------------------------------------------------------------------


def _remarks(open_tally: Callable[[], _Tally]) -> Iterator[str]:
    if not open_tally().charge(Fraction(1, 100), 100):
        yield "It refuses a hundred charges that add up to exactly its budget: safe, but wasteful."
    tally = open_tally()
    if tally.charge(_PART) and not tally.charge(_WHOLE) and not tally.charge(_REST):
        yield "A refused charge costs something, or the exact rest is refused: safe, but wasteful."


def _total(budget: Budget) -> Fraction:
    match budget:
        case Pure():
            return budget.epsilon
        case ZeroConcentrated():
            return budget.rho
        case GaussianDP():
            return budget.mu**2


def _record(budget: Budget, share: Fraction | float) -> Loss:
    """Return the share as a record of the budget's kind; the record refuses negative numbers and NaN."""
    match budget:
        case Pure():
            return Pure(budget.epsilon * share)
        case ZeroConcentrated():
            return ZeroConcentrated(budget.rho * share)
        case GaussianDP():
            return GaussianDP(budget.mu * _root(share))


def _root(share: Fraction | float) -> Fraction | float:
    """Return the root of a share; a share without a root (negative, or a float) is returned as it is."""
    if isinstance(share, Fraction) and share >= 0:
        return Fraction(math.isqrt(share.numerator), math.isqrt(share.denominator))
    return share
