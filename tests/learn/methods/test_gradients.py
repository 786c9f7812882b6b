"""Sums over rows are exact: they depend on no order and no batch, and keep the error bound that is stated."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engines.examples import WHOLE, MemoryExamples
from discreet.learn import FeatureMap
from discreet.learn.feature_map import SCALE
from discreet.learn.methods.gradients import FEATURES, SIGNS, Sums, counted, signed, split
from discreet.learn.methods.margin_losses import HuberHinge, Logistic, MarginLoss
from discreet.schema import Category, Integer

LOSSES: list[MarginLoss] = [Logistic(), Logistic(0.5, shift=1.0), HuberHinge()]
MAP = FeatureMap({"age": Integer(0, 99), "town": Category(["a", "b", "c"])})


def rows(count: int, seed: int = 0, size: int = 8192) -> MemoryExamples:
    """Return rows with missing values, missing classes and every weight."""
    rng = np.random.default_rng(seed)
    codes = {
        "age": rng.integers(-1, 100, count),
        "town": rng.integers(-1, 3, count),
        "y": rng.integers(-1, 2, count),
    }
    return MemoryExamples(codes, rng.integers(0, WHOLE + 1, count), size)


def sums(examples: Any, loss: MarginLoss) -> Sums:
    return Sums(signed(examples, MAP, "y"), loss, MAP.size)


def reference(examples: MemoryExamples, loss: MarginLoss, theta: Any) -> list[Any]:
    """Return ∇L with 96 digits, one row at a time."""
    features = MAP.rows({name: examples.codes[name] for name in MAP.columns})
    total = [mpmath.mpf(0)] * MAP.size
    for row, code, weight in zip(features, examples.codes["y"], examples.weights, strict=True):
        if code < 0:
            continue
        sign = 1 if code == 1 else -1
        margin = sign * sum((mpmath.mpf(x) / SCALE * mpmath.mpf(t) for x, t in zip(row, theta, strict=True)))
        if isinstance(loss, Logistic):
            slope = 1 / (1 + mpmath.exp((margin - mpmath.mpf(loss.shift)) / mpmath.mpf(loss.width)))
        else:
            slope = min(max((1 + mpmath.mpf(0.5) - margin) / (2 * mpmath.mpf(0.5)), mpmath.mpf(0)), mpmath.mpf(1))
        share = mpmath.mpf(int(weight)) / WHOLE * slope * sign
        total = [so_far - share * mpmath.mpf(x) / SCALE for so_far, x in zip(total, row, strict=True)]
    return total


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0, 3000.0])
def test_a_gradient_is_as_near_to_the_truth_as_is_stated(loss: MarginLoss, scale: float) -> None:
    count = 120
    examples = rows(count)
    theta = np.random.default_rng(1).normal(0, 1, MAP.size) * scale
    exact = np.rint(theta * 2.0**52) / 2.0**52  # what `split` keeps
    found = sums(examples, loss).gradient(theta)
    truth = reference(examples, loss, exact)
    apart = mpmath.sqrt(sum((mpmath.mpf(a) - b) ** 2 for a, b in zip(found, truth, strict=True)))
    assert apart <= count * mpmath.mpf(2) ** -51


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
    first, second = sums(whole, loss), sums(other, loss)
    assert np.array_equal(first.gradient(theta), second.gradient(theta))
    assert np.array_equal(first.hessian(theta), second.hessian(theta))
    assert counted(whole)[0] == counted(other)[0] == whole.weights.sum()


def test_the_parts_of_a_table_add_up_to_the_whole() -> None:
    whole = rows(300)
    halves = [
        MemoryExamples({name: column[part] for name, column in whole.codes.items()}, whole.weights[part])
        for part in (slice(0, 101), slice(101, 300))
    ]

    def integers(examples: Any) -> Any:
        theta = split(np.linspace(-2, 2, MAP.size))

        def part(batch: Any) -> Any:
            margins = batch.codes[FEATURES].astype(float) @ theta[0]
            return [np.rint(margins * batch.codes[SIGNS]).sum(keepdims=True)]

        return signed(examples, MAP, "y").total(part)[0]

    assert integers(whole) == integers(halves[0]) + integers(halves[1])


def test_a_hessian_is_that_of_the_loss() -> None:
    examples, theta = rows(500), np.random.default_rng(2).normal(0, 1, MAP.size)
    features = MAP.rows({name: examples.codes[name] for name in MAP.columns}) / SCALE
    signs = np.where(examples.codes["y"] == 1, 1, -1)
    weights = np.where(examples.codes["y"] < 0, 0, examples.weights) / WHOLE
    for loss in LOSSES[:2]:
        curves = loss.curvature((features @ theta) * signs) * weights
        truth = (features * curves[:, None]).T @ features
        found = sums(examples, loss).hessian(theta)
        assert np.abs(found - truth).max() <= 500 * 2.0**-17 + 1e-9
        assert np.array_equal(found, found.T)


@pytest.mark.parametrize("loss", [Logistic(), Logistic(0.01, shift=1.0), HuberHinge(0.05)])
def test_a_hessian_is_an_exact_sum_of_integers_also_for_losses_that_bend_much(loss: MarginLoss) -> None:
    """Curvatures of 16 bits and more made floats lose digits: other rows moved with a person who left."""
    features = np.full((8191, 2), 2895, np.int16)  # of norm 1
    examples = MemoryExamples({FEATURES: features, SIGNS: np.ones(8191, np.int8)}, np.full(8191, WHOLE, np.int16))
    theta = np.full(2, loss.shift / (2 * 2895 / SCALE) if isinstance(loss, Logistic) else SCALE / 5790)
    total = Sums(examples, loss, 2).exact_hessian(theta)
    one = MemoryExamples({name: codes[:1] for name, codes in examples.codes.items()}, examples.weights[:1])
    assert (total == 8191 * Sums(one, loss, 2).exact_hessian(theta)).all()
    assert 2**36 < int(total[0, 0]) // 8191 < 2**39


def test_a_row_without_a_class_or_without_weight_adds_nothing() -> None:
    theta = np.linspace(-1, 1, MAP.size)
    codes = {"age": np.array([5, 50]), "town": np.array([0, 1]), "y": np.array([-1, 1])}
    silent = MemoryExamples(codes, np.array([WHOLE, 0]))
    assert not sums(silent, Logistic()).gradient(theta).any()
    assert not sums(silent, Logistic()).hessian(theta).any()


def test_no_person_moves_a_gradient_by_more_than_one() -> None:
    """The weights of a person add up to a whole, so 10,000 rows of one move it no more than one row does."""
    theta = np.random.default_rng(3).normal(0, 5, MAP.size)
    for loss in LOSSES:
        alone = sums(MemoryExamples(_same(1), np.array([WHOLE])), loss).gradient(theta)
        many = sums(MemoryExamples(_same(4000), np.full(4000, WHOLE // 4000)), loss).gradient(theta)
        assert np.linalg.norm(alone) <= 1
        assert np.linalg.norm(many) <= np.linalg.norm(alone) + 1e-12


def _same(count: int) -> Any:
    return {name: np.full(count, code) for name, code in (("age", 31), ("town", 2), ("y", 0))}
