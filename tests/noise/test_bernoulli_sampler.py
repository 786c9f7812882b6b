from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from discreet import noise
from discreet.errors import ParameterError
from discreet.noise.bernoulli_sampler import Coin, ExponentialCoins, exponential, with_chance
from discreet.noise.sampler_cache import draw
from tests.noise.goodness import chi_square, happens
from tests.noise.scripted import Counting, Scripted

CHANCES = ["1/3", "0.001", "0.999", "1/2", "1/1000000"]


@pytest.mark.parametrize("p", CHANCES)
def test_a_coin_falls_as_often_as_its_chance_says(p: str) -> None:
    assert happens(int(noise.bernoulli(p, 1_000_000).sum()), 1_000_000, float(Fraction(p)))


def test_chances_of_zero_and_one_are_certain() -> None:
    assert not noise.bernoulli(0, 100_000).any()
    assert noise.bernoulli(1, 100_000).all()
    assert noise.bernoulli_exp(0, 100_000).all()
    assert noise.bernoulli(1) is True
    assert noise.bernoulli(0) is False


@pytest.mark.parametrize("x", ["0.001", "1/3", "1", "5", "12"])
def test_the_exponential_coin_falls_with_probability_exp_minus_x(x: str) -> None:
    assert happens(int(noise.bernoulli_exp(x, 1_000_000).sum()), 1_000_000, float(np.exp(-float(Fraction(x)))))


def test_over_divides_x() -> None:
    assert happens(int(noise.bernoulli_exp(7, 1_000_000, over="3.5").sum()), 1_000_000, float(np.exp(-2)))


@pytest.mark.parametrize(
    ("coin", "chance"),
    [(with_chance(Fraction(1, 3), word_bits=3), 1 / 3), (exponential(Fraction(1), word_bits=3), np.exp(-1))],
)
def test_three_bits_and_lazy_ones_make_the_same_coin(coin: Coin, chance: float) -> None:
    bits = Counting()
    assert happens(int(draw(coin, 100_000, bits).sum()), 100_000, chance)
    assert bits.lazily > 10_000


def test_a_coin_is_settled_at_its_threshold_to_the_last_of_67_bits() -> None:
    threshold = int(mpmath.floor(mpmath.exp(-1) * 2**67))
    for word, expected in ((threshold - 1, True), (threshold + 1, False)):
        bits = Scripted([word % 2**64], word=word >> 64 << 29)
        assert draw(exponential(Fraction(1), word_bits=3), 1, bits)[0] == expected


@pytest.mark.parametrize("over", ["1/3", "1", "7/3", "1000", "123456.789", str(2**40), str(2**60)])
def test_an_array_of_exponential_coins_falls_as_each_chance_says(over: str) -> None:
    scale = Fraction(over)
    steps = np.unique((np.linspace(0, 4, 40) * float(scale)).astype(np.int64))
    heads = noise.bernoulli_exp(np.repeat(steps, 20_000), over=over).reshape(-1, 20_000).sum(axis=1)
    chances = np.exp(-steps / float(scale))
    certain = steps == 0
    assert (heads[certain] == 20_000).all()
    heads, chances = heads[~certain], chances[~certain]
    assert chi_square(
        np.concatenate([heads, 20_000 - heads]).astype(float), 20_000 * np.concatenate([chances, 1 - chances])
    )


def test_an_array_of_coins_with_short_words_is_as_exact() -> None:
    bits = Counting()
    x = np.repeat(np.arange(0, 3000, 300), 4000)
    heads = ExponentialCoins(Fraction(1000), word_bits=5).toss(x, bits).reshape(10, -1).sum(axis=1)
    assert bits.lazily > 1000
    for hits, exponent in zip(heads, np.arange(0, 3, 0.3), strict=True):
        assert happens(int(hits), 4000, float(np.exp(-exponent)))


def test_work_on_an_array_does_not_depend_on_its_values() -> None:
    coins, drawn = ExponentialCoins(Fraction(100)), set()
    for x in (np.zeros(1000, np.int64), np.full(1000, 2**62), np.arange(1000)):
        bits = Counting()
        coins.toss(x, bits)
        drawn.add(bits.drawn)
    assert len(drawn) == 1


def test_results_have_the_shape_of_the_array() -> None:
    assert noise.bernoulli_exp(np.zeros((2, 3), np.int64)).shape == (2, 3)
    assert noise.bernoulli_exp(np.zeros(0, np.int64)).shape == (0,)
    assert noise.bernoulli_exp(np.array(0)).shape == ()
    assert noise.bernoulli_exp(np.zeros(100_000, np.uint8)).all()


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.array([0.5]), r"array of integers \(found: float64\)"),
        (np.array([True]), r"\(found: bool\)"),
        (np.array([3, -1]), "from 0 to"),
        (np.array([2**63], np.uint64), "from 0 to"),
    ],
)
def test_arrays_that_have_no_meaning_are_refused(x: NDArray[Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        noise.bernoulli_exp(x)


def test_an_array_brings_its_own_size() -> None:
    with pytest.raises(ParameterError, match=r"size must not be given .*Try: size=None"):
        noise.bernoulli_exp(np.arange(3), 3)


@pytest.mark.parametrize("p", [-1, "1.01", 2])
def test_a_chance_outside_zero_to_one_is_refused(p: int | str) -> None:
    with pytest.raises(ParameterError, match="between 0 and 1"):
        noise.bernoulli(p)


def test_a_negative_exponent_is_refused() -> None:
    with pytest.raises(ParameterError, match="below 0"):
        noise.bernoulli_exp(-1)
