"""Pictures hold what they say, and the library works without them."""

import builtins
import itertools
import re
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from discreet import plots
from discreet.errors import DiscreetError, ParameterError
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


def drawn(keys: dict[str, list[Any]], *, from_zero: bool = True, axis: str = "number") -> dict[str, Any]:
    size = max((len(key) for key in keys.values()), default=1)
    values = [float(i) for i in range(size)]
    ends = [value - 1 for value in values], [value + 1 for value in values]
    chart: dict[str, Any] = plots.intervals(
        keys, [plots.Estimated("n", values, *ends, from_zero, axis)], "people", "95 %"
    ).to_dict()
    return chart


def marks(chart: dict[str, Any]) -> list[str]:
    panel = chart["vconcat"][0]
    return [layer["mark"]["type"] for layer in panel.get("spec", panel)["layer"]]


def test_one_number_is_an_interval() -> None:
    chart = drawn({})
    assert marks(chart) == ["rule", "point"]
    assert [(row["low"], row["value"], row["high"]) for row in chart["data"]["values"]] == [(-1, 0, 1)]


def test_counts_of_names_are_bars_with_intervals_and_averages_are_points() -> None:
    assert marks(drawn({"city": ["Oslo", "Bergen"]})) == ["bar", "rule"]
    assert marks(drawn({"city": ["Oslo", "Bergen"]}, from_zero=False)) == ["rule", "point"]


def test_dates_are_a_line_with_a_band_and_many_numbers_are_points_on_an_axis() -> None:
    days = [date(2024, 1, 1) + timedelta(days=i) for i in range(5)]
    assert marks(drawn({"day": days})) == ["area", "line"]
    ages = drawn({"age": list(range(50))})
    assert ages["vconcat"][0]["layer"][0]["encoding"]["x"]["type"] == "quantitative"


def test_a_second_key_of_few_values_is_a_colour_and_one_of_many_has_panels() -> None:
    few = drawn({"city": ["Oslo"] * 2, "sex": ["f", "m"]})
    assert few["vconcat"][0]["layer"][0]["encoding"]["color"]["scale"]["domain"] == ["f", "m"]
    many = drawn({"city": ["Oslo"] * 8, "year": list(range(8)), "sex": ["f", "m"] * 4})
    assert many["vconcat"][0]["facet"]["field"] == "panel"
    assert {row["panel"] for row in many["data"]["values"]} == set("01234567")
    assert {row["colour"] for row in many["data"]["values"]} == {"f", "m"}


def test_of_very_many_names_the_first_are_drawn_and_the_picture_says_so() -> None:
    chart = drawn({"city": [f"town {i}" for i in range(100)]})
    assert len(chart["data"]["values"]) == 60
    assert chart["title"]["subtitle"] == "95 %, the first 60 of 100 groups"


def test_what_has_no_answer_or_no_end_is_not_drawn() -> None:
    estimated = plots.Estimated("n", [1.0, None, 3.0], [0.0, None, -float("inf")], [2.0, None, 4.0])
    chart = plots.intervals({"city": ["a", "b", None]}, [estimated]).to_dict()
    assert [row["key"] for row in chart["data"]["values"]] == ["a"]


DAYS = [date(2024, 1, 1) + timedelta(days=i) for i in range(20)]


def painted(keys: dict[str, list[Any]], values: list[float], tmp_path: Path) -> str:
    ends = [value - 5 for value in values], [value + 5 for value in values]
    path = tmp_path / "painted.svg"
    plots.intervals(keys, [plots.Estimated("n", values, *ends, from_zero=True)]).save(str(path))
    return path.read_text()


@pytest.mark.parametrize("known", [list(range(1, 13)), list(range(20, 60)), DAYS], ids=["months", "ages", "days"])
def test_a_group_of_nulls_is_drawn_whatever_the_other_keys_are(known: list[Any], tmp_path: Path) -> None:
    picture = painted({"k": [*known, None]}, [300.0] * len(known) + [935.0], tmp_path)
    assert "n: 935" in picture
    assert ">null</text>" in picture


def test_nulls_of_several_colours_stand_beside_each_other() -> None:
    chart = drawn({"day": [*DAYS, None, None], "sex": ["f"] * 20 + ["f", "m"]})
    first, second = (row["beside"] for row in chart["data"]["values"] if row["key"] is None)
    assert second > first > chart["vconcat"][0]["layer"][0]["encoding"]["x"]["scale"]["range"][1]


def test_an_axis_that_goes_below_zero_says_where_zero_is(tmp_path: Path) -> None:
    keys, values = {"city": ["Oslo", "Bergen", "Vadsø"]}, [1_071_000.0, 400_000.0, -61_000.0]
    picture = painted(keys, values, tmp_path)
    labels = re.findall(r"<text([^>]*)>([−\d,]+)</text>", picture)
    assert "0" in [text for how, text in labels if 'opacity="0"' not in how]


def test_nothing_cannot_be_drawn() -> None:
    with pytest.raises(ParameterError, match="no number to draw"):
        plots.intervals({"city": []}, [plots.Estimated("n", [], [], [])])


def test_without_altair_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "altair":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(DiscreetError, match=r'pip install "discreet\[plots\]"'):
        plots.tradeoff({"ε = 1": pure(1)})


def test_importing_the_plots_does_not_import_altair() -> None:
    code = "import sys, discreet.plots; sys.exit('altair' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
