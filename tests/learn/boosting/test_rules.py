"""Cells and rules: total for hostile codes, the same in every batch, and votes that are what they say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engines.examples import WHOLE, MemoryExamples
from discreet.learn.boosting.cells import CELLS, SIGNS, Cells, histogram, placed
from discreet.learn.boosting.rule_weights import rule_weights
from discreet.learn.boosting.rules import Rules
from discreet.learn.training import Task
from discreet.schema import Boolean, Category, Column, Date, Integer, Real

COLUMNS: dict[str, Column] = {
    "age": Integer(0, 99),
    "kind": Category(["a", "b", "c"]),
    "ill": Boolean(missing=False),
    "one": Integer(5, 5, missing=5),
    "price": Real(0, 10, step="0.5", missing=0),
    "far": Integer(0, 2**61),
    "day": Date("2020-01-01", "2020-01-03"),
}
CELLS_OF = Cells(COLUMNS, bins=4)
RULES = Rules(CELLS_OF)
HOSTILE = [-1, 0, 1, 2, 3, 50, 99, 100, -(2**62), 2**62, 2**61]


def test_every_code_has_a_cell_of_its_own_column() -> None:
    placed_at = CELLS_OF.place({name: np.array(HOSTILE) for name in COLUMNS})
    for column, block in zip(placed_at.T, CELLS_OF.blocks, strict=True):
        assert column.min() >= block.start
        assert column.max() < block.start + block.size
        outside = block.start + (block.width if block.missing else 0)
        assert column[0] == column[8] == column[9] == outside


def test_cells_of_numbers_keep_their_order_and_have_equal_widths() -> None:
    [block] = Cells({"age": Integer(0, 99)}, bins=4).blocks
    found = block.place(np.arange(100))
    assert np.all(np.diff(found) >= 0)
    assert np.bincount(found).tolist() == [25, 25, 25, 25]
    assert [block.named(cell) for cell in range(5)][::4] == ["age 0 to 24", "age missing"]


def test_cells_are_read_back_from_json() -> None:
    assert Cells.from_json(CELLS_OF.as_json()) == CELLS_OF


def test_rules_hold_where_their_words_say() -> None:
    words = [rule.words for rule in RULES.all]
    assert words[:6] == ["always", "age from 25", "age from 50", "age from 75", "age missing", "kind a"]
    assert "ill True" in words
    assert not any(text.startswith("one") for text in words)
    votes = RULES.votes[words.index("age from 50")]
    assert votes[CELLS_OF.blocks[0].cells].tolist() == [-1, -1, 1, 1, -1]
    assert len(set(words)) == len(words)
    assert RULES.hypotheses == 2 * len(words)


CODES = st.fixed_dictionaries({name: st.integers(-1, 120) for name in COLUMNS})


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(CODES, st.integers(-1000, 1000)), max_size=6))
def test_scores_are_the_sums_over_rows(rows: list[tuple[dict[str, int], int]]) -> None:
    codes = {name: np.array([row[name] for row, _ in rows], np.int64) for name in COLUMNS}
    values = np.array([value for _, value in rows], np.int64)
    cells = CELLS_OF.place(codes)
    found = RULES.scores(histogram(cells, values, CELLS_OF.size))
    for index, score in enumerate(found):
        rule, sign = RULES.chosen(index)
        said = sign * RULES.votes[rule][cells[:, RULES.all[rule].block]]
        assert set(said.tolist()) <= {-1, 1}
        assert score == int((values * said).sum())


def test_scores_beyond_int64_are_exact() -> None:
    huge = np.array([2**70, 2**70 + 1], object)
    assert Rules(Cells({"ill": Boolean(missing=False)})).scores(huge)[:2] == [2**71 + 1, 1]


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_an_additive_model_is_a_vote_of_rules(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shapes, start = rng.normal(size=CELLS_OF.size), rng.normal()
    weights = rule_weights(RULES, start, shapes)
    cells = CELLS_OF.place({name: rng.integers(-1, 120, 20) for name in COLUMNS})
    voted = sum(weight * RULES.votes[rule][cells[:, RULES.all[rule].block]] for rule, weight in enumerate(weights))
    assert voted == pytest.approx(start + shapes[cells].sum(axis=1))


def test_a_row_without_a_class_has_no_weight_and_batches_do_not_matter() -> None:
    task = Task({"age": Integer(0, 99)}, "ill", Boolean())
    codes: dict[str, Any] = {"age": np.arange(6), "ill": np.array([0, 1, -1, 7, 1, 0])}
    for size in (1, 4, 100):
        rows = placed(MemoryExamples(codes, np.full(6, WHOLE), size), Cells(task.features), task)
        [weights, signs] = rows.total(
            lambda batch: [
                np.array([batch.weights.astype(int).sum()]),
                np.array([(batch.weights.astype(int) * batch.codes[SIGNS]).sum(), batch.codes[CELLS].size]),
            ]
        )
        assert weights.tolist() == [4 * WHOLE]
        assert signs.tolist() == [0, 6]
