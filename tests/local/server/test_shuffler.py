"""Test the shuffler: crowds leave together, in a random order, without what could distinguish them."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.local.device.wire import batch, frame, unpacked
from discreet.local.server.aggregator import Aggregator
from discreet.local.server.shuffler import Shuffler, permutation
from tests.local.collections_of import MAY, colours

SURVEY, OTHER = colours(), colours(minimum_cohort=77)


def frames_of(data: bytes) -> list[bytes]:
    rows = unpacked(data)
    assert rows is not None
    return [row.tobytes() for row in rows]


def test_a_crowd_waits_until_it_is_large_enough() -> None:
    crowd = Shuffler(threshold=5)
    assert crowd.take(batch([frame(SURVEY, b"\x01") for _ in range(4)])) == []
    (left,) = crowd.take(batch([frame(SURVEY, b"\x02") for _ in range(3)]))
    assert len(frames_of(left)) == 7
    assert crowd.take(batch([frame(SURVEY, b"\x01")])) == []


def test_what_leaves_is_what_came_without_ids_and_days() -> None:
    crowd = Shuffler(threshold=4)
    payloads = [b"\x00", b"\x01", b"\x02", b"\x03"]
    (left,) = crowd.take(batch([frame(SURVEY, payload, day=MAY) for payload in payloads]))
    assert sorted(frames_of(left)) == [frame(SURVEY, payload, identified=False) for payload in payloads]
    assert Aggregator(SURVEY).update(left) == 4


def test_days_may_be_kept_and_then_each_day_is_a_crowd() -> None:
    crowd = Shuffler(threshold=2, keep_days=True)
    days = [MAY, MAY + timedelta(days=1), MAY]
    (left,) = crowd.take(batch([frame(SURVEY, b"\x01", day=day) for day in days]))
    assert frames_of(left) == [frame(SURVEY, b"\x01", day=MAY, identified=False)] * 2


def test_collections_do_not_hide_each_other() -> None:
    crowd = Shuffler(threshold=3)
    assert crowd.take(batch([frame(SURVEY, b"\x01"), frame(OTHER, b"\x01"), frame(SURVEY, b"\x01")])) == []


def test_small_crowds_are_dropped_in_the_end() -> None:
    crowd = Shuffler(threshold=3)
    crowd.take(batch([frame(SURVEY, b"\x01"), frame(OTHER, b"\x01")]))
    crowd.flush()
    assert crowd.dropped["small crowd"] == 2
    assert crowd.take(batch([frame(SURVEY, b"\x01")] * 2)) == []


def test_a_repeated_report_does_not_make_a_crowd() -> None:
    crowd, report = Shuffler(threshold=2), frame(SURVEY, b"\x01")
    assert crowd.take(batch([report, report])) == []
    assert crowd.take(batch([report])) == []
    assert crowd.dropped["replayed"] == 2


def test_no_more_crowds_wait_than_told_and_those_beyond_may_come_again() -> None:
    crowd, late = Shuffler(threshold=2, most_crowds=1), frame(OTHER, b"\x01")
    assert crowd.take(batch([frame(SURVEY, b"\x01")])) == []
    assert crowd.take(batch([late, late])) == []
    assert crowd.dropped == {"too many crowds": 2}
    assert len(crowd.take(batch([frame(SURVEY, b"\x01")]))) == 1, "a crowd that waits already is not shut out"
    (left,) = crowd.take(batch([late, frame(OTHER, b"\x01")]))
    assert len(frames_of(left)) == 2


def test_no_more_frames_wait_than_told() -> None:
    crowd = Shuffler(threshold=3, most_waiting=4)
    crowd.take(batch([frame(SURVEY, b"\x01"), frame(OTHER, b"\x01")]))
    beyond = [frame(OTHER, b"\x02") for _ in range(3)]
    (left,) = crowd.take(batch(beyond))
    assert len(frames_of(left)) == 3
    assert (crowd.dropped, crowd.waiting) == ({"too many waiting": 1}, 1)
    assert crowd.take(batch(beyond[2:])) == []
    assert (crowd.dropped["replayed"], crowd.waiting) == (0, 2), "what was refused is no repetition"
    with pytest.raises(ParameterError, match=r"No crowd of 3 can wait.*most_waiting=2.*Try: most_waiting=3"):
        Shuffler(threshold=3, most_waiting=2)


def test_collections_that_it_was_not_told_of_are_refused() -> None:
    crowd = Shuffler(threshold=1, collections=[SURVEY])
    (left,) = crowd.take(batch([frame(OTHER, b"\x01"), frame(SURVEY, b"\x02")]))
    assert frames_of(left) == [frame(SURVEY, b"\x02", identified=False)]
    assert crowd.dropped == {"unknown collection": 1}


@pytest.mark.parametrize("data", [b"", b"nonsense", batch([b"\x01abc"]), batch([b"\x07" + bytes(20)])])
def test_nonsense_is_dropped_and_counted(data: bytes) -> None:
    crowd = Shuffler(threshold=1)
    assert crowd.take(data) == []
    assert crowd.dropped["malformed"] == 1


def test_every_order_is_as_likely_as_any_other() -> None:
    """24 orders, 24,000 draws: a χ² of 23 degrees above 90 has a probability below 1e-9."""
    orders = Counter(tuple(permutation(4).tolist()) for _ in range(24_000))
    assert len(orders) == 24
    assert sum((count - 1000) ** 2 / 1000 for count in orders.values()) < 90


def test_a_batch_leaves_in_another_order_than_it_came() -> None:
    payloads = np.arange(250) % 4
    (left,) = Shuffler(threshold=250).take(batch([frame(SURVEY, bytes([p])) for p in payloads]))
    assert [report[-1] for report in frames_of(left)] != payloads.tolist()
