"""Attack a session: make it grant more than its budget.

A session promises that the charges it grants add up to its budget at most, in the amount that adds up for its
kind (ε, ρ or μ²). Every attempt below opens a fresh session, charges it in some unfriendly way, and adds up
*exactly* what was granted. More than the whole, by however little, is a leak: what is granted once too often can
be granted so again.

* tiny charges, after charges that make up the budget or fall just short of it, which sums of floats lose;
* threads that charge the last part at once, each with a pause before every line, where others may come between;
* copies and pickles of the session, each with a budget of its own;
* charges that are refused, and then the whole budget once more;
* charges below zero, of zero or of NaN, which may give back what was spent;
* if asked (`processes=True`), a forked child that spends as well. What lives in memory cannot refuse that, and
  `privacy.Session` does not claim to; what keeps its books on a disk must.

A refusal, whatever exception it is, never leaks. That a session refuses to spend its budget exactly, or lets a
refused charge cost something, is said in words, but it is caught for neither.

Whether a sum is the right thing to compare with the budget when the next step depends on the last answer is
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
    """What is attacked: something that takes charges, and raises when it refuses one."""

    def charge(self, loss: Any, /) -> Any:
        """Pay for one step."""
        ...


Step: TypeAlias = Callable[[Any], Any]
"""Writes a charge of an amount (ε, ρ or μ²) the way the session takes it."""

# Shares of the budget. All are squares of fractions, so that μ-GDP can write a step of μ²·share: 3² + 4² = 5².
_PART, _REST, _WHOLE = Fraction(9, 25), Fraction(16, 25), Fraction(1)


class _Purse:
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

    def take(self, share: Fraction | float, times: int = 1, *, of: Chargeable | None = None) -> bool:
        """Charge so many steps of a share of the budget; tell whether all were granted."""
        try:
            loss = self.written(share)
        except Exception:
            return False  # there is no such step: refused before it was asked for
        return all(self.pay(loss, share, of or self.session) for _ in range(times))

    def pay(self, loss: Any, share: Fraction | float, session: Chargeable) -> bool:
        try:
            session.charge(loss)
        except Exception:
            return False
        if share > 0:
            self._granted.append(Fraction(share))  # one step, which no other thread divides
        return True

    def written(self, share: Fraction | float) -> Any:
        return _record(self._budget, share) if self._step is None else self._step(_total(self._budget) * share)


Attempt: TypeAlias = Callable[[Callable[[], _Purse]], Iterator[str]]
"""Opens purses, and says what it was granted beyond the budget."""


def attack(
    make_session: Callable[[Any], Chargeable],
    *,
    budget: Budget = Pure(1),  # noqa: B008  # a frozen record
    step: Step | None = None,
    processes: bool = False,
    name: str = "the session",
) -> Verdict:
    """Try to be granted more than `budget` by `make_session(budget)`, in all the ways above.

    Charges are records of the budget's kind; `step(amount)` writes them otherwise, for sessions that take numbers.

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

    def open_purse() -> _Purse:
        return _Purse(make_session, budget, step)

    attempts: list[Attempt] = [_tiny_charges, _threads, _copies, _after_a_refusal, _gifts]
    leaks = [leak for attempt in [*attempts, *[_child] * processes] for leak in attempt(open_purse)]
    words = (
        [f"{name} grants more than its budget: {'; '.join(leaks)}."] if leaks else [f"{name} keeps its budget."]
    )
    return Verdict(
        attack="budget",
        caught=bool(leaks),
        words=" ".join([*words, *_remarks(open_purse)]),
        seconds=time.perf_counter() - started,
    )


# -- attempts -----------------------------------------------------------------------------------------------------

# Charges that leave nothing, or next to nothing: (share, how often).
_OPENINGS = {
    "the whole": (_WHOLE, 1),
    "a hundred hundredths": (Fraction(1, 100), 100),
    "all but 2⁻⁴⁹": ((1 - Fraction(1, 2**50)) ** 2, 1),
    # Next to 1 floats are 2⁻⁵³ apart. This one rounds away a quarter of it, to the session's loss.
    "all but 3·2⁻⁵⁵": ((1 - Fraction(3, 2**56)) ** 2, 1),
}
# Below the distance of floats near 1; much below; the least subnormal float; nothing at all, to a float. When the
# first is refused, less than 1024 of the second are left: eleven hundred are too many.
_TINY = {
    Fraction(1, 2**56): 200,
    Fraction(1, 2**66): 1100,
    Fraction(1, 2**1074): 20,
    Fraction(1, 2**1100): 20,
}


