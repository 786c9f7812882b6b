"""Test trees of noisy sums: what a person changes, the estimate of least variance, and margins that hold."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from discreet.mechanisms import Exact, Gaussian, Laplace
from discreet.query.plan.prefix_tree import PrefixTree, fitted

trees = st.builds(PrefixTree, height=st.integers(0, 5), spacing=st.integers(1, 6))


@given(tree=trees, data=st.data())
def test_a_person_changes_the_released_sums_by_no_more_than_is_stated(tree: PrefixTree, data: Any) -> None:
    """In two trees at once: what they weigh in both together is what counts."""
    person = np.array(data.draw(st.lists(st.integers(0, 9), min_size=2 * tree.leaves, max_size=2 * tree.leaves)))
    person[0] += 1
    changed = tree.sums(person.reshape(2, -1)).ravel()
    stated = tree.sensitivity(int(person.sum()))
    assert changed.sum() <= (stated.l1 or 0)
    assert (changed**2).sum() <= (stated.l2_squared or 0)
    assert changed.max() <= (stated.each or 0)
    assert changed.min() >= 0


@given(tree=trees)
def test_one_person_in_one_leaf_attains_the_stated_sensitivity(tree: PrefixTree) -> None:
    person = np.zeros((1, tree.leaves), np.int64)
    person[0, 0] = 7
    changed, stated = tree.sums(person), tree.sensitivity(7)
    assert (changed.sum(), (changed**2).sum()) == (stated.l1, stated.l2_squared)


@pytest.mark.parametrize("height", [0, 1, 3, 4])
@pytest.mark.parametrize("spacing", [1, 2, 3, 5])
def test_the_estimate_is_that_of_least_squares(height: int, spacing: int) -> None:
    tree = PrefixTree(height, spacing)
    design = tree.sums(np.eye(tree.leaves, dtype=np.int64)).T
    noisy = np.random.default_rng(1).integers(-50, 50, size=(3, len(design)))
    wanted = np.cumsum(np.linalg.lstsq(design, noisy.T, rcond=None)[0], axis=0).T
    assert np.allclose(tree.running(noisy), wanted)


@given(tree=trees, data=st.data())
def test_without_noise_the_running_totals_are_exact(tree: PrefixTree, data: Any) -> None:
    leaves = np.array([data.draw(st.lists(st.integers(0, 2**40), min_size=tree.leaves, max_size=tree.leaves))])
    assert np.allclose(tree.running(tree.sums(leaves)), np.cumsum(leaves, axis=1), rtol=1e-12, atol=1e-3)


LAWS = [
    (Gaussian.for_rho("1/50", PrefixTree(4, 1).sensitivity(4096)), 0.9),
    (Gaussian(variance=9), 0.1),  # of few units: the steps of the integers count
    (Gaussian(variance=1), 0.1),  # where only the subgaussian bound holds
    (Laplace.for_epsilon("1/2", 5 * 4096), 0.9),
]


@pytest.mark.parametrize(("noise", "tight"), LAWS)
@pytest.mark.parametrize("p", ["1/2", "9/10"])
def test_errors_stay_within_their_margins_as_often_as_stated_and_rarely_more(
    noise: Any, tight: float, p: str
) -> None:
    """False alarm below 1e-6: each leaf errs on one side with probability 0.05 at most, in 40,000 independent
    trees.

    `tight` is the least share of the allowed errors that must occur at some leaf, so that margins are not too
    wide.
    """
    tree, runs, beta, share = PrefixTree(4, 1), 40_000, Fraction(1, 20), Fraction(p)
    truth = np.zeros((runs, tree.leaves), np.int64)
    sums = tree.sums(truth)
    noisy = np.concatenate(
        [
            np.asarray(noise.release(Exact(part.ravel(), noise.sensitivity))).reshape(part.shape)
            for part in np.array_split(sums, 4)
        ]
    )
    running = tree.running(noisy)
    away = running - float(share) * running[:, -1:]
    margins = tree.margins(share, noise, beta)
    for wrong in (away > margins, away < -margins):
        rates = wrong.sum(axis=0)
        assert rates.max() <= stats.binom.isf(1e-7 / tree.leaves, runs, 0.05)
        assert rates.max() >= tight * 0.05 * runs


@pytest.mark.parametrize("pure", [True, False])
def test_the_levels_are_chosen_for_the_least_error(pure: bool) -> None:
    half = (Fraction(1, 2),)
    assert len(fitted(4, half, pure=pure).measured) == 1  # few leaves: their own noise is least
    best = fitted(1000, half, pure=pure)
    assert 2 <= len(best.measured) <= (6 if pure else 11)
    noise = (
        Laplace.for_epsilon(1, 4096 * len(best.measured))
        if pure
        else Gaussian(variance=4096**2 * len(best.measured))
    )
    flat = PrefixTree(10, 11)
    alone = Laplace.for_epsilon(1, 4096) if pure else Gaussian(variance=4096**2)
    beta = Fraction(1, 40)
    assert best.margins(half[0], noise, beta).max() < flat.margins(half[0], alone, beta).max() * 0.6


def test_margins_shrink_to_nothing_where_nothing_is_uncertain() -> None:
    tree = PrefixTree(3, 1)
    for noise in (Gaussian(variance=10**8), Laplace(scale=10**4)):
        assert tree.margins(Fraction(1), noise, Fraction(1, 40))[-1] == 0  # F at the last leaf is N itself
