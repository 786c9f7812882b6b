"""Every word of a short word size is enumerated; thresholds are probed one step to either side at 2^−68."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate

import mpmath
import numpy as np
import pytest

from discreet.errors import LawTooWide
from discreet.noise.gaussian_sampler import Blocks, Centred
from discreet.noise.inversion import Inversion, Law
from discreet.noise.laplace_sampler import CutGeometric, SignedGeometric
from tests.noise.goodness import real
from tests.noise.scripted import Scripted

ROUNDING = mpmath.mpf(2) ** -100  # of the witness, at 300 bits


def cut_geometric(rate: Fraction, size: int) -> Callable[[int], mpmath.mpf]:
    q = mpmath.exp(-real(rate))
    return lambda r: q**r * (1 - q) / (1 - q**size) if r < size else mpmath.mpf(0)


def signed_geometric(rate: Fraction, step: int) -> Callable[[int], mpmath.mpf]:
    q, y = mpmath.exp(-real(rate)), mpmath.exp(-real(rate) * step)
    return lambda r: (1 - y) * y ** (r // 2) * (q if r % 2 else 1) / (1 + q)


def centred(variance: Fraction) -> Callable[[int], mpmath.mpf]:
    rate = 1 / (2 * real(variance))
    total = mpmath.fsum(mpmath.exp(-rate * x * x) for x in range(-600, 601))
    return lambda r: mpmath.exp(-rate * ((r + 1) // 2) ** 2) / total


def blocks(c: Fraction) -> Callable[[int], mpmath.mpf]:
    rate = real(c)
    total = mpmath.fsum(mpmath.exp(-rate * k * k) for k in range(600))

    def mass(rank: int) -> mpmath.mpf:
        heads = min(rate * (2 * (rank // 2) + 1), mpmath.mpf(1))
        return mpmath.exp(-rate * (rank // 2) ** 2) * (heads if rank % 2 else 1 - heads) / total

    return mass


LAWS: dict[str, tuple[Law, Callable[[int], mpmath.mpf]]] = {
    "cut geometric": (CutGeometric(Fraction(1, 7), 8), cut_geometric(Fraction(1, 7), 8)),
    "cut geometric, nearly flat": (CutGeometric(Fraction(1, 2**50), 16), cut_geometric(Fraction(1, 2**50), 16)),
    "signed geometric": (SignedGeometric(Fraction(3, 7), 1), signed_geometric(Fraction(3, 7), 1)),
    "signed geometric in steps": (SignedGeometric(Fraction(1, 9), 4), signed_geometric(Fraction(1, 9), 4)),
    "signed geometric of a float": (SignedGeometric(Fraction(0.1), 4), signed_geometric(Fraction(0.1), 4)),
    "centred gaussian": (Centred(Fraction(7, 3)), centred(Fraction(7, 3))),
    "wider gaussian": (Centred(Fraction(500)), centred(Fraction(500))),
    "blocks": (Blocks(Fraction(1, 600)), blocks(Fraction(1, 600))),
    "wide blocks, whose coins all show heads soon": (Blocks(Fraction(1, 9)), blocks(Fraction(1, 9))),
}
laws = pytest.mark.parametrize(("law", "mass"), LAWS.values(), ids=LAWS)


@laws
@pytest.mark.parametrize(("cell_bits", "word_bits"), [(3, 3), (3, 5), (6, 12)])
def test_words_are_decided_only_as_far_as_the_law_allows(
    law: Law, mass: Callable[[int], mpmath.mpf], cell_bits: int, word_bits: int
) -> None:
    ranks, sure = Inversion(law, cell_bits=cell_bits, word_bits=word_bits).decide(np.arange(1 << word_bits))
    cdf = list(accumulate((mass(rank) for rank in range(int(ranks.max()) + 1)), initial=mpmath.mpf(0)))
    for word in np.flatnonzero(sure):
        rank = ranks[word]
        assert cdf[rank] * 2**word_bits <= word + ROUNDING
        assert word + 1 <= cdf[rank + 1] * 2**word_bits + ROUNDING
    assert np.sum(~sure) <= len(np.unique(ranks)) + 4  # a word for every threshold, and the last few


@laws
@pytest.mark.parametrize("precision", [1, 2, 3, 5, 8, 12, 56, 120])
def test_bounds_hold_at_every_precision(law: Law, mass: Callable[[int], mpmath.mpf], precision: int) -> None:
    below = mpmath.mpf(0)
    lows, width = law.cdf(precision)
    assert width <= 3
    for rank, low in enumerate(lows):
        below += mass(rank)
        assert low - ROUNDING <= below * 2**precision <= low + width + ROUNDING


@laws
@pytest.mark.parametrize(("cell_bits", "word_bits"), [(3, 5), (6, 12)])
def test_a_cell_is_decided_exactly_when_all_of_its_words_are(
    law: Law, mass: Callable[[int], mpmath.mpf], cell_bits: int, word_bits: int
) -> None:
    inversion = Inversion(law, cell_bits=cell_bits, word_bits=word_bits)
    ranks, sure = (row.reshape(1 << cell_bits, -1) for row in inversion.decide(np.arange(1 << word_bits)))
    agree = (ranks.min(axis=1) == ranks.max(axis=1)) & sure.all(axis=1)
    np.testing.assert_array_equal(np.repeat(*inversion.runs()), np.where(agree, ranks[:, 0], -1))


@laws
def test_full_width_leaves_few_cells_and_almost_no_words_undecided(
    law: Law, mass: Callable[[int], mpmath.mpf]
) -> None:
    inversion = Inversion(law)
    assert np.mean(np.repeat(*inversion.runs()) < 0) < 0.02
    _, sure = inversion.decide(np.linspace(0, 2**48 - 1, 100_000).astype(np.int64))
    assert np.sum(~sure) <= 1  # the last word, all ones, always is


@laws
def test_lazy_bits_settle_a_draw_to_the_last_of_68(law: Law, mass: Callable[[int], mpmath.mpf]) -> None:
    inversion = Inversion(law, cell_bits=3, word_bits=4)
    below = mpmath.mpf(0)
    for rank in range(6):
        below += mass(rank)
        threshold = int(mpmath.floor(below * 2**68))
        for word, expected in ((threshold - 1, rank), (threshold + 1, rank + 1)):
            script = Scripted([word % 2**64])
            assert inversion._lazily(word >> 64, script) == expected
            assert not script.integers


def test_a_draw_on_a_threshold_asks_for_more_bits() -> None:
    law, mass = LAWS["signed geometric"]
    word = int(mpmath.floor(mass(0) * 2**132))
    script = Scripted([word >> 64 & 2**64 - 1, word % 2**64 - 1])
    assert Inversion(law, cell_bits=3, word_bits=4)._lazily(word >> 128, script) == 0
    assert not script.integers


def test_a_rank_beyond_the_limit_is_an_error_and_not_a_wrapped_value() -> None:
    inversion = Inversion(SignedGeometric(Fraction(1), 1), limit=5, cell_bits=3, word_bits=4)
    assert inversion._lazily(0, Scripted([2**64 - 1])) == 0
    with pytest.raises(LawTooWide, match="outside"):
        inversion._lazily(15, Scripted([2**64 - 2**50]))
