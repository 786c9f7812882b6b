"""Domains: sizes, sets of columns, and counting rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.synth.marginals import Domain
from discreet.synth.marginals.domain import onto


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.integers(0, 50), st.integers(0, 2**32 - 1))
def test_a_marginal_of_a_marginal_is_the_marginal(sizes: list[int], rows: int, seed: int) -> None:
    domain = Domain(tuple(map(str, range(len(sizes)))), tuple(sizes))
    codes = np.random.default_rng(seed).integers(0, sizes, (rows, len(sizes)))
    everything = tuple(range(len(sizes)))
    whole = domain.count(codes, everything)
    for columns in domain.sets(len(sizes) - 1):
        assert np.array_equal(onto(whole, everything, columns), domain.count(codes, columns))
    assert whole.sum() == rows


@pytest.mark.parametrize(
    ("names", "sizes", "words"),
    [
        (("a",), (1, 2), "a size for every name"),
        ((), (), "at least one"),
        (("a", "a"), (1, 2), "one name"),
        (("a",), (0,), "size"),
    ],
)
def test_an_invalid_domain_is_refused(names: tuple[str, ...], sizes: tuple[int, ...], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Domain(names, sizes)


def test_columns_are_found_by_name_and_others_refused() -> None:
    domain = Domain(("age", "sex", "city"), (3, 2, 4))
    assert domain.places(["city", "age"]) == (0, 2)
    with pytest.raises(ParameterError, match=r"no column 'pay'\. The columns are age, sex, city"):
        domain.places(["pay"])