def _tiny_charges(open_purse: Callable[[], _Purse]) -> Iterator[str]:
    for opening, (share, times) in _OPENINGS.items():
        purse = open_purse()
        purse.take(share, times)
        for tiny, most in _TINY.items():
            purse.take(tiny, most)
            if purse.overspent:
                yield f"after {opening}, charges of 2^-{tiny.denominator.bit_length() - 1} went on"
                return


# One round finds a session without a lock in more than 99 of 100 cases (measured), six practically always.
_ROUNDS, _CROWD, _PAUSES = 6, 4, 200


def _threads(open_purse: Callable[[], _Purse]) -> Iterator[str]:
    for _ in range(_ROUNDS):
        purse = open_purse()
        purse.take(_PART)
        _all_at_once(purse, _REST)
        if purse.overspent:
            yield f"threads that charged its last {_REST} at once were granted {purse.granted} of it in all"
            return


def _all_at_once(purse: _Purse, share: Fraction) -> None:
    start = threading.Barrier(_CROWD)
    loss = purse.written(share)

    def charge() -> None:
        start.wait()
        sys.settrace(_pausing())  # holds for this thread, which ends with it
        purse.pay(loss, share, purse.session)

    crowd = [threading.Thread(target=charge) for _ in range(_CROWD)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()


def _pausing() -> Callable[[FrameType, str, Any], Any]:
    """Let other threads run before every line: what may happen once in a million charges happens now."""
    left = _PAUSES

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left
        if left and event == "line":
            left -= 1
            time.sleep(1e-6)
        return trace

    return trace


def _copies(open_purse: Callable[[], _Purse]) -> Iterator[str]:
    for way, duplicate in DUPLICATES.items():
        purse = open_purse()
        try:
            twin = duplicate(purse.session)
        except Exception:
            continue  # refused, as it should be
        purse.take(_WHOLE)
        purse.take(_WHOLE, of=twin)
        if purse.overspent:
            yield f"{way} of it can spend the same budget again"
            return


def _after_a_refusal(open_purse: Callable[[], _Purse]) -> Iterator[str]:
    purse = open_purse()
    for share in (_PART, _WHOLE, _REST, _WHOLE, _WHOLE, _PART):
        purse.take(share)
    if purse.overspent:
        yield f"charges that it should have refused were granted, {purse.granted} of it in all"


def _gifts(open_purse: Callable[[], _Purse]) -> Iterator[str]:
    for gift in (-_WHOLE, Fraction(0), math.nan, -math.inf):
        purse = open_purse()
        purse.take(_WHOLE)
        purse.take(gift)
        purse.take(_WHOLE)
        if purse.overspent:
            yield f"it was spent again after a charge of {gift} times the budget"


def _child(open_purse: Callable[[], _Purse]) -> Iterator[str]:
    purse = open_purse()
    if in_child(lambda: purse.take(_WHOLE)) and purse.take(_WHOLE):
        yield "a forked child and its parent each spent it"


# -- what is no leak, but worth a word ----------------------------------------------------------------------------


def _remarks(open_purse: Callable[[], _Purse]) -> Iterator[str]:
    if not open_purse().take(Fraction(1, 100), 100):
        yield "It refuses a hundred charges that make up exactly its budget: safe, but a waste."
    purse = open_purse()
    if purse.take(_PART) and not purse.take(_WHOLE) and not purse.take(_REST):
        yield "A refused charge costs something, or the exact rest is refused: safe, but a waste."


def _total(budget: Budget) -> Fraction:
    match budget:
        case Pure():
            return budget.epsilon
        case ZeroConcentrated():
            return budget.rho
        case GaussianDP():
            return budget.mu**2


def _record(budget: Budget, share: Fraction | float) -> Loss:
    """The share as a record of the budget's kind, which refuses by itself what is below zero or no number."""
    match budget:
        case Pure():
            return Pure(budget.epsilon * share)
        case ZeroConcentrated():
            return ZeroConcentrated(budget.rho * share)
        case GaussianDP():
            return GaussianDP(budget.mu * _root(share))


def _root(share: Fraction | float) -> Fraction | float:
    """The root of a share; a gift, which has none, stays what it is."""
    if isinstance(share, Fraction) and share >= 0:
        return Fraction(math.isqrt(share.numerator), math.isqrt(share.denominator))
    return share
