"""A release is shown within the width there is, with everything escaped, and with its cost."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from rich.console import Console

from discreet.ledger import Budget
from discreet.release import render
from discreet.release.estimate import Estimate
from discreet.schema import Category, Column, Integer
from discreet.vault.vault import Vault
from tests.vault.releases import answer, by_city, label, receipt, release

# -- terminals --------------------------------------------------------------------------------------------------


def test_one_number_is_shown_with_its_error_and_its_cost() -> None:
    assert str(release()) == (
        "select count(*) from people\n"
        "\n"
        "  count(*)\n"
        "1,042 ± 17\n"
        "\n"
        "95 % confidence interval for the noise. The effect of the declared bounds is not\n"
        "included: see release.label.\n"
        "This used 5 % of the budget; 95 % is left."
    )


def test_units_stand_below_units_and_signs_below_signs() -> None:
    lines = str(by_city()).splitlines()[2:6]
    assert lines == [
        "city      count(*)        avg(age)",
        "Oslo       42 ± 17  40.123 ± 0.050",
        "Bergen  1,042 ± 17  41.12  ± 0.10",
        "null    2,042 ± 17  42.12  ± 0.15",
    ]


def test_of_many_groups_the_first_are_shown_and_how_many_more_there_are() -> None:
    shown = str(by_city(50))
    assert "town 16" in shown
    assert "town 17" not in shown
    assert "… 30 more groups" in shown
    assert "more groups" not in str(by_city(20))


def wide(columns: int, groups: int = 2, keys: int = 1) -> Any:
    return release(
        {
            f"a key with a long name {i}": [f"a value that is long, too, {g}" for g in range(groups)]
            for i in range(keys)
        },
        [answer(f"avg(a_rather_long_column_{i})", [1234.5 * (i + 1)] * groups, 3.3**i) for i in range(columns)],
    )


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("made", [release(), by_city(50), wide(6), wide(1, keys=4), wide(3, keys=6)])
def test_no_line_is_wider_than_the_terminal(made: Any, width: int) -> None:
    assert max(map(len, render.text(made, width).splitlines())) <= width


def test_what_does_not_fit_is_put_below_under_the_same_keys() -> None:
    shown = render.text(wide(6), 80)
    assert shown.count("a key with a long name 0") == 6
    assert all(f"avg(a_rather_long_column_{i})" in shown for i in range(6))


def test_wide_characters_take_two_columns() -> None:
    made = release({"city": ["東京", "Oslo"]}, [answer("n", [1.0, 2.0], 1.0)])
    lines = str(made).splitlines()[3:5]
    assert lines == ["東京  1.0 ± 1.0", "Oslo  2.0 ± 1.0"]


def test_a_key_cannot_move_the_cursor_or_turn_the_line() -> None:
    made = release({"city": ["\x1b[2Jgone", "a\nb", "\u202eolsO"]}, [answer("n", [1.0] * 3, 1.0)])
    shown = str(made)
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "\\x1b[2Jgone" in shown
    assert "a\\nb" in shown


def test_notes_and_what_is_free_are_said() -> None:
    noted = answer("max(age)", [99.0], 2.0, note="max(age) is answered as the 0.999 quantile")
    assert "0.999 quantile" in str(release(answers=[noted]))
    assert (
        "Free: answered from the record of 2026-01-02 03:04 UTC, when it used 5 % of the budget. Now 95 % is left."
        in " ".join(str(release().again(receipt().whole)).split())
    )


@pytest.mark.parametrize(
    ("groups", "words"), [(0, "No group is shared by enough people"), (3, "No group is left")]
)
def test_an_empty_answer_says_why(groups: int, words: str) -> None:
    empty = release({"city": []}, [answer("count(*)", [], 1.0)], label=label(groups=groups))
    assert words in str(empty)
    assert words in empty._repr_html_()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_rich_shows_the_same_words(width: int) -> None:
    console = Console(width=width, file=io.StringIO(), record=True, color_system="truecolor")
    made = by_city(50, question="select [bold]markup[/bold] from people")
    console.print(made)
    shown = console.export_text().splitlines()
    assert [line.rstrip() for line in shown] == render.text(made, width).splitlines()


# -- pages ------------------------------------------------------------------------------------------------------


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    rows = pyarrow.table({"who": [1, 2], "age": [30, 40], "sex": ["f", "m"]})
    columns: dict[str, Column] = {"age": Integer(0, 110), "sex": Category(["f", "m", "a\x1bb", "<img src=x>"])}
    where = tmp_path / "people.vault"
    with Vault.seal(rows, to=where, name="people", person="who", columns=columns, budget=Budget(2)) as made:
        yield made


class Tags(HTMLParser):
    """Sees that every tag is closed, and collects what is written between."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.words = ""

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def tags(page: str) -> Tags:
    reader = Tags()
    reader.feed(page)
    reader.close()
    assert not reader.open
    return reader


