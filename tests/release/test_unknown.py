"""A number of which nothing is known says so in every face, and sorts last."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow
import pytest

from discreet.errors import ParameterError
from discreet.ledger import Budget
from discreet.release.estimate import Estimate
from discreet.release.release import Release
from discreet.schema import Category, Date, Integer
from discreet.vault.vault import Vault

WORDS = "unknown: anything from 0 to 100"
QUESTION = (
    "select city, avg(x) as mean, median(x) as middle, count(*) as n from t where city is not null group by city"
)


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Two large cities, and one with no row at all."""
    x = np.tile(np.arange(101), 60)
    city = np.where(np.arange(len(x)) % 2 == 0, "Oslo", "Bergen")
    x = np.where(city == "Oslo", x // 2, x)
    day = np.datetime64("2024-01-01") + x
    table = pyarrow.table({"who": np.arange(len(x)), "x": x, "city": city, "day": day})
    with Vault.seal(
        table,
        to=str(tmp_path_factory.mktemp("vaults") / "t.vault"),
        person="who",
        columns={
            "x": Integer(0, 100),
            "city": Category(["Ås", "Oslo", "Bergen"]),
            "day": Date("2024-01-01", "2024-12-31"),
        },
        budget=Budget(1000),
    ) as opened:
        yield opened


def shown(vault: Vault, clauses: str = "") -> Release:
    """Ask again, and again if noise gave the empty city a narrower interval by chance."""
    for i in range(1, 20):
        release = vault.ask(f"{QUESTION} {clauses}", epsilon=1 + i)
        empty = list(release.keys["city"]).index("Ås") if "Ås" in release.keys["city"] else None
        if empty is None or (release["mean"].unknown[empty] and release["middle"].unknown[empty]):
            return release
    raise AssertionError("the interval of an empty group is hardly ever all that is possible")


def test_a_terminal_and_a_notebook_say_that_it_is_unknown(vault: Vault) -> None:
    release = shown(vault)
    assert str(release).count(WORDS) == 2
    assert "Unknown: too few rows for this noise." in str(release)
    page = release._repr_html_()
    assert page.count('<td class="n">unknown:</td><td class="e">anything from 0 to 100</td>') == 2


def test_json_has_a_flag_and_reads_back(vault: Vault) -> None:
    release = shown(vault)
    record = json.loads(json.dumps(release.to_json()))
    mean = next(answer for answer in record["aggregates"] if answer["name"] == "mean")
    assert (mean["unknown"], mean["bounds"], mean["values"][0]) == ([True, False, False], [0, 100], None)
    assert "unknown" not in next(answer for answer in record["aggregates"] if answer["name"] == "n")
    assert Release.from_json(record) == release


def test_frames_have_no_value_and_the_bounds_as_ends(vault: Vault) -> None:
    release = shown(vault)
    frame = release.to_pandas().set_index("city")
    assert np.isnan(frame.loc["Ås", "mean"])
    assert (frame.loc["Ås", "mean_low"], frame.loc["Ås", "mean_high"]) == (0, 100)
    assert release.to_polars()["middle"].null_count() == 1
    assert release.to_pandas().attrs["discreet"]["unknown"] == {"mean": 1, "middle": 1}


def test_a_picture_shows_the_whole_interval_without_a_point(vault: Vault) -> None:
    drawn = shown(vault).plot().to_dict()
    means = drawn["vconcat"][0]
    rows = drawn["datasets"][means["data"]["name"]] if "name" in means["data"] else means["data"]["values"]
    (empty,) = [row for row in rows if row["key"] == "Ås"]
    assert (empty["value"], empty["low"], empty["high"]) == (None, 0, 100)
    assert any(layer["mark"].get("text") == "unknown" for layer in means["layer"])


@pytest.mark.parametrize("order", ["mean", "mean desc", "mean nulls first", "middle desc nulls first", "mean - n"])
def test_groups_of_which_nothing_is_known_come_last(vault: Vault, order: str) -> None:
    assert list(shown(vault, f"order by {order}").keys["city"])[-1] == "Ås"
    assert "Ås" not in shown(vault, f"order by {order} limit 2").keys["city"]


def test_a_key_sorts_as_it_did(vault: Vault) -> None:
    assert list(shown(vault, "order by city desc").keys["city"]) == ["Ås", "Oslo", "Bergen"]


def test_an_unknown_date_names_the_declared_days() -> None:
    nothing = Estimate("median(day)", [5.0], [0.0], [366.0], kind="quantile", axis="date", bounds=(0.0, 366.0))
    assert nothing.value is None
    assert nothing.interval == (0.0, 366.0)


def test_what_has_only_one_possible_value_is_known() -> None:
    assert Estimate("avg(x)", [3.0], [3.0], [3.0], kind="avg", bounds=(3.0, 3.0)).unknown == (False,)
    assert Estimate("avg(x)", [3.0], [0.0], [9.0], kind="avg").unknown == (False,)
    known = Estimate("avg(x)", [3.0], [0.0], [8.0], kind="avg", bounds=(0.0, 9.0))
    assert (known.unknown, known.value) == ((False,), 3.0)
    assert replace(known, high=(9.0,)).value is None


def test_bounds_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(ParameterError, match="least and its largest"):
        Estimate("avg(x)", [3.0], [0.0], [9.0], bounds=(9.0, 0.0))
