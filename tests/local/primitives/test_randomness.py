"""Test the draws of a device: fresh ones are exact, keyed ones are the same in every language."""

from __future__ import annotations

import hashlib
import hmac

import numpy as np
import pytest

from discreet.audit import law
from discreet.errors import ParameterError
from discreet.local.primitives.randomness import FRESH, SCALE, Keyed


def words(key: bytes, context: bytes, count: int) -> list[int]:
    """The stream as its definition reads, written another way."""
    blocks = b"".join(hmac.digest(key, context + bytes([0, 0, 0, i]), hashlib.sha256) for i in range(count))
    return [int(word) for word in np.frombuffer(blocks, "<u8")[:count]]


def test_keyed_coins_compare_one_word_each_with_the_threshold() -> None:
    stream = words(b"key", b"context", 50)
    for threshold in (0, 1, SCALE // 3, stream[7], stream[7] + 1, SCALE):
        coins = Keyed(b"key", b"context").coins(threshold, 50)
        assert coins.tolist() == [word < threshold for word in stream]


def test_keyed_integers_leave_out_the_words_that_would_favour_the_small() -> None:
    bound = 2**63 - 1 - 2**61  # leaves out more than an eighth of all words
    end = SCALE - SCALE % bound
    kept = [word % bound for word in words(b"key", b"", 60) if word < end]
    assert len(kept) < 60
    assert Keyed(b"key", b"").below(bound, len(kept)).tolist() == kept


def test_a_stream_goes_on_where_it_stopped_and_starts_anew_for_another_context() -> None:
    once, twice = Keyed(b"key", b"a"), Keyed(b"key", b"a")
    assert [*once.below(1000, 3), *once.below(1000, 4)] == twice.below(1000, 7).tolist()
    assert Keyed(b"key", b"b").below(2**62, 4).tolist() != Keyed(b"key", b"a").below(2**62, 4).tolist()
    assert Keyed(b"yek", b"a").below(2**62, 4).tolist() != Keyed(b"key", b"a").below(2**62, 4).tolist()


@pytest.mark.parametrize(("threshold", "bound"), [(-1, 0), (SCALE + 1, 2**63 + 1)])
def test_what_is_no_threshold_and_no_bound_is_refused(threshold: int, bound: int) -> None:
    with pytest.raises(ParameterError, match="threshold"):
        Keyed(b"key", b"").coins(threshold, 1)
    with pytest.raises(ParameterError, match="bound"):
        Keyed(b"key", b"").below(bound, 1)


def test_fresh_draws_have_exactly_the_law_they_claim() -> None:
    low, high = law(lambda: bool(FRESH.coins(SCALE // 4 * 3, 1)[0])).chance(True)
    assert low <= 0.75 <= high
    assert high - low < 1e-9
    for value in range(5):
        low, high = law(lambda: int(FRESH.below(5, 1)[0])).chance(value)
        assert low <= 0.2 <= high