def test_the_page_has_numbers_cost_and_a_label_to_be_opened() -> None:
    page = tags(by_city(50)._repr_html_())
    assert {"table", "details", "summary"} <= page.seen
    assert "± 17" in page.words
    assert "This used 5 % of the budget; 95 % is left." in page.words
    assert "ε = 1.9 of 2 is left" in page.words  # in the label
    assert "one person: all rows with the same user_id" in page.words
    assert "30 more groups" in page.words


def test_everything_in_the_page_is_escaped() -> None:
    hostile = "<img src=x onerror=alert(1)>"
    made = release(
        {hostile: [hostile]},
        [answer(f"{hostile} n", [1.0], 1.0, note=hostile)],
        question=hostile,
        label=label(table=hostile, notes=[hostile], person=hostile),
    )
    page = tags(made._repr_html_())
    assert "img" not in page.seen
    assert page.words.count(hostile) >= 6


def test_a_vault_shows_its_columns_above_its_ledger(vault: Vault) -> None:
    shown, page = str(vault), tags(vault._repr_html_())
    assert "TableMetadata(" not in shown
    for words in (shown, page.words):
        said = [words.index(part) for part in ("people", "who", "whole numbers from 0 to 110", "the whole vault")]
        assert said == sorted(said)
    assert {"table", "style"} <= page.seen
    assert "a\\x1bb" in shown  # a label of the second column
    assert "img" not in page.seen
    assert "<img src=x>" in page.words


def test_a_preview_shows_widths_and_price_and_no_fractions(vault: Vault) -> None:
    preview = vault.preview("select sex, count(*), avg(age) from people group by sex", epsilon="0.3")
    question = "'select sex, count(*), avg(age) from people group by sex'"
    assert repr(preview) == f"Preview({question}, 15 % of the budget)"
    assert str(preview).endswith("\nThis would use 15 % of the budget; 100 % is left.")
    page = tags(preview._repr_html_())
    assert {"details", "code"} <= page.seen
    assert "count(*)± " in page.words
    assert "This would use 15 % of the budget; 100 % is left." in page.words


@pytest.mark.parametrize(("groups", "size"), [(1, "1 aggregate in 1 group"), (3, "1 aggregate in 3 groups")])
def test_one_is_not_many(groups: int, size: str) -> None:
    assert size in repr(release({"n": list(range(groups))}, [answer("count(*)", [1.0] * groups, 1.0)]))


# -- pictures ---------------------------------------------------------------------------------------------------


def test_the_picture_holds_values_and_ends() -> None:
    drawn = by_city().plot().to_dict()
    rows = drawn["vconcat"][0]["data"]["values"]
    assert [row["key"] for row in rows] == ["Oslo", "Bergen", "null"]
    assert [row["value"] for row in rows] == list(by_city()["count(*)"].values)
    assert [row["high"] for row in rows] == list(by_city()["count(*)"].high)
    assert drawn["title"]["subtitle"] == "95 % intervals, for 5 % of the budget"
    assert len(drawn["vconcat"]) == 2


def test_the_picture_of_a_median_of_dates_is_on_a_time_axis() -> None:
    made = release(
        {"city": ["Oslo"]}, [Estimate("median(day)", [2.0], [1.0], [3.0], kind="quantile", axis="date")]
    )
    drawn = made.plot().to_dict()
    day = 86_400_000.0  # milliseconds
    (row,) = drawn["data"]["values"]
    assert (row["low"], row["value"], row["high"]) == (1 * day, 2 * day, 3 * day)
    assert drawn["vconcat"][0]["layer"][0]["encoding"]["x"]["type"] == "temporal"


def test_keys_of_every_kind_can_be_drawn_and_saved(tmp_path: Any) -> None:
    for key in (
        ["a", None],
        [1, 2],
        [True, None],
        [date(2024, 1, 1), date(2024, 1, 2)],
        [datetime(2024, 1, 1), None],
    ):
        release({"k": key}, [answer("n", [1.0, 2.0], 1.0)]).plot().save(str(tmp_path / "a.svg"))
        assert re.search(r"<svg", (tmp_path / "a.svg").read_text())
