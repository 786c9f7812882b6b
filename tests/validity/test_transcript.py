"""The transcript: it survives kills and restarts, is shared by processes, and belongs to one holdout."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import noise
from discreet.errors import BudgetExceeded, DiscreetError, ParameterError
from discreet.kernel.journal import HOLDOUT, Journal
from discreet.validity import ReusableHoldout

X = np.random.default_rng(1).normal(size=(4000, 2))
Y = (X[:, 0] > 0).astype(int)


def opened(path: Path, method: str = "guess_and_check", **changes: Any) -> ReusableHoldout:
    given = {"queries": 60, "width": 1.0, "overfits": 3, **changes}
    return ReusableHoldout(X, Y, method=method, path=path, **given)


@pytest.mark.parametrize("method", ["guess_and_check", "ladder", "split", "gaussian", "thresholdout"])
def test_a_restart_goes_on_where_it_was(tmp_path: Path, method: str) -> None:
    with opened(tmp_path / "a.holdout", method) as first:
        for guess in (0.5, 0.95):
            first.check(X[:, 1] > 0, guess, name=f"guess {guess}")
        before, width = first.answers, first.width
    with opened(tmp_path / "a.holdout", method) as again:
        assert again.answers == before
        assert again.width == width
        assert again.check(X[:, 0] > 0, 0.5).number == 3


def test_a_noisy_threshold_is_drawn_once_whoever_asks(tmp_path: Path) -> None:
    """A threshold drawn again after each restart would give the analyst fresh noise for the same test."""
    with noise.deterministic(1), opened(tmp_path / "a.holdout", "thresholdout") as first:
        first.check(X[:, 1] > 0, 0.5)
    with noise.deterministic(2), opened(tmp_path / "a.holdout", "thresholdout") as again:
        again.check(X[:, 1] > 0, 0.5)
    journal = Journal.share(tmp_path / "a.holdout", HOLDOUT)
    assert [record["begin"] for record in journal.begun.values()] == ["run", "run", "check", "check"]
    journal.close()


def test_an_overfit_is_used_up_after_a_restart_too(tmp_path: Path) -> None:
    """A guard that forgets its alarms corrects guesses without end."""
    rows = np.ones(100_000)
    terms: dict[str, Any] = {
        "method": "thresholdout",
        "queries": 20,
        "overfits": 1,
        "path": tmp_path / "a.holdout",
    }
    with noise.deterministic(1), ReusableHoldout(rows.reshape(-1, 1), rows, **terms) as first:
        assert first.check(rows * 0.5, 0.95).source == "holdout"
    with noise.deterministic(2), ReusableHoldout(rows.reshape(-1, 1), rows, **terms) as again:
        with pytest.raises(BudgetExceeded, match="would widen all intervals"):
            again.check(rows * 0.5, 0.05)
        assert len(again.answers) == 1


def test_a_question_that_was_killed_counts_as_asked(tmp_path: Path) -> None:
    """An analyst who kills the process when an answer is bad would else ask for free."""
    script = f"""
import os, signal
import numpy as np
from discreet.validity import ReusableHoldout
from discreet.kernel.journal import Journal
X = np.random.default_rng(1).normal(size=(4000, 2))
guard = ReusableHoldout(X, (X[:, 0] > 0).astype(int), method="guess_and_check", queries=60, width=1.0, overfits=3,
                        path={str(tmp_path / "a.holdout")!r})
