"""The file of a survey: its bytes do not depend on the order of arrivals, and no kill splits a change."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.serve.survey.tally import Tally

CELLS = 3


def use(number: int) -> bytes:
    return hashlib.sha256(str(number).encode()).digest()[:16]


def add(tally: Tally, numbers: list[int]) -> None:
    state = np.bincount([number % CELLS for number in numbers], minlength=CELLS).astype(np.int64)
    with tally.locked():
        tally.add({str(number).encode(): use(number) for number in numbers}, len(numbers), state)


def empty(folder: Path, name: str = "empty") -> Path:
    with Tally(folder / name, CELLS).locked():
        return folder / name


def bytes_after(start: Path, batches: list[list[int]]) -> dict[str, bytes]:
    """Return all files of a tally that began as a copy of another one and was given batches, one after another."""
    with TemporaryDirectory(dir=start.parent) as place:
        copy = Path(place) / "copy"
        shutil.copy(start, copy)
        tally = Tally(copy, CELLS)
        for batch in batches:
            add(tally, batch)
        return {path.name: path.read_bytes() for path in Path(place).iterdir()}


@settings(deadline=None, max_examples=12)
@given(st.sets(st.integers(0, 10**6), min_size=40, max_size=110), st.permutations(range(110)), st.integers(1, 9))
def test_two_orders_of_arrival_leave_the_same_bytes(numbers: set[int], order: list[int], size: int) -> None:
    """The bug it would catch: an order, by which a report is matched with the code that arrived just before."""
    with TemporaryDirectory() as place:
        start = empty(Path(place))
        one = sorted(numbers)
        other = [one[place] for place in order if place < len(one)]
        each = bytes_after(start, [[number] for number in one])
        assert bytes_after(start, [[number] for number in other]) == each
        together = bytes_after(start, [other[i : i + size] for i in range(0, len(other), size)])
        assert together["copy"] == each["copy"]
        assert not any(each["copy.redo"])


def test_every_entry_is_found_and_no_other(tmp_path: Path) -> None:
    """Sixteen thousand entries, past the last place of smaller tables, and the table is as long as it says."""
    tally, numbers = Tally(tmp_path / "t", CELLS), list(range(16_000))
    for at in range(0, len(numbers), 1000):
        add(tally, numbers[at : at + 1000])
    again = Tally(tmp_path / "t", CELLS)
    with again.locked():
        assert (again.reports, again.entries) == (16_000, 16_000)
        assert again.counts().tolist() == np.bincount(np.array(numbers) % CELLS).tolist()
        assert all(again.find(str(number).encode()) == use(number) for number in numbers)
        assert not any(again.find(str(number).encode()) for number in range(16_000, 20_000))


def test_a_change_that_was_cut_off_is_made_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill before, amid and after the places are written. The bug: a code used without its report, or twice."""
    start = empty(tmp_path)
    wanted = bytes_after(start, [[1, 2, 3], [4]])["copy"]
    apply = Tally._apply

    def killed_at(count: int) -> bytes:
        tally = Tally(Path(shutil.copy(start, tmp_path / f"killed{count}")), CELLS)
        add(tally, [1, 2, 3])

        def some(self: Tally, patches: list[tuple[int, bytes]]) -> None:
            apply(self, patches[:count])
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(Tally, "_apply", some)
            with pytest.raises(KeyboardInterrupt):
                add(tally, [4])
        with Tally(tally._path, CELLS).locked():
            return Path(tally._path).read_bytes()

    assert [killed_at(count) for count in range(4)] == [wanted] * 4
    half = Tally(Path(shutil.copy(start, tmp_path / "half")), CELLS)
    add(half, [1])
    half._redo.write_bytes((100).to_bytes(8, "little") + b"x" * 60)  # killed while the redo was written
    with Tally(half._path, CELLS).locked():
        assert half._path.read_bytes() == bytes_after(start, [[1]])["copy"]


def test_a_change_that_was_made_is_not_made_again_after_the_table_grew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A redo that a power failure brought back is of other places."""
    start = empty(tmp_path)
    tally = Tally(Path(shutil.copy(start, tmp_path / "t")), CELLS)
    kept, apply = list[bytes](), Tally._apply

    def noted(self: Tally, patches: list[tuple[int, bytes]]) -> None:
        kept.append(self._redo.read_bytes())
        apply(self, patches)

    monkeypatch.setattr(Tally, "_apply", noted)
    for number in range(60):
        add(tally, [number])
    tally._redo.write_bytes(kept[40])
    with Tally(tally._path, CELLS).locked():
        assert tally._path.read_bytes() == bytes_after(start, [list(range(60))])["copy"]


def test_a_tally_is_locked_for_other_servers(tmp_path: Path) -> None:
    tally = Tally(tmp_path / "t", CELLS)
    with tally.locked(), (tmp_path / "t.lock").open("rb") as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)


def test_two_servers_see_what_the_other_added(tmp_path: Path) -> None:
    one, other = Tally(tmp_path / "t", CELLS), Tally(tmp_path / "t", CELLS)
    for number in range(100):  # the table grows meanwhile, in another file of the same name
        add(one if number % 2 else other, [number])
    with one.locked():
        assert one.entries == 100
        assert one.find(b"0") == use(0)
