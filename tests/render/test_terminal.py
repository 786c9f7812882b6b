"""Text fits a terminal: widths are counted in cells, and no character moves the cursor."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.render import terminal


@given(st.text())
def test_no_character_moves_the_cursor(text: str) -> None:
    assert terminal.plain(text).isprintable()


@given(st.text(max_size=200), st.integers(20, 100))
def test_wrapped_lines_are_never_too_long_and_lose_no_word(text: str, width: int) -> None:
    lines = terminal.wrapped(text, width)
    assert max(map(len, lines)) <= width
    assert "".join("".join(lines).split()) == "".join(terminal.plain(" ".join(text.split())).split())


def test_an_amount_is_not_split() -> None:
    assert terminal.wrapped("what is left is ε = 0.1", 20) == ["what is left is", "ε = 0.1"]


@pytest.mark.parametrize(("text", "cells"), [("Oslo", 4), ("東京", 4), ("é", 1), ("e\u0301", 1), ("", 0)])
def test_width_is_counted_in_cells(text: str, cells: int) -> None:
    assert terminal.width(text) == cells


def test_a_table_keeps_columns_below_each_other_also_with_wide_characters() -> None:
    assert terminal.table([("city", "rows"), ("東京", "1"), ("Bergen", "20")]) == [
        "city    rows",
        "東京    1",
        "Bergen  20",
    ]


def test_a_paragraph_cuts_a_long_name_and_indents_what_follows() -> None:
    lines = terminal.paragraph("a name that is far too long", "one two three four five six seven", 10, 40)
    assert lines[0].startswith("  a name")
    assert max(map(len, lines)) <= 40
    assert all(line.startswith(" " * 14) for line in lines[1:])