guard.check(X[:, 1] > 0, 0.5)
Journal.end = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
guard.check(X[:, 1] > 0, 0.95)
"""
    killed = subprocess.run([sys.executable, "-c", script], env={**os.environ}, check=False)
    assert killed.returncode == -signal.SIGKILL
    with opened(tmp_path / "a.holdout") as guard:
        assert (guard.asked, len(guard.answers)) == (2, 1)
        assert guard.check(X[:, 1] > 0, 0.5).number == 2


def test_a_torn_line_is_cut_off_and_nothing_else_is_lost(tmp_path: Path) -> None:
    with opened(tmp_path / "a.holdout") as guard:
        guard.check(X[:, 1] > 0, 0.5)
    whole = (tmp_path / "a.holdout").read_bytes()
    (tmp_path / "a.holdout").write_bytes(whole + b"0123456789abcdef {torn")
    with opened(tmp_path / "a.holdout") as guard:
        assert len(guard.answers) == 1
        guard.check(X[:, 1] > 0, 0.5)
    changed = whole.replace(b"statistic", b"statistik", 1)
    (tmp_path / "a.holdout").write_bytes(changed)
    with pytest.raises(DiscreetError, match="changed in line"):
        opened(tmp_path / "a.holdout")


def _ask(path: Path, times: int) -> None:
    with opened(path) as guard:
        for _ in range(times):
            guard.check(X[:, 1] > 0, 0.5)


def test_two_processes_share_one_transcript(tmp_path: Path) -> None:
    """Without the lock, or with a stale state, two questions would have the same number and share of β."""
    path = tmp_path / "a.holdout"  # made by the first of them
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_ask, args=(path, 25)) for _ in range(2)]
    for worker in workers:
        worker.start()
    with opened(path) as guard:
        for _ in range(25):
            guard.check(X[:, 1] > 0, 0.5)
        for worker in workers:
            worker.join()
        assert [worker.exitcode for worker in workers] == [0, 0]
        assert guard.asked == len(guard.answers) == 75
        lows = [answer.low for answer in guard.answers]
        assert lows == sorted(lows, reverse=True)  # each is wider than those before it
        assert len(set(lows)) == 75
    assert [file.name for file in tmp_path.iterdir()] == ["a.holdout"]


def test_two_guards_in_one_process_see_each_other(tmp_path: Path) -> None:
    with opened(tmp_path / "a.holdout", "ladder") as one, opened(tmp_path / "a.holdout", "ladder") as other:
        one.check(X[:, 0] > 0)
        assert other.asked == 1
        assert other.check(X[:, 1] > 2).number == 2
        assert one.corrected == other.corrected


def test_a_transcript_of_other_rows_is_refused(tmp_path: Path) -> None:
    opened(tmp_path / "a.holdout").close()
    other = X.copy()
    other[7, 1] += 1e-9
    with pytest.raises(ParameterError, match="belongs to another holdout"):
        ReusableHoldout(
            other, Y, method="guess_and_check", queries=60, overfits=3, width=1.0, path=tmp_path / "a.holdout"
        )
    with pytest.raises(ParameterError, match="begun with another queries"):
        opened(tmp_path / "a.holdout", queries=61)
    with pytest.raises(ParameterError, match="begun with another confidence"):
        opened(tmp_path / "a.holdout", confidence="0.9")


def test_the_file_is_for_its_owner_and_shows_no_row(tmp_path: Path) -> None:
    opened(tmp_path / "a.holdout").close()
    opened(tmp_path / "b.holdout").close()
    assert (tmp_path / "a.holdout").stat().st_mode & 0o077 == 0
    one, other = (Journal.share(tmp_path / name, HOLDOUT) for name in ("a.holdout", "b.holdout"))
    assert one.header["mark"] != other.header["mark"]  # salted: two transcripts of one holdout do not show it
    one.close()
    other.close()


def test_a_file_that_disappears_is_noticed(tmp_path: Path) -> None:
    with opened(tmp_path / "a.holdout") as guard:
        (tmp_path / "a.holdout").unlink()
        with pytest.raises(DiscreetError, match="was removed while it was open"):
            guard.check(X[:, 1] > 0, 0.5)


def test_a_shared_journal_is_written_in_turns_only(tmp_path: Path) -> None:
    opened(tmp_path / "a.holdout").close()
    journal = Journal.share(tmp_path / "a.holdout", HOLDOUT)
    with pytest.raises(DiscreetError, match="in turns only"):
        journal.end(0)
    journal.close()


def test_a_forked_child_does_not_go_on_with_its_parents_transcript(tmp_path: Path) -> None:
    guard = opened(tmp_path / "a.holdout")
    context = multiprocessing.get_context("fork")
    asked = context.Value("i", -1)

    def ask() -> None:
        try:
            guard.check(X[:, 1] > 0, 0.5)
        except DiscreetError:
            asked.value = 1

    child = context.Process(target=ask)
    child.start()
    child.join()
    assert asked.value == 1
    assert guard.asked == 0
    guard.close()
