"""Cyclic boosting: what one person moves, which noise is drawn, what is charged for it, and hostile tables."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import audit, noise, privacy
from discreet.engines.examples import WHOLE, Examples
from discreet.kernel.gaussian_budget import mu, spent
from discreet.learn.boosting.cells import Cells
from discreet.learn.boosting.cyclic_boosting import GRID, QUANTUM, CyclicBoosting, Shapes, smoothed
from discreet.mechanisms import Exact, Gaussian, Laplace
from discreet.noise.testing import Asked, scripted
from discreet.schema import Category, Integer
from tests.learn.boosting.people import PERSONS, ROWS, SMALL, Row, examples, silent

RHO = Fraction(1, 10)
BOOSTING = CyclicBoosting.gaussian(SMALL, RHO, share=0.1, epochs=3, rate=0.5)
SHAPES = st.lists(st.integers(-60 * GRID, 60 * GRID), min_size=SMALL.size, max_size=SMALL.size)


def without_noise(run: Any) -> Any:
    """Run something whose noise is 0 in every draw, so that the exact sums are seen."""
    with scripted(lambda _: 0):
        return run()


def sums(rows: Examples, shapes: Shapes) -> tuple[Any, list[Any]]:
    counts = without_noise(lambda: BOOSTING.counted(rows)[0])
    residuals = [without_noise(lambda b=b: BOOSTING.residual(rows, b, shapes)[0]) for b in SMALL.blocks]
    return counts * WHOLE, [found * WHOLE * QUANTUM for found in residuals]


@settings(max_examples=100, deadline=None)
@given(PERSONS, st.lists(ROWS, min_size=1, max_size=5), SHAPES)
def test_one_person_moves_no_histogram_by_more_than_is_declared(
    others: list[list[Row]], person: list[Row], cells: list[int]
) -> None:
    shapes = Shapes(0, np.array(cells))
    with_them, without = sums(examples([*others, person]), shapes), sums(examples(others), shapes)
    for block in SMALL.blocks:
        assert np.abs(with_them[0] - without[0])[block.cells].sum() <= WHOLE
    for one, other in zip(with_them[1], without[1], strict=True):
        assert np.abs(one - other).sum() <= WHOLE * QUANTUM
        assert one.tolist() == np.rint(one).tolist()


def test_the_declared_sensitivity_is_reached() -> None:
    far = Shapes(-60 * GRID, np.zeros(SMALL.size, np.int64))
    [age, _] = sums(examples([[(0, 0, 1)]]), far)[1]
    assert np.abs(age).sum() == WHOLE * QUANTUM


def draws(boosting: CyclicBoosting) -> list[Asked]:
    """Return every draw of a run."""
    asked: list[Asked] = []

    def choose(draw: Asked) -> int:
        asked.append(draw)
        return 0

    with scripted(choose):
        boosting.run(examples([[(0, 0, 1)], [(3, 1, 0), (4, 2, 1)]]), silent)
    return asked


def test_the_noise_that_is_drawn_is_the_noise_that_is_charged() -> None:
    found = draws(BOOSTING)
    sizes = [block.size for block in SMALL.blocks]
    expected = [(BOOSTING.counts, size) for size in sizes] + [(BOOSTING.residuals, size) for size in sizes] * 3
    laws = [Asked("discrete_gaussian", mechanism.variance) for mechanism, size in expected for _ in range(size)]  # type: ignore[union-attr]
    assert found == laws
    assert len(BOOSTING.mechanisms) == len(expected)


def test_all_histograms_together_cost_what_was_given_and_no_more() -> None:
    noises = [each for each in BOOSTING.mechanisms if isinstance(each, Gaussian)]
    assert len(noises) == 8
    assert float(RHO) * 0.999 < spent(noises) <= RHO
    assert mu(noises) ** 2 <= 2 * float(RHO) * (1 + 1e-12)
    counts = spent(noises[:2])
    assert float(counts) == pytest.approx(0.1 * float(RHO), rel=1e-3)


def test_with_laplace_noise_the_epsilons_add_up() -> None:
    boosting = CyclicBoosting.laplace(SMALL, Fraction(2), share=0.1, epochs=3, rate=0.5)
    assert {each.law for each in draws(boosting)} == {"discrete_laplace"}
    losses = [each.loss for each in boosting.mechanisms]
    assert privacy.epsilon(losses, 0) == pytest.approx(2)


def residual_of_young(persons: list[list[Row]], scale: Fraction) -> Any:
    """Release the residuals of one cell with noise that is small enough to enumerate: a person is worth 1."""
    [age, _] = sums(examples(persons), Shapes(0, np.zeros(SMALL.size, np.int64)))[1]
    exact = round(2 * float(age[0]) / (WHOLE * QUANTUM))  # at the start a residual is ±1/2
    return Laplace(scale, 1).release(Exact([exact], 1)).tolist()  # type: ignore[union-attr]


@pytest.mark.parametrize(("scale", "caught"), [(Fraction(2), False), (Fraction(1), True)])
def test_half_the_noise_of_a_histogram_is_caught_by_enumeration(scale: Fraction, caught: bool) -> None:
    pairs: list[Any] = [([], [[(0, 0, 1)]]), ([[(0, 0, 1)]], [[(0, 0, 1)], [(1, 0, 0)]])]
    worst = 0.0
    for pair in pairs:
        one, other = (audit.law(partial(residual_of_young, table, scale), unexplored="1e-4") for table in pair)
        worst = max(worst, audit.hockey_stick(one, other, "0.5")[0], audit.hockey_stick(other, one, "0.5")[0])
    assert (worst > 0.01) == caught


@pytest.mark.parametrize("persons", [[], [[(0, 0, 1)]], [[(0, 0, 1)]] * 5, [[(-1, -1, -1)]] * 3])
def test_tables_without_rows_or_with_one_class_raise_nothing(persons: list[list[Row]]) -> None:
    shapes, counts, tested = BOOSTING.run(examples(persons), silent)
    assert np.all(np.isfinite(shapes.scores(np.zeros((2, 2), np.int64))))
    assert len(counts) == SMALL.size
    assert not tested


def test_predictable_bits_are_seen() -> None:
    with noise.deterministic(1):
        assert BOOSTING.run(examples([]), silent)[2]


def test_shapes_of_numbers_are_smoothed_and_those_of_categories_are_not() -> None:
    age, kind = Cells({"age": Integer(0, 5), "kind": Category(list("abcdef"))}).blocks
    rough = np.array([1.0, -1, 1, -1, 1, -1, 4])
    assert smoothed(kind, rough, np.ones(7)).tolist() == rough.tolist()
    smooth = smoothed(age, rough, np.full(7, 0.01))
    assert np.abs(np.diff(smooth[:6])).max() < 0.01
    assert smooth[6] == pytest.approx(4)  # missing has no neighbour
    assert smoothed(age, rough, np.full(7, 1e9)) == pytest.approx(rough, abs=1e-6)


def test_it_learns_shapes_and_a_start() -> None:
    persons = [[(age, 0, int(age >= 4))] for age in range(8)] * 2000
    shapes, _, _ = CyclicBoosting.gaussian(SMALL, Fraction(10), share=0.1, epochs=6, rate=0.7).run(
        examples(persons, 8192), silent
    )
    age = shapes.cells[SMALL.blocks[0].cells] / GRID
    assert age[1] < -1 < 1 < age[2]
