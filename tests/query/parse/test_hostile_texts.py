"""Texts that are written to keep a parser busy: refused or read in bounded time, at the wire and by a vault."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from discreet.errors import QuestionRefused
from discreet.query.parse.statement import statement
from discreet.query.parse.tool_statements import MOST_PARTS, statements
from tests.query.parse.test_select import PEOPLE

MOST_CPU = 0.25
"""Seconds of CPU for one text. The worst takes 0.025 s on a quiet core, and without bounds some take hours."""

MESSAGE = 64 * 1024  # what one message of a client may hold
NESTED = {
    "parentheses": ("(", ")"),
    "arrays": ("array[", "]"),
    "structs": ("struct(", ")"),
    "subscripts": ("a[", "]"),
    "lists": ("[", "]"),
    "calls": ("f(", ")"),
    "cases": ("case when ", " then 1 end"),
    "selects": ("(select ", ")"),
    "expressions": ("(with a as (select 1) select ", ")"),
    "negations": ("not ", ""),
    "casts": ("cast(", " as int)"),
    "rows": ("(1,", ")"),
}
LONG = {
    "1 MB of parentheses": "(" * 1_000_000,
    "a message of parentheses": "(" * MESSAGE,
    "an IN list": f"select count(*) from t where a in ({','.join('1' * 31_000)})",
    "an IN list that is read": f"select count(*) from t where a in ({','.join('1' * 700)})",
    "an IN list of texts": "select count(*) from t where a in ('a'" + ",'a'" * 16_000 + ")",
    "a select list": "select " + "a," * 32_000 + "a",
    "a select list that is read": "select " + "a," * 700 + "a",
    "subscripts": "select " + "a[1]," * 13_000 + "1",
    "subscripts that are read": "select " + "a[1]," * 25 + "1",
    "tables": "select 1 from t" + ",t" * 32_000,
    "joins": "select 1 from t" + " join t on a" * 5_000,
    "unions": "select 1" + " union select 1" * 4_000,
    "statements": "select 1;" * 7_000,
    "statements of structs": ("select " + "struct(" * 6 + "a[1]" + ")" * 6 + ";") * 25,
    "nesting of two kinds": "select " + "trim(both ' ' from a[" * 12 + "1" + "])" * 12,
    "commands": "begin;" * 10_000,
    "comments": "select 1 " + "/**/" * 16_000,
    "quotes in comments": "select 1 /*'*/" + ",1" * 30_000 + "/*'*/",
    "texts": "select " + "'' " * 20_000,
    "an open text": "select '" + "a" * 60_000,
    "blanks": "select" + " " * 60_000 + "1",
    "parameters": "select " + "$1," * 20_000 + "1",
    "signs": "select " + "+-*/<>=" * 9_000,
    "dollar quotes": "select " + "$a$" * 20_000,
}


def seconds(text: str) -> float:
    """Return the least CPU time of three attempts to read a text: other programs only add to it."""
    taken = []
    for _ in range(3):
        start = time.process_time()
        with suppress(QuestionRefused):
            statements(text)
        taken.append(time.process_time() - start)
        if taken[-1] < MOST_CPU:
            break
    return min(taken)


@pytest.mark.parametrize("kind", NESTED)
def test_nesting_takes_bounded_time_at_the_wire(kind: str) -> None:
    before, behind = NESTED[kind]
    for depth in (8, 12, 16, 30, 55, 300, 5_000):
        text = f"select {before * depth}1{behind * depth}"
        if len(text) <= MESSAGE:
            assert seconds(text) < MOST_CPU, depth


@pytest.mark.parametrize("kind", LONG)
def test_long_texts_take_bounded_time_at_the_wire(kind: str) -> None:
    assert seconds(LONG[kind]) < MOST_CPU


@pytest.mark.parametrize("kind", NESTED)
def test_a_vault_reads_nesting_in_bounded_time(kind: str) -> None:
    before, behind = NESTED[kind]
    for depth in (12, 30, 55):
        start = time.process_time()
        with suppress(QuestionRefused, RecursionError):  # the caller turns the second into a refusal
            statement(f"select {before * depth}1{behind * depth} from people", PEOPLE)
        assert time.process_time() - start < 1  # arrays of 30 levels took hours


def test_the_steps_of_the_parser_are_counted() -> None:
    """Eight levels take 2,045 steps and 28 tokens, of which 412 are allowed: refused by number, on any machine."""
    text = f"select {'array[' * 8}1{']' * 8}"
    with pytest.raises(QuestionRefused, match="too many steps"):
        statement(f"{text} from people", PEOPLE)


def test_words_are_counted_before_a_text_is_tokenized() -> None:
    """One quoted text is one token, and a comment is none: their signs cost the tokenizer all the same."""
    for text in (f"select '{'+' * MOST_PARTS}'", f"select 1 /*{'+' * MOST_PARTS}*/"):
        with pytest.raises(QuestionRefused):
            statements(text)
    (found,) = statements(f"select '{'+' * (MOST_PARTS - 10)}'")
    assert found.query is not None


def test_what_tools_write_is_far_from_the_limits() -> None:
    (found,) = statements("select array[1, array[2, 3]], a[1] from t where a in (" + "'x'," * 600 + "'y')")
    assert found.query is not None
