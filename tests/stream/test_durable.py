"""Durable streams: after SIGKILL everything that was seen is there, and damage is refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet import noise
from discreet.errors import DiscreetError, NotForRelease, ParameterError
from discreet.stream import Alert, Counter, Distinct, Histogram, Quantiles, Windowed

PRICE: dict[str, Any] = {"epsilon": 1, "delta": "1e-9"}
SCRIPT = """
import sys
from discreet.stream import Counter
counter = Counter(epsilon=1, delta="1e-9", horizon=100_000, path=sys.argv[1], pan_private=sys.argv[2] == "pan")
print("ready", flush=True)
while True:
    counter.add(7)
    if counter.tick % 3 == 0:
        print(counter.tick, repr(counter.value.value), flush=True)
"""


@pytest.mark.parametrize("kind", ["plain", "pan"])
def test_after_sigkill_every_value_that_was_seen_is_still_the_value(tmp_path: Path, kind: str) -> None:
    """Killed three times, each time in the middle of its work: a seen tick never gets noise a second time."""
    place, last = tmp_path / "visits.stream", 0
    for _ in range(3):
        command = [sys.executable, "-c", SCRIPT, str(place), kind]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            seen = [process.stdout.readline().split() for _ in range(15)]
            process.send_signal(signal.SIGKILL)
            seen += [line.split() for line in process.stdout.read().splitlines() if len(line.split()) == 2]
        assert [int(tick) for tick, _ in seen] == sorted({int(tick) for tick, _ in seen})
        assert int(seen[0][0]) > last, "no tick is seen twice"
        with Counter(**PRICE, horizon=100_000, path=place, pan_private=kind == "pan") as counter:
            assert counter.tick >= int(seen[-1][0])
            if counter.tick == int(seen[-1][0]):
                assert repr(counter.value.value) == seen[-1][1]
            last = counter.tick


def test_a_restart_goes_on_as_if_there_had_been_none(tmp_path: Path) -> None:
    """With the same bits: the state holds all noise that was drawn and not yet used."""
    counts = list(range(30))
    with noise.deterministic(9):
        whole = Counter(**PRICE, horizon=100).extend(counts).estimate.values
    with noise.deterministic(9), Counter(**PRICE, horizon=100, path=tmp_path / "a.stream") as first:
        before = first.extend(counts[:15]).estimate.values
    with noise.deterministic(10), Counter(**PRICE, horizon=100, path=tmp_path / "a.stream") as second:
        assert second.tick == 15
        after = second.extend(counts[15:]).estimate.values  # within the noise that was drawn ahead
    assert (*before, *after) == pytest.approx(whole)


MAKERS: dict[str, Any] = {
    "counter": lambda path: Counter(**PRICE, horizon=64, path=path),
    "without end": lambda path: Counter(**PRICE, path=path),
    "tree": lambda path: Counter(epsilon=1, horizon=64, path=path),
    "pan": lambda path: Counter(epsilon=1, horizon=64, pan_private=True, path=path),
    "histogram": lambda path: Histogram(["a", "b"], **PRICE, horizon=64, path=path),
    "window": lambda path: Windowed(5, **PRICE, path=path),
    "quantiles": lambda path: Quantiles([0, 1, 2], **PRICE, horizon=64, path=path),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_every_kind_of_stream_is_opened_again_where_it_was(tmp_path: Path, kind: str) -> None:
    def fed(stream: Any) -> None:
        for count in (3, 4, 5, 6, 7, 8, 9):
            stream.add({"a": count} if kind == "histogram" else [0.5] * count if kind == "quantiles" else count)

    with MAKERS[kind](tmp_path / "s.stream") as stream:
        fed(stream)
        before = stream.value
    content = (tmp_path / "s.stream").read_bytes()
    MAKERS[kind](tmp_path / "s.stream").close()
    assert (tmp_path / "s.stream").read_bytes() == content, "all noise that was used and is to come is read again"
    with MAKERS[kind](tmp_path / "s.stream") as stream:
        assert stream.tick == 7
        assert stream.value == before
        fed(stream)
    with MAKERS[kind](tmp_path / "s.stream") as stream:
        assert stream.tick == 14
    assert (tmp_path / "s.stream").stat().st_mode & 0o077 == 0


def test_distinct_users_are_kept_with_the_releases_that_were_made(tmp_path: Path) -> None:
    with Distinct(64, epsilon=2, releases=2, path=tmp_path / "d.stream") as users:
        users.add(["a", "b"])
        users.release()
        look = users.look()
    with Distinct(64, epsilon=2, releases=2, path=tmp_path / "d.stream") as users:
        assert users.left == 1
        assert users.look() == look


def test_a_file_of_other_terms_or_with_damage_is_refused_and_left_alone(tmp_path: Path) -> None:
    place = tmp_path / "a.stream"
    with Counter(**PRICE, horizon=10, path=place) as counter:
        counter.extend([1, 2, 3])
    content = place.read_bytes()
    with pytest.raises(ParameterError, match=r"other terms.*horizon 10"):
        Counter(**PRICE, horizon=20, path=place)
    for damaged in (content[:-20], content.replace(b'"tick":3', b'"tick":2'), b"", b"{}", b"\xff" * 50):
        place.write_bytes(damaged)
        with pytest.raises(DiscreetError, match="changed or cut off"):
            Counter(**PRICE, horizon=10, path=place)
        assert place.read_bytes() == damaged
    place.write_bytes(content)
    with Counter(**PRICE, horizon=10, path=place) as counter:
        assert counter.tick == 3


def test_one_process_holds_a_stream_at_a_time(tmp_path: Path) -> None:
    held = Counter(**PRICE, horizon=10, path=tmp_path / "a.stream")
    with pytest.raises(DiscreetError, match="in use"):
        Counter(**PRICE, horizon=10, path=tmp_path / "a.stream")
    held.close()
    Counter(**PRICE, horizon=10, path=tmp_path / "a.stream").close()


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="path="):
        Counter(**PRICE, horizon=10, path=tmp_path / "nowhere" / "a.stream")


def test_a_value_is_not_shown_if_its_state_cannot_be_written(tmp_path: Path) -> None:
    """The directory is gone: adding goes on, showing is refused, and nothing is lost in memory."""
    folder = tmp_path / "there"
    folder.mkdir()
    counter = Counter(**PRICE, horizon=10, path=folder / "a.stream")
    counter.add(1)
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    with pytest.raises(DiscreetError, match="not shown"):
        counter.value  # noqa: B018
    folder.mkdir()
    assert counter.tick == 1
    assert counter.value.value is not None
    counter.close()


def test_a_real_stream_takes_no_test_bits(tmp_path: Path) -> None:
    with Counter(**PRICE, horizon=10, path=tmp_path / "a.stream") as counter:
        counter.add(1)
        with noise.deterministic(1), pytest.raises(NotForRelease):
            counter.value  # noqa: B018
    with noise.deterministic(1):
        Counter(**PRICE, horizon=10, path=tmp_path / "b.stream").close()
    with pytest.raises(NotForRelease):
        Counter(**PRICE, horizon=10, path=tmp_path / "b.stream")
    users, alert = Distinct(64, epsilon=1), Alert(10, epsilon=1)
    uses: list[Callable[[], Any]] = [lambda: users.add(["a"]), users.release, users.refresh, lambda: alert.add(1)]
    for use in uses:
        with noise.deterministic(1), pytest.raises(NotForRelease):
            use()
    assert (users.tick, users.left, alert.tick) == (0, 1, 0)


def test_a_closed_stream_shows_no_value_that_the_file_does_not_know(tmp_path: Path) -> None:
    """Else the next tick is seen here and from the file, with the same noise: the difference is exact."""
    counter = Counter(**PRICE, horizon=10, path=tmp_path / "a.stream")
    counter.extend([5, 6])
    counter.close()
    for use in (counter.add, lambda: counter.value, lambda: counter.extend([1]), counter.release):
        with pytest.raises(DiscreetError, match="closed"):
            use()
    counter.close()
    with Counter(**PRICE, horizon=10, path=tmp_path / "a.stream") as again:
        assert again.tick == 2


def test_a_forked_process_does_not_put_its_old_state_over_that_of_its_parent(tmp_path: Path) -> None:
    """The child leaves a `with` block: the state of its parent, with values that were seen since, must stay."""
    place = tmp_path / "a.stream"
    with Counter(epsilon=1, horizon=10, pan_private=True, path=place) as counter:
        counter.add(1)
        read, write = os.pipe()
        child = os.fork()
        if not child:  # pragma: no cover
            status = 1
            try:
                os.close(write)
                os.read(read, 1)  # until the parent has shown more
                refused = 0
                for use in (counter.save, counter.refresh, counter.close):
                    try:
                        use()
                    except DiscreetError:
                        refused += 1
                status = 0 if refused == 3 else 1
            finally:
                os._exit(status)
        counter.add(2)
        seen = counter.value
        before = place.read_bytes()
        os.write(write, b"x")
        assert os.waitpid(child, 0)[1] == 0
        assert place.read_bytes() == before
        assert counter.value == seen


def test_a_pan_private_state_is_renewed_and_an_ordinary_one_is_not(tmp_path: Path) -> None:
    with Counter(epsilon=1, horizon=10, pan_private=True, path=tmp_path / "a.stream") as counter:
        counter.add(1)
        before = (tmp_path / "a.stream").read_bytes()
        counter.refresh()
        assert (tmp_path / "a.stream").read_bytes() != before
    with pytest.raises(ParameterError, match="pan_private=True"):
        Counter(epsilon=1, horizon=10).refresh()
