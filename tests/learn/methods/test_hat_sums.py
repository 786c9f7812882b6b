"""Gradients by places are those of rows of norm at most 1, as near to the truth as is stated, in any order."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet.engines.examples import WHOLE, Batch, MemoryExamples
from discreet.learn import FeatureMap
from discreet.learn.feature_map import SCALE
from discreet.learn.methods.gradients import FEATURES, SIGNS, Sums, signed
from discreet.learn.methods.hat_sums import SCALES, UNIT, HatSums, Tables
from discreet.learn.methods.margin_losses import HuberHinge, Logistic, MarginLoss
from discreet.schema import Boolean, Category, Column, Integer, Real

LOSSES: list[MarginLoss] = [Logistic(), Logistic(0.5, shift=1.0), HuberHinge()]
COLUMNS: dict[str, Column] = {
    "age": Integer(0, 99),
    "pay": Real(0, 1_000_000, step=1, missing=0),
    "rooms": Integer(1, 2),
    "one": Integer(7, 7),
    "town": Category(["a", "b", "c"]),
    "ill": Boolean(missing=False),
}
MAP = FeatureMap(COLUMNS, line=2)


def rows(count: int, seed: int = 0, size: int = 8192) -> MemoryExamples:
    """Return rows with missing values, missing classes and every weight."""
    rng = np.random.default_rng(seed)
    codes = {
        name: rng.integers(-1 if column.filling is None else 0, column.levels or 1, count)
        for name, column in COLUMNS.items()
    }
    return MemoryExamples({**codes, "y": rng.integers(-1, 2, count)}, rng.integers(0, WHOLE + 1, count), size)


def vectors(tables: Tables, batch: Batch) -> NDArray[Any]:
    """Return t·h of each row as integers in units of 2^-UNIT, from the places alone."""
    made = np.zeros((batch.size, tables.feature_map.size), object)
    made[:, -1] = tables.constant
    for name, column in zip(tables.names, tables.columns, strict=True):
        for i, place in enumerate(batch.codes[name].tolist()):
            made[i, column.left[place]] += int(column.first[place])
            made[i, column.left[place] + 1] += int(column.second[place])
            if column.block.line:
                made[i, column.block.along] += int(column.line[place])
    made *= batch.codes[SCALES].astype(object)[:, None]
    return made


def batch_of(tables: Tables, examples: MemoryExamples) -> Batch:
    placed: Any = tables.placed(examples, "y")
    return Batch(placed.codes, placed.weights)


@pytest.mark.parametrize("line", [0, 0.7, 4])
@pytest.mark.parametrize("intercept", [None, 2.0**-10, 0.3, 2.0**10])
def test_no_row_is_longer_than_one_and_none_is_much_shorter(intercept: float | None, line: float) -> None:
    tables = Tables(FeatureMap(COLUMNS, intercept=intercept, line=line))
    batch = batch_of(tables, rows(400))
    squares = (vectors(tables, batch) ** 2).sum(axis=1)
    assert max(squares) <= 4**UNIT
    if intercept is None:
        assert min(squares) >= 4**UNIT * (1 - 2.0**-10)
    cut = tables.dense(batch).codes[FEATURES].astype(np.int64)
    assert (cut**2).sum(axis=1).max() <= SCALE**2
    assert np.abs(cut - vectors(tables, batch).astype(float) / 2.0 ** (UNIT - 12)).max() < 1


@pytest.mark.parametrize("made", [MAP, FeatureMap(COLUMNS)], ids=["lines", "hats alone"])
def test_rows_are_those_of_the_map_but_for_their_grid(made: FeatureMap) -> None:
    examples = rows(400)
    batch = batch_of(Tables(made), examples)
    found = vectors(Tables(made), batch).astype(float) / 2.0**UNIT
    given = made.rows({name: examples.codes[name] for name in COLUMNS}) / SCALE
    assert np.abs(found - given).max() < 9 / 4096  # of a million codes, 244 share a place: one knot is 8 of these


def reference(sums: HatSums, examples: MemoryExamples, theta: Any) -> list[Any]:
    """Return ∇L with fifty digits, one row at a time, for coefficients that are multiples of 2⁻⁵²."""
    batch = batch_of(sums.tables, examples)
    total = [mpmath.mpf(0)] * sums.size
    loss: Any = sums.loss
    for row, sign, weight in zip(
        vectors(sums.tables, batch), batch.codes[SIGNS].tolist(), batch.weights, strict=True
    ):
        x = [mpmath.mpf(int(one)) / 2**UNIT for one in row]
        margin = sign * mpmath.fsum(a * mpmath.mpf(b) for a, b in zip(x, theta, strict=True))
        if isinstance(loss, Logistic):
            slope = 1 / (1 + mpmath.exp((margin - mpmath.mpf(loss.shift)) / mpmath.mpf(loss.width)))
        else:
            slope = min(max((1 + mpmath.mpf(0.5) - margin) / (2 * mpmath.mpf(0.5)), mpmath.mpf(0)), mpmath.mpf(1))
        share = mpmath.mpf(int(weight)) / WHOLE * slope * sign
        total = [so_far - share * one for so_far, one in zip(total, x, strict=True)]
    return total


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0, 3000.0])
@pytest.mark.parametrize("many", [False, True])
def test_a_gradient_is_as_near_to_the_truth_as_is_stated(loss: MarginLoss, scale: float, many: bool) -> None:
    """With many rows scores have two parts, as they would for 2³⁰."""
    count = 60
    examples = rows(count)
    sums = HatSums.of(examples, loss, MAP, "y")
    if many:
        vars(sums)["rows"] = 2**40
    theta = np.rint(np.random.default_rng(1).normal(0, 1, MAP.size) * scale * 2.0**52) / 2.0**52
    parts, _, bits = sums.tables.scores(theta, sums.rows * float(loss.law.curvature))
    assert len(parts) == 1 + many
    with mpmath.workdps(50):
        truth = reference(sums, examples, theta)
        apart = mpmath.sqrt(
            sum((mpmath.mpf(a) - b) ** 2 for a, b in zip(sums.gradient(theta), truth, strict=True))
        )
        rounded = 0.0 if many else (len(COLUMNS) + 1) * 2.0 ** (-bits[0] - 1) * float(loss.law.curvature)
        assert apart <= count * (2.0**-51 + rounded)


def test_tables_have_two_parts_where_rounding_would_be_felt() -> None:
    """By many rows, by a loss that bends much, by large coefficients, or by an intercept that is small."""
    theta = np.ones(MAP.size)
    assert len(Tables(MAP).scores(theta, 2.0**20)[0]) == 1
    assert len(Tables(MAP).scores(theta, 2.0**34)[0]) == 2
    assert len(Tables(MAP).scores(2.0**14 * theta, 2.0**20)[0]) == 2
    assert len(Tables(FeatureMap(COLUMNS, intercept=2.0**-10)).scores(theta, 2.0**24)[0]) == 2


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 400), st.integers(1, 97), st.randoms(use_true_random=False), st.sampled_from(LOSSES))
def test_totals_depend_on_no_batch_and_no_order(count: int, size: int, chance: Any, loss: MarginLoss) -> None:
    whole = rows(count, seed=count)
    order = list(range(count))
    chance.shuffle(order)
    other = MemoryExamples(
        {name: column[order] for name, column in whole.codes.items()}, whole.weights[order], size
    )
    theta = np.random.default_rng(count).normal(0, 3, MAP.size)
    first, second = (HatSums.of(one, loss, MAP, "y") for one in (whole, other))
    assert np.array_equal(first.gradient(theta), second.gradient(theta))
    assert np.array_equal(first.hessian(theta), second.hessian(theta))
    assert np.array_equal(first.sampled(1).gradient(theta), second.sampled(1).gradient(theta))


@pytest.mark.parametrize("largest", [2**30, 2**66])
def test_totals_of_places_become_features_exactly_however_large_they_are(largest: int) -> None:
    tables = Tables(MAP)
    left, first, second, along, line = (one.tolist() for one in (*tables.hats, *tables.lines))
    rng = np.random.default_rng(3)
    totals = np.array([largest - int(one) for one in rng.integers(0, 2**31, len(left) + 1)], object)
    totals[::2] *= -1
    exact = [0] * MAP.size
    for place, total in enumerate(totals[:-1].tolist()):
        exact[left[place]] += total * first[place]
        exact[left[place] + 1] += total * second[place]
        exact[along[place]] += total * line[place]
    exact[-1] += totals[-1] * tables.constant
    assert tables.added_up(totals if largest > 2**62 else totals.astype(np.int64)).tolist() == exact


def test_derivatives_are_about_those_of_the_map_written_out() -> None:
    examples, theta = rows(2000), np.random.default_rng(2).normal(0, 1, MAP.size)
    for loss in LOSSES[:2]:
        found, plain = HatSums.of(examples, loss, MAP, "y"), Sums(signed(examples, MAP, "y"), loss, MAP.size)
        assert np.abs(found.gradient(theta) - plain.gradient(theta)).max() < 2000 * 3e-3
        assert np.abs(found.hessian(theta) - plain.hessian(theta)).max() < 2000 * 3e-3


def test_a_sample_has_about_its_share_of_the_rows() -> None:
    sums = HatSums.of(rows(20_000), Logistic(), MAP, "y")
    assert 800 < sums.sampled(4).rows < 1700  # 1,250, of rows that are all different
    assert sums.sampled(4).sampled(7).rows == sums.sampled(7).rows
