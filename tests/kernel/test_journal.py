"""The journal: exclusive for an oracle, shared in turns by holdouts, and sound after a crash."""

from __future__ import annotations

import threading
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.errors import BudgetExceeded, DiscreetError, ParameterError
from discreet.kernel.journal import HOLDOUT, ORACLE, Journal


def made(path: Path, rho: int = 1) -> Journal:
    return Journal.create(path, rho=Fraction(rho), facts={}, kind=HOLDOUT).shared()


def test_an_exclusive_journal_has_one_holder(tmp_path: Path) -> None:
    held = Journal.create(tmp_path / "a", rho=Fraction(1), facts={})
    with pytest.raises(DiscreetError, match="in use by another process"):
        Journal.open(tmp_path / "a")
    held.close()
    Journal.open(tmp_path / "a").close()


def test_turns_see_what_others_wrote_and_share_one_budget(tmp_path: Path) -> None:
    one = made(tmp_path / "a")
    other = Journal.share(tmp_path / "a")
    with one.turn():
        one.end(one.begin("step", Fraction(3, 4)), value=1)
    with other.turn() as news:
        assert len(news) == 2
        assert other.left == Fraction(1, 4)
        with pytest.raises(BudgetExceeded):
            other.begin("step", Fraction(1, 2))
    one.close()
    other.close()


def test_a_turn_waits_for_the_turn_before_it(tmp_path: Path) -> None:
    one, other = made(tmp_path / "a"), Journal.share(tmp_path / "a")
    order: list[str] = []

    def second() -> None:
        with other.turn() as news:
            order.append(f"second sees {len(news)}")

    with one.turn():
        waiting = threading.Thread(target=second)
        waiting.start()
        one.end(one.begin("step", Fraction(0)))
        order.append("first")
    waiting.join()
    assert order == ["first", "second sees 2"]
    one.close()
    other.close()


def test_a_line_that_another_process_tore_is_cut_off_in_the_next_turn(tmp_path: Path) -> None:
    one = made(tmp_path / "a")
    with (tmp_path / "a").open("ab") as file:
        file.write(b"torn")
    with one.turn() as news:
        assert news == []
        one.end(one.begin("step", Fraction(0)))
    one.close()
    again = Journal.share(tmp_path / "a")
    assert list(again.begun) == [0]
    again.close()


def test_the_journal_of_something_else_is_refused(tmp_path: Path) -> None:
    made(tmp_path / "a").close()
    with pytest.raises(ParameterError, match="not the journal of one oracle"):
        Journal.open(tmp_path / "a", ORACLE)
