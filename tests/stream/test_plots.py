"""Pictures of streams: the curve, its band, and the truth beside it where it may be shown."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import noise
from discreet.errors import NotForRelease, ParameterError
from discreet.stream import Counter, Histogram
from discreet.stream.demo_day import MINUTES, day, rates
from discreet.stream.plots import curve


def test_a_curve_has_a_band_and_the_truth_only_if_it_is_given() -> None:
    answer = Counter(epsilon=1, delta="1e-9", horizon=300).extend([5] * 300)
    alone, beside = answer.plot("visits").to_dict(), curve(answer, truth=np.arange(5, 1505, 5)).to_dict()
    assert [layer["mark"]["type"] for layer in alone["layer"]] == ["area", "line"]
    assert [layer["mark"]["type"] for layer in beside["layer"]] == ["area", "line", "line"]
    assert alone["title"]["text"] == "visits"


def test_what_is_no_curve_or_not_for_release_is_refused() -> None:
    counter = Counter(epsilon=1, delta="1e-9", horizon=300)
    with pytest.raises(ParameterError, match="many ticks"):
        curve(counter.release())
    with pytest.raises(ParameterError, match="many ticks"):
        curve(Histogram(["a", "b"], epsilon=1).release())
    with noise.deterministic(1):
        answer = Counter(epsilon=1, delta="1e-9", horizon=300).extend([5] * 300)
    with pytest.raises(NotForRelease):
        curve(answer)


def test_the_invented_day_has_the_visits_that_were_asked_for() -> None:
    counts = day(20_000)
    assert len(counts) == MINUTES
    assert (counts >= 0).all()
    assert abs(int(counts.sum()) - 20_000) < 2000
    assert rates(1000).argmax() == pytest.approx(14.5 * 60, abs=10)
