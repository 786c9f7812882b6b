from __future__ import annotations

import math

import pytest

from discreet.audit.museum.generators import (
    FORKED_GENERATOR,
    MEMOISED_REDRAWN,
    SEEDED_GENERATOR,
    seeded_run,
)


def test_the_forked_generator_is_caught_by_the_fork_and_by_its_copies() -> None:
    words = FORKED_GENERATOR.broken().words
    assert "shared after a fork" in words
    assert "shares its stream with a copy, a deep copy, a pickle" in words


def test_the_difference_of_two_seeded_releases_is_the_difference_of_the_data() -> None:
    assert seeded_run(101) - seeded_run(100) == 1
    assert SEEDED_GENERATOR.broken().words.endswith("repeats itself after 1 draw.")


def test_redrawn_reports_lose_threefold_and_memoised_ones_stay_within_the_promise() -> None:
    broken, mended = MEMOISED_REDRAWN.broken(), MEMOISED_REDRAWN.mended()
    assert broken.found == pytest.approx(3 * math.log(5 / 3), rel=1e-6)
    assert mended.found is not None
    assert mended.found < math.log(3)
