"""Test frames and batches byte by byte: they hold what the format states and nothing else."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.local.device.wire import HEADER, batch, batches, frame, frames, unpacked
from tests.local.collections_of import MAY, colours


def test_a_frame_is_version_collection_day_id_and_payload() -> None:
    survey = colours()
    assert frame(survey, b"\x02", identified=False) == b"\x01" + survey.id[:8] + b"\x02"
    assert frame(survey, b"\x02", day=MAY, identified=False) == b"\x11" + survey.id[:8] + b"\x50\x5e" + b"\x02"
    full = frame(survey, b"\x02", day=MAY)
    assert full[:11] == b"\x31" + survey.id[:8] + b"\x50\x5e"
    assert len(full) == 28
    assert full[-1:] == b"\x02"


def test_ids_of_reports_are_never_the_same() -> None:
    survey = colours()
    assert len({frame(survey, b"\x02")[9:25] for _ in range(100)}) == 100


def test_frames_in_rows_are_those_made_one_by_one() -> None:
    survey = colours()
    payloads = np.array([[0], [3], [1]], np.uint8)
    rows = frames(survey, payloads)
    assert [row.tobytes() for row in rows] == [frame(survey, bytes(p), identified=False) for p in payloads]
    assert batch(rows) == batch([row.tobytes() for row in rows])


def test_a_payload_of_another_length_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"have 1 bytes each \(found: 2 bytes"):
        frame(colours(), b"\x00\x01")


def test_a_day_beyond_two_bytes_is_refused() -> None:
    with pytest.raises(ParameterError, match="1970-01-01 to 2149-06-06"):
        frame(colours(), b"\x00", day=date(2200, 1, 1))


@given(st.integers(1, 30).flatmap(lambda n: st.lists(st.binary(min_size=n, max_size=n), max_size=20)))
def test_a_batch_is_unpacked_as_it_was_packed(reports: list[bytes]) -> None:
    rows = unpacked(batch(reports))
    assert rows is not None
    assert [row.tobytes() for row in rows] == reports


@given(st.lists(st.binary(min_size=3, max_size=3), min_size=1, max_size=5), st.data())
def test_a_batch_that_is_cut_or_longer_is_none(reports: list[bytes], data: st.DataObject) -> None:
    whole = batch(reports)
    assert unpacked(whole[: data.draw(st.integers(0, len(whole) - 1))]) is None
    assert unpacked(whole + b"x") is None


def test_frames_of_two_lengths_do_not_make_a_batch() -> None:
    with pytest.raises(ParameterError, match="Make a batch for each length"):
        batch([b"abc", b"de"])


def test_many_frames_without_length_are_no_batch() -> None:
    """Four billion empty frames would fit into eleven bytes."""
    assert unpacked(b"DLPB\x01\xff\xff\xff\xff\x00\x00") is None
    assert len(batch([])) == HEADER


def test_batches_lie_one_after_the_other() -> None:
    first, second = batch([b"abc"]), batch([b"defg", b"hijk"])
    assert list(batches(first + second)) == [first, second]
    assert list(batches(first + b"nonsense")) == [first, b"nonsense"]
    assert [unpacked(part) is None for part in batches(first + second[:-1])] == [False, True]
