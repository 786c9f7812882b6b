from __future__ import annotations

import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import noise
from discreet.errors import InexactFloat, LawTooWide, ParameterError
from tests.noise.goodness import fits, gaussian_pmf, laplace_pmf

FUNCTIONS: dict[str, tuple[Callable[..., Any], Any, type, type]] = {
    "discrete_laplace": (noise.discrete_laplace, "2.5", np.int64, int),
    "discrete_gaussian": (noise.discrete_gaussian, "2.5", np.int64, int),
    "bernoulli": (noise.bernoulli, "0.5", np.bool_, bool),
    "bernoulli_exp": (noise.bernoulli_exp, "2.5", np.bool_, bool),
    "uniform_below": (noise.uniform_below, 5, np.int64, int),
}
functions = pytest.mark.parametrize(("draw", "parameter", "dtype", "single"), FUNCTIONS.values(), ids=FUNCTIONS)
laws = pytest.mark.parametrize("draw", [noise.discrete_laplace, noise.discrete_gaussian])


def test_the_public_names_are_these() -> None:
    names = {*FUNCTIONS, "softmax", "deterministic", "TestNoise", "is_test_noise"}
    assert set(noise.__all__) == names


@functions
@pytest.mark.parametrize(
    ("size", "shape"),
    [(0, (0,)), (1, (1,)), (7, (7,)), ((), ()), ((2, 3), (2, 3)), ((4, 0), (4, 0)), (70_000, (70_000,))],
)
def test_arrays_have_the_shape_and_type_asked_for(
    draw: Callable[..., Any], parameter: Any, dtype: type, single: type, size: Any, shape: tuple[int, ...]
) -> None:
    drawn = draw(parameter, size)
    assert isinstance(drawn, np.ndarray)
    assert drawn.shape == shape
    assert drawn.dtype == dtype


@functions
def test_a_single_draw_is_a_python_number(
    draw: Callable[..., Any], parameter: Any, dtype: type, single: type
) -> None:
    assert [type(draw(parameter)) for _ in range(100)] == [single] * 100


@functions
@pytest.mark.parametrize("size", [-1, (2, -3), 1.5, "3", True, (2, True), [2]])
def test_a_size_that_is_no_count_is_refused(
    draw: Callable[..., Any], parameter: Any, dtype: type, single: type, size: Any
) -> None:
    with pytest.raises(ParameterError, match="size must be a count"):
        draw(parameter, size)


@pytest.mark.parametrize("scale", [3, Fraction(3), "3", np.int64(3), np.uint8(3), 3.0])
def test_the_same_number_written_differently_is_the_same_law(scale: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InexactFloat)
        assert fits(noise.discrete_laplace(scale, 200_000), laplace_pmf(Fraction(3)))
        assert type(noise.discrete_laplace(scale)) is int


@functions
@pytest.mark.parametrize("bad", [-1, "-0.5", float("nan"), float("inf"), True, False, None, "many", [1], 1j])
def test_a_parameter_that_has_no_meaning_is_refused(
    draw: Callable[..., Any], parameter: Any, dtype: type, single: type, bad: Any
) -> None:
    for size in (None, 3):
        draw(1)  # a reserve for 1 must not answer for True
        with pytest.raises(ParameterError):
            draw(bad, size)


@laws
def test_zero_is_refused(draw: Callable[..., Any]) -> None:
    for zero in (0, "0", Fraction(0), 0.0):
        with pytest.raises(ParameterError, match="must be above 0"):
            draw(zero)


@pytest.mark.parametrize(
    "draw", [noise.discrete_laplace, noise.discrete_gaussian, noise.bernoulli, noise.bernoulli_exp]
)
def test_a_float_warns_of_its_exact_value_where_it_was_written(draw: Callable[..., Any]) -> None:
    for size in (None, 3):
        with pytest.warns(InexactFloat, match="3602879701896397/36028797018963968") as caught:
            draw(0.1, size)
        assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("draw", "widest"),
    [(noise.discrete_laplace, 2**52), (noise.discrete_gaussian, 2**104)],
    ids=["laplace", "gaussian"],
)
def test_a_law_that_could_leave_int64_is_refused_with_the_largest_that_cannot(
    draw: Callable[..., Any], widest: int
) -> None:
    assert np.abs(draw(widest, 10_000)).max() < 2**62
    for size in (None, 3):
        with pytest.raises(LawTooWide, match=r"2\*\*(52|104)"):
            draw(widest + Fraction(1, 7), size)


@pytest.mark.parametrize(
    ("refused", "call"),
    [
        (LawTooWide, lambda: noise.discrete_laplace(10**5000)),
        (LawTooWide, lambda: noise.discrete_gaussian(Fraction(10**5000, 7), 3)),
        (LawTooWide, lambda: noise.uniform_below(10**5000, 3)),
        (ParameterError, lambda: noise.uniform_below(Fraction(1, 10**5000))),
        (ParameterError, lambda: noise.bernoulli(10**5000)),
        (ParameterError, lambda: noise.bernoulli_exp(-(10**5000))),
        (ParameterError, lambda: noise.discrete_laplace(3, -(10**5000))),
    ],
)
def test_a_number_too_long_to_print_is_refused_like_any_other(
    refused: type[ParameterError], call: Callable[[], object]
) -> None:
    with pytest.raises(refused, match="thousands of digits"):
        call()


def test_single_draws_follow_the_law_through_many_refills() -> None:
    assert fits(
        np.array([noise.discrete_laplace(Fraction(7, 3)) for _ in range(100_000)]), laplace_pmf(Fraction(7, 3))
    )
    assert fits(np.array([noise.discrete_gaussian(5) for _ in range(100_000)]), gaussian_pmf(Fraction(5)))


def test_short_arrays_come_from_the_reserve_and_follow_the_law() -> None:
    parts = [noise.discrete_gaussian(Fraction(50), size) for size in (1, 5, (2, 3), 64, 10) for _ in range(800)]
    assert parts[1600].shape == (2, 3)
    assert fits(np.concatenate([part.ravel() for part in parts]), gaussian_pmf(Fraction(50)))
    wide = np.concatenate([noise.discrete_laplace(2**52, size) for size in (3, 16, 64, 7) for _ in range(200)])
    assert len(set(wide.tolist())) == len(wide)  # 18,000 draws coincide with probability below 2e-8


def test_more_laws_than_are_kept_can_be_used_at_once() -> None:
    for _ in range(2):
        drawn = [noise.bernoulli(Fraction(1, n)) for n in range(1, 600)]
        assert drawn[0] is True


def test_a_reserve_hands_out_every_draw_once() -> None:
    drawn = [noise.discrete_laplace(2**52) for _ in range(20_000)]
    # 20,000 draws of scale 2^52 coincide with probability below 2e-8.
    assert len(set(drawn)) == len(drawn)


def test_a_fresh_draw_has_the_law_and_the_type_of_any_other() -> None:
    drawn = np.concatenate([noise.discrete_laplace(3, size=100, fresh=True) for _ in range(300)])
    assert fits(drawn, laplace_pmf(Fraction(3)))
    assert type(noise.discrete_gaussian(9, fresh=True)) is int
    assert type(noise.bernoulli("1/3", fresh=True)) is bool
    with noise.deterministic(1):
        assert noise.is_test_noise(noise.discrete_laplace(3, fresh=True))
