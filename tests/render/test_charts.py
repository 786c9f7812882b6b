"""Pictures of numbers hold their intervals, and every picture has the house style."""

import re
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from IPython.core.formatters import DisplayFormatter

from discreet.errors import ParameterError
from discreet.render import charts


def drawn(keys: dict[str, list[Any]], *, from_zero: bool = True, axis: str = "number") -> dict[str, Any]:
    size = max((len(key) for key in keys.values()), default=1)
    values = [float(i) for i in range(size)]
    ends = [value - 1 for value in values], [value + 1 for value in values]
    chart: dict[str, Any] = charts.intervals(
        keys, [charts.Estimated("n", values, *ends, from_zero, axis)], "people", "95 %"
    ).to_dict()
    return chart


def marks(chart: dict[str, Any]) -> list[str]:
    panel = chart["vconcat"][0]
    return [layer["mark"]["type"] for layer in panel.get("spec", panel)["layer"]]


def test_a_notebook_shows_a_chart_without_a_network_unless_the_analyst_chose_otherwise() -> None:
    """Altair's default loads scripts from another host, and fails without a network."""
    altair = charts.altair_module()
    chart = charts.house_style(altair.Chart(altair.InlineData([{"x": 1}])).mark_point().encode(x="x:Q"))
    formatter: Any = DisplayFormatter()
    shown, _ = formatter.format(chart)
    assert shown["image/svg+xml"].startswith("<svg")
    assert "text/html" not in shown
    with altair.renderers.enable("json"):
        chosen, _ = formatter.format(chart)
    assert "application/json" in chosen


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
    panels = many["vconcat"][0]["concat"]  # charts of their own: a facet leaves an axis under an empty cell
    assert [panel["title"]["text"] for panel in panels] == list("01234567")
    rows = [row for panel in panels for row in panel["data"]["values"]]
    assert {row["panel"] for row in rows} == set("01234567")
    assert {row["colour"] for row in rows} == {"f", "m"}


def test_of_very_many_names_the_first_are_drawn_and_the_picture_says_so() -> None:
    chart = drawn({"city": [f"town {i}" for i in range(100)]})
    assert len(chart["data"]["values"]) == 60
    assert chart["title"]["subtitle"] == "95 %, the first 60 of 100 groups"


def test_what_has_no_answer_or_no_end_is_not_drawn() -> None:
    estimated = charts.Estimated("n", [1.0, None, 3.0], [0.0, None, -float("inf")], [2.0, None, 4.0])
    chart = charts.intervals({"city": ["a", "b", None]}, [estimated]).to_dict()
    assert [row["key"] for row in chart["data"]["values"]] == ["a"]


DAYS = [date(2024, 1, 1) + timedelta(days=i) for i in range(20)]


def painted(keys: dict[str, list[Any]], values: list[float], tmp_path: Path) -> str:
    ends = [value - 5 for value in values], [value + 5 for value in values]
    path = tmp_path / "painted.svg"
    charts.intervals(keys, [charts.Estimated("n", values, *ends, from_zero=True)]).save(str(path))
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
        charts.intervals({"city": []}, [charts.Estimated("n", [], [], [])])


def test_every_picture_has_the_house_style() -> None:
    config = drawn({"city": ["Oslo"]})["config"]
    alt = charts.altair_module()
    assert charts.house_style(alt.Chart().mark_line()).to_dict()["config"] == config


@pytest.mark.parametrize(("low", "high", "ticks"), [(1, 1000, [1, 10, 100, 1000]), (0.5, 20, [1, 10]), (2, 5, [])])
def test_ticks_are_powers_of_ten(low: float, high: float, ticks: list[float]) -> None:
    assert charts.decades(low, high) == ticks
