from __future__ import annotations

import fcntl
import math
import sys
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

import pytest

from discreet.audit.attacks import overspending
from discreet.audit.attacks.overspending import Chargeable
from discreet.errors import BudgetExceeded
from discreet.privacy import GaussianDP, Pure, Session, ZeroConcentrated
from discreet.privacy.session import Budget


class Careful:
    """A session of numbers without a fault: the sessions below each have one fault."""

    def __init__(self, whole: Any):
        self.whole = Fraction(whole.epsilon)
        self.spent = Fraction(0)
        self.lock = threading.Lock()

    def charge(self, amount: Any) -> None:
        with self.lock:
            if not amount >= 0:
                raise ValueError(f"{amount} is not an amount.")
            if self.spent + self.cost(amount) > self.whole:
                self.refuse()
            self.spent += self.cost(amount)

    def cost(self, amount: Any) -> Fraction:
        return Fraction(amount)

    def refuse(self) -> NoReturn:
        raise BudgetExceeded("Too much.")

    def __reduce_ex__(self, protocol: object) -> Any:
        raise TypeError("One budget, one session.")


class Forgetful(Careful):
    """Does not count small charges."""

    def cost(self, amount: Any) -> Fraction:
        return Fraction(amount) if amount > 1e-15 else Fraction(0)


class InMinutes(Careful):
    """Rounds the smallest floats to zero."""

    def cost(self, amount: Any) -> Fraction:
        return Fraction(float(amount))


class Tolerant(Careful):
    """Has a little slack, so that divided budgets can be spent."""

    def __init__(self, whole: Any):
        super().__init__(whole)
        self.whole += Fraction(1, 10**15)


class RoundedWhenBooked(Careful):
    """Keeps the rest of the budget as a float; nothing else is inexact, and nothing is granted once it is zero."""

    def __init__(self, whole: Any):
        super().__init__(whole)
        self.left = float(self.whole)

    def charge(self, amount: Any) -> None:
        with self.lock:
            if not 0 <= amount <= self.left or self.left == 0:
                self.refuse()
            self.left = float(Fraction(self.left) - Fraction(amount))


class Hasty(Careful):
    """Checks, and then acts, without a lock."""

    def charge(self, amount: Any) -> None:
        if not 0 <= amount <= self.whole - self.spent:
            self.refuse()
        self.spent += Fraction(amount)


class HastyInFloats(Hasty):
    """The same without a call between check and act, where CPython hardly ever switches threads."""

    def __init__(self, whole: Any):
        super().__init__(whole)
        self.left = self.whole

    def charge(self, amount: Any) -> None:
        if not amount >= 0:
            self.refuse()
        left = self.left
        if amount > left:
            self.refuse()
        self.left = left - amount


class Copyable(Careful):
    def __copy__(self) -> Copyable:
        return Copyable(Pure(self.whole))


class DeeplyCopyable(Careful):
    def __deepcopy__(self, memo: object) -> DeeplyCopyable:
        return DeeplyCopyable(Pure(self.whole))


class Picklable(Careful):
    def __reduce_ex__(self, protocol: object) -> Any:
        return Picklable, (Pure(self.whole),)

    __copy__ = __deepcopy__ = Careful.__reduce_ex__


class Forgiving(Careful):
    """Takes the last charge back when it refuses one."""

    def refuse(self) -> NoReturn:
        self.spent -= min(self.spent, self.whole / 2)
        super().refuse()


class TakesGifts(Careful):
    def charge(self, amount: Any) -> None:
        with self.lock:
            if not amount <= self.whole - self.spent:
                self.refuse()
            self.spent += Fraction(amount) if math.isfinite(amount) else 0


class LosesItselfInNaN(Careful):
    def charge(self, amount: Any) -> None:
        with self.lock:
            if amount < 0 or amount > self.whole - self.spent:
                self.refuse()
            self.spent += amount


class Strict(Careful):
    """Refuses to spend the last of it."""

    def charge(self, amount: Any) -> None:
        if self.spent + amount == self.whole:
            self.refuse()
        super().charge(amount)


class Punishing(Careful):
    """Lets a refused charge cost something."""

    def refuse(self) -> NoReturn:
        self.spent = self.whole
        super().refuse()


