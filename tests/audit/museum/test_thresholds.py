from __future__ import annotations

import pytest

from discreet.audit.attacks import exact
from discreet.audit.museum import thresholds


def test_the_town_with_one_inhabitant_is_the_largest_difference() -> None:
    assert "Foula" in thresholds.BOUNDARY.broken().words


def test_delta_is_the_tail_that_includes_the_threshold_and_not_the_one_above_it() -> None:
    """At ε = 1 only δ is left of the claim: it is exact up to the draws that were not enumerated."""
    with_hermit = exact.law(lambda: thresholds.well_filled({"Foula": 1}))
    without = exact.law(lambda: thresholds.well_filled({}))
    least, most = exact.hockey_stick(with_hermit, without, 1)
    assert thresholds.tail(thresholds.THRESHOLD) < least
    assert most <= float(thresholds.tail(thresholds.THRESHOLD - 1)) + 3e-5
    assert least == pytest.approx(float(thresholds.tail(thresholds.THRESHOLD - 1)), abs=3e-5)


def test_what_is_shown_is_at_the_threshold_or_above() -> None:
    shown = [thresholds.well_filled({"Bath": 2}) for _ in range(2000)]
    assert all(count >= thresholds.THRESHOLD for answer in shown for count in answer.values())
    # A key that all people hold is always shown: one draw of −95 or below has probability below e^(−95).
    assert thresholds.well_filled({"Bath": 100}).keys() == {"Bath"}
