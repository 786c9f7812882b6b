"""Test the comparison of mechanisms on public data, and its pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.audit.inputs.subject import Subject
from discreet.audit.shipped import shipped
from discreet.audit.shipped.oracles import public_oracles
from discreet.errors import ParameterError
from discreet.oracle import OnlineRelease, Queries
from discreet.oracle.textbook import plots
from discreet.oracle.textbook.comparison import EVERY_QUERY, HARDT_ROTHBLUM, PMW, Point, compared
from tests.oracle.textbook.online import FALSE_ALARM, skewed

BUDGET: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "failure": FALSE_ALARM}
WORKLOAD = Queries.marginals([2, 2, 2], ways=2)


def found() -> dict[tuple[str, int], Point]:
    counts = skewed(8, 10**10, seed=1)
    points = compared(counts, WORKLOAD, **BUDGET, asked=[5, 50], promised=[10**9])
    return {(point.mechanism, point.queries): point for point in points}


def test_measured_errors_are_within_the_guarantee() -> None:
    """A false alarm has probability 6·10⁻⁷: three mechanisms, twice."""
    points = found()
    assert set(points) == {(name, k) for name in (PMW, HARDT_ROTHBLUM, EVERY_QUERY) for k in (5, 50, 10**9)}
    for point in points.values():
        assert (point.measured is None) == (point.queries == 10**9)
        if point.measured is not None:
            assert point.measured <= point.promised < 1


def test_noise_on_every_query_is_better_for_few_and_worse_for_many() -> None:
    points = found()
    assert points[EVERY_QUERY, 50].promised < points[PMW, 50].promised / 100
    assert points[EVERY_QUERY, 10**9].promised > 10 * points[PMW, 10**9].promised
    needed = points[EVERY_QUERY, 10**9].spent
    assert needed is not None
    assert needed > 10
    spent = points[PMW, 50].spent
    assert spent is not None
    assert 0 < spent < 0.01


def layers(chart: Any) -> list[dict[str, Any]]:
    drawn: list[dict[str, Any]] = chart.to_dict()["layer"]
    return drawn


def test_the_picture_of_mistakes_shows_the_run_and_both_of_its_bounds() -> None:
    release = OnlineRelease(np.eye(16)[0], "0.1")
    for _ in range(200):
        release.ask([1, *[0] * 15])
    chart = plots.mistakes(release, 0.1)
    run, bounds = (layer["data"]["values"] for layer in layers(chart)[:2])
    assert run[-1]["mistakes"] == release.mistakes
    assert run[-1]["errors"] == pytest.approx(sum(release.errors))
    assert {row["line"] for row in bounds} == {"each costs α at least", "what regret allows"}
    meeting = [row["errors"] for row in bounds if row["mistakes"]]
    assert meeting[0] == pytest.approx(meeting[1], rel=1e-3)
    assert "1,109" in str(chart.to_dict())


def test_the_picture_of_the_comparison_shows_every_point(tmp_path: Path) -> None:
    points = list(found().values())
    chart = plots.comparison(points, "ten billion rows")
    errors, spent = chart.to_dict()["vconcat"]
    assert len(errors["layer"][0]["data"]["values"]) == len(points)
    assert {row["mechanism"] for row in spent["data"]["values"]} >= {PMW, EVERY_QUERY}
    chart.save(str(tmp_path / "comparison.svg"))
    assert "above 1 nothing is promised" in (tmp_path / "comparison.svg").read_text()


def test_an_empty_picture_is_refused() -> None:
    with pytest.raises(ParameterError, match="compare some"):
        plots.comparison([])
    with pytest.raises(ParameterError, match="told apart"):
        plots.comparison([Point(str(i), 1, 0.5) for i in range(9)])
    with pytest.raises(ParameterError, match="Ask some"):
        plots.mistakes(OnlineRelease([1, 1], "0.1"), 0.1)


# -- the auditor ------------------------------------------------------------------------------------------------


def test_the_auditor_knows_every_public_mechanism_of_the_textbook() -> None:
    """They are attacked with everything else that ships, in tests/audit/test_battery.py."""
    assert {"BLR", "HardtRothblum", "MWEM", "PrivateMultiplicativeWeights"} <= set(public_oracles())
    named = {name.partition("(")[0] for name, thing in shipped().items() if isinstance(thing, Subject)}
    assert set(public_oracles()) <= named
