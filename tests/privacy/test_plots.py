"""Pictures of guarantees hold every theorem and every curve, and refuse what cannot be drawn."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import ParameterError
from discreet.privacy import plots
from discreet.privacy.theorems.composition import basic, optimal
from discreet.privacy.tradeoff_curve import gaussian, pure


def rows(chart: Any, layer: int) -> list[dict[str, Any]]:
    values: list[dict[str, Any]] = chart.to_dict()["layer"][layer]["data"]["values"]
    return values


def test_the_composition_picture_holds_every_theorem_from_one_to_all_releases() -> None:
    drawn = rows(plots.composition("0.1", "1e-6", up_to=100), 0)
    assert {row["theorem"] for row in drawn} == {
        "basic",
        "lecture notes",
        "Dwork–Rothblum–Vadhan",
        "zCDP",
        "optimal",
    }
    ends = {(row["theorem"], row["releases"]): row["total"] for row in drawn}
    assert ends["basic", 100] == basic("0.1", 100)
    assert ends["optimal", 100] == optimal("0.1", 0, 100, "1e-6")
    assert ends["optimal", 1] <= ends["basic", 1]


def test_labels_stand_beside_their_lines_without_overlap() -> None:
    labels = rows(plots.composition("0.1", "1e-6"), 1)
    heights = sorted(row["total"] for row in labels)
    assert len(labels) == 5
    assert all(above / below > 1.2 for below, above in itertools.pairwise(heights))


def test_the_trade_off_picture_holds_the_curves_and_blind_guessing() -> None:
    chart = plots.tradeoff({"ε = 1": pure(1), "μ = 1": gaussian(1)})
    assert {row["curve"] for row in rows(chart, 0)} == {"ε = 1", "μ = 1"}
    assert rows(chart, 1) == [{"false alarms": 0, "misses": 1}, {"false alarms": 1, "misses": 0}]


def test_a_picture_can_be_saved(tmp_path: Path) -> None:
    plots.tradeoff({"ε = 1": pure(1)}).save(str(tmp_path / "curve.svg"))
    assert "blind guess" in (tmp_path / "curve.svg").read_text()


@pytest.mark.parametrize(("epsilon", "delta", "up_to"), [("0.1", "1e-6", 1), (0, "1e-6", 10), ("0.1", 0, 10)])
def test_what_cannot_be_drawn_is_refused(epsilon: str, delta: str, up_to: int) -> None:
    with pytest.raises(ParameterError, match="draw"):
        plots.composition(epsilon, delta, up_to)


@pytest.mark.parametrize("count", [0, 7])
def test_too_many_curves_are_refused(count: int) -> None:
    with pytest.raises(ParameterError, match=rf"1 to 6 curves \(found: {count}\)"):
        plots.tradeoff({str(i): pure(1) for i in range(count)})


def test_points_that_tests_attained_are_drawn_over_the_curves_under_their_own_names() -> None:
    chart = plots.tradeoff({"declared": pure(1)}, {"exact": [(0.1, 0.8)], "black box": [(0.2, 0.5), (0.3, 0.4)]})
    assert rows(chart, 3) == [
        {"false alarms": 0.1, "misses": 0.8, "curve": "exact"},
        {"false alarms": 0.2, "misses": 0.5, "curve": "black box"},
        {"false alarms": 0.3, "misses": 0.4, "curve": "black box"},
    ]
    colours = chart.to_dict()["layer"][3]["encoding"]["color"]["scale"]
    assert colours["domain"] == ["declared", "exact", "black box"]
    assert len(set(colours["range"])) == 3


def test_without_points_the_picture_is_the_same_as_ever() -> None:
    bare, empty = plots.tradeoff({"ε = 1": pure(1)}), plots.tradeoff({"ε = 1": pure(1)}, {})
    assert bare.to_dict() == empty.to_dict()
    assert len(bare.to_dict()["layer"]) == 3


def test_points_and_curves_that_share_a_name_are_refused() -> None:
    with pytest.raises(ParameterError, match="the same name"):
        plots.tradeoff({"exact": pure(1)}, {"exact": [(0.1, 0.8)]})