class OnDisk:
    """Keeps its records in a file, which it locks while it checks and acts."""

    def __init__(self, whole: Pure, path: Path):
        self.path = path
        path.write_text(str(whole.epsilon))

    def charge(self, loss: Pure) -> None:
        with self.path.open("r+") as books:
            fcntl.flock(books, fcntl.LOCK_EX)
            left = Fraction(books.read()) - loss.epsilon
            if left < 0:
                raise BudgetExceeded("Too much.")
            books.seek(0)
            books.truncate()
            books.write(str(left))


def in_numbers(make_session: Callable[[Any], Chargeable]) -> Any:
    return overspending.attack(make_session, step=lambda amount: amount, name="it")


@pytest.mark.parametrize(
    "whole", [Pure(1), Pure("0.3"), ZeroConcentrated("0.02"), GaussianDP("1.5")], ids=lambda whole: str(whole)
)
def test_the_shipped_session_keeps_its_budget(whole: Budget) -> None:
    verdict = overspending.attack(Session, budget=whole, name="it")
    assert verdict.words == "it keeps its budget."
    assert not verdict.caught
    assert verdict.attack == "budget"
    assert verdict.confidence is None


def test_a_session_of_numbers_without_a_fault_passes() -> None:
    verdict = in_numbers(Careful)
    assert (verdict.caught, verdict.words) == (False, "it keeps its budget.")


@pytest.mark.parametrize(
    ("session", "leak"),
    [
        (Forgetful, "after all of it was spent, charges of 2^-56 were still granted"),
        (InMinutes, "after all of it was spent, charges of 2^-1100 were still granted"),
        (Tolerant, "after all of it was spent, charges of 2^-56 were still granted"),
        (RoundedWhenBooked, "after all but 3·2⁻⁵⁵ of it was spent, charges of 2^-56 were still granted"),
        (Hasty, "threads that charged the last 16/25 of it at once"),
        (HastyInFloats, "threads that charged the last 16/25 of it at once"),
        (Copyable, "a copy of the session can spend it again"),
        (DeeplyCopyable, "a deep copy of the session can spend it again"),
        (Picklable, "a pickle of the session can spend it again"),
        (Forgiving, "charges that should have been refused were granted"),
        (TakesGifts, "spent again after a charge of -1 times the budget"),
        (LosesItselfInNaN, "spent again after a charge of nan times the budget"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_every_fault_is_caught_by_its_attempt(session: type[Careful], leak: str) -> None:
    verdict = in_numbers(session)
    assert verdict.caught
    assert verdict.words.startswith("it grants more than its budget: ")
    assert leak in verdict.words


@pytest.mark.parametrize("session", [Copyable, DeeplyCopyable, Picklable, Hasty, HastyInFloats, LosesItselfInNaN])
def test_no_other_attempt_is_set_off_by_the_same_fault(session: type[Careful]) -> None:
    assert ";" not in in_numbers(session).words


@pytest.mark.parametrize("session", [Hasty, HastyInFloats])
def test_a_race_is_found_every_time(session: type[Careful]) -> None:
    assert all(in_numbers(session).caught for _ in range(10))


def test_a_session_that_refuses_everything_leaks_nothing_and_is_called_wasteful() -> None:
    class Refusing(Careful):
        def charge(self, amount: Any) -> None:
            raise RuntimeError("No.")

    verdict = in_numbers(Refusing)
    assert not verdict.caught
    assert "It refuses a hundred charges that add up to exactly its budget" in verdict.words


@pytest.mark.parametrize(
    ("session", "remark"),
    [
        (Strict, "It refuses a hundred charges that add up to exactly its budget"),
        (Punishing, "A refused charge costs something"),
    ],
)
def test_what_is_safe_but_wasteful_is_mentioned_and_not_caught(session: type[Careful], remark: str) -> None:
    verdict = in_numbers(session)
    assert not verdict.caught
    assert remark in verdict.words


def test_a_session_in_memory_is_spent_again_by_a_child_and_one_on_disk_is_not(tmp_path: Path) -> None:
    in_memory = overspending.attack(Session, processes=True)
    assert in_memory.caught
    assert "a forked child and its parent each spent it" in in_memory.words
    on_disk = overspending.attack(lambda whole: OnDisk(whole, tmp_path / "books"), processes=True, name="it")
    assert (on_disk.caught, on_disk.words) == (False, "it keeps its budget.")


def test_the_attack_leaves_no_trace_in_the_interpreter() -> None:
    before = sys.gettrace(), sys.getswitchinterval(), threading.active_count()
    overspending.attack(Session)
    assert (sys.gettrace(), sys.getswitchinterval(), threading.active_count()) == before
