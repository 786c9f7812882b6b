"""Sums of softmax gradients: exact, the same in any batches, and bounded for every person."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import softmax

from discreet.engines.examples import WHOLE, MemoryExamples
from discreet.learn.feature_map import SCALE, FeatureMap
from discreet.learn.methods.gradients import FEATURES
from discreet.learn.methods.softmax import (
    CODES,
    GRID,
    LARGEST,
    PERSON,
    STEPS,
    SoftmaxSums,
    labelled,
    residuals,
    shortened,
)
from discreet.schema import Category, Integer

CLASSES, SIZE = 5, 7
Longest = Literal[1, 2]


def rows(random: np.random.Generator, count: int) -> NDArray[np.int64]:
    made = random.normal(size=(count, SIZE))
    return np.asarray(np.trunc(made * (SCALE / np.linalg.norm(made, axis=1, keepdims=True))), np.int64)


def sums(
    features: NDArray[np.int64],
    codes: NDArray[np.int64],
    weights: NDArray[np.int64],
    size: int = 8192,
    longest: Longest = 2,
) -> SoftmaxSums:
    return SoftmaxSums(MemoryExamples({FEATURES: features, CODES: codes}, weights, size), CLASSES, SIZE, longest)


@pytest.mark.parametrize("longest", [1, 2])
@pytest.mark.parametrize("seed", range(20))
def test_all_rows_of_a_person_together_stay_within_the_sensitivity(seed: int, longest: Longest) -> None:
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 9))
    features, codes = rows(random, count), random.integers(0, CLASSES, count)
    weights = np.full(count, WHOLE // count)
    theta = np.rint(random.normal(size=(CLASSES, SIZE)) * 2.0**GRID * random.choice([0.0, 1.0, 1000.0]))
    taken = sums(features, codes, weights, longest=longest)
    moved = taken.gradient(np.clip(theta, -LARGEST * 2.0**GRID, LARGEST * 2.0**GRID))
    square = sum(int(value) ** 2 for value in moved.ravel())
    assert square <= taken.l2_squared == longest * PERSON**2


@pytest.mark.parametrize("longest", [1, 2])
def test_the_sensitivity_is_reached_so_a_smaller_one_would_be_wrong(longest: Longest) -> None:
    features = np.zeros((1, SIZE), np.int64)
    features[0, 0] = SCALE
    theta = np.zeros((CLASSES, SIZE))
    theta[3, 0] = 40 * 2.0**GRID
    one = sums(features, np.array([1]), np.array([WHOLE]), longest=longest)
    square = sum(int(value) ** 2 for value in one.gradient(theta).ravel())
    assert 0.9999 * one.l2_squared < square <= one.l2_squared


def test_a_residual_adds_up_to_at_most_the_weight_whatever_the_scores() -> None:
    random = np.random.default_rng(5)
    scores = random.normal(size=(4000, 300)) * random.choice([0.0, 1e-9, 1.0, 700.0, 1e6], size=(4000, 1))
    codes, weights = random.integers(0, 300, 4000), random.integers(0, WHOLE + 1, 4000)
    found = residuals(scores, codes, weights)
    assert (found == np.rint(found)).all()
    assert (found.sum(axis=1) == 0).all()
    assert ((found**2).sum(axis=1) <= 2.0 * (STEPS * weights) ** 2).all()


def test_shortened_residuals_have_at_most_the_norm_of_their_weight_and_others_stay_as_they_are() -> None:
    random = np.random.default_rng(6)
    scores = random.normal(size=(4000, 12)) * random.choice([0.0, 1.0, 3.0, 700.0, 1e6], size=(4000, 1))
    codes, weights = random.integers(0, 12, 4000), random.integers(0, WHOLE + 1, 4000)
    full = residuals(scores, codes, weights)
    found = full.copy()
    shortened(found, weights)
    norms, most = (found**2).sum(axis=1), (STEPS * weights.astype(float)) ** 2
    assert (found == np.rint(found)).all()
    assert (norms <= most).all()
    long = (full**2).sum(axis=1) > most
    assert 500 < long.sum() < 3500
    assert (found[~long] == full[~long]).all()
    ratio = np.sqrt(most[long] / (full[long] ** 2).sum(axis=1))[:, None]
    assert (np.abs(found[long] - full[long] * ratio) <= 1 + 1e-6).all(), "the direction is kept"


def test_the_gradient_is_that_of_the_softmax_loss() -> None:
    random = np.random.default_rng(1)
    features, codes = rows(random, 200), random.integers(0, CLASSES, 200)
    theta = np.rint(random.normal(size=(CLASSES, SIZE)) * 2.0**GRID)
    found = sums(features, codes, np.full(200, WHOLE)).gradient(theta) / PERSON
    real = features / SCALE
    wanted = (softmax(real @ theta.T / 2.0**GRID, axis=1) - np.eye(CLASSES)[codes]).T @ real
    assert np.abs(found - wanted).max() < 200 * CLASSES / (STEPS * WHOLE)


def test_batches_do_not_change_the_sums() -> None:
    random = np.random.default_rng(2)
    features, codes = rows(random, 500), random.integers(0, CLASSES, 500)
    weights, theta = random.integers(0, WHOLE + 1, 500), np.rint(random.normal(size=(CLASSES, SIZE)) * 2.0**GRID)
    whole = sums(features, codes, weights).gradient(theta)
    for size in (1, 7, 499):
        assert (sums(features, codes, weights, size).gradient(theta) == whole).all()


def test_a_row_without_a_class_counts_for_nothing_and_no_rows_add_up_to_zero() -> None:
    columns = {"age": Integer(0, 9)}
    taken = FeatureMap(columns)
    without = MemoryExamples({"age": np.array([3]), "kind": np.array([-1])}, np.array([WHOLE], np.int16))
    empty = MemoryExamples({"age": np.zeros(0, np.int64), "kind": np.zeros(0, np.int64)}, np.zeros(0, np.int16))
    levels = Category(["a", "b", "c"]).levels or 0
    for examples in (without, empty):
        found = SoftmaxSums(labelled(examples, taken, "kind"), levels, taken.size)
        assert not found.gradient(np.ones((levels, taken.size))).any()
