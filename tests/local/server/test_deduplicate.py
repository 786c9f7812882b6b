"""Test report ids: in any portions, each is new once."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.local.server.deduplicate import Seen

PORTIONS = st.lists(st.lists(st.integers(0, 30) | st.integers(2**64 - 3, 2**64 - 1), max_size=12), max_size=12)


@given(PORTIONS)
def test_each_id_is_new_once(portions: list[list[int]]) -> None:
    seen, known = Seen(), set[int]()
    for portion in portions:
        expected = []
        for number in portion:
            expected.append(number not in known)
            known.add(number)
        assert seen.first_time(np.array(portion, np.uint64)).tolist() == expected
    assert seen.all().tolist() == sorted(known)


@given(PORTIONS, PORTIONS)
def test_an_id_is_there_as_often_as_parts_have_met_it(one: list[list[int]], other: list[list[int]]) -> None:
    parts = []
    for portions in (one, other):
        parts.append(Seen())
        for portion in portions:
            parts[-1].first_time(np.array(portion, np.uint64))
    both = Seen(np.concatenate([part.all() for part in parts]))
    met = Counter(
        number for portions in (one, other) for number in {each for portion in portions for each in portion}
    )
    assert both.times().tolist() == [met[number] for number in sorted(met)]
    again = np.array(sorted(met), np.uint64)
    assert not both.first_time(again).any()


def test_many_small_portions_lie_in_few_rows() -> None:
    seen = Seen()
    for start in range(0, 100_000, 100):
        seen.first_time(np.arange(start, start + 100, dtype=np.uint64))
    assert len(seen._rows) <= 11
    assert len(seen.all()) == 100_000
