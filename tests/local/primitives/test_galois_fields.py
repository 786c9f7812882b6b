"""Test finite fields: their laws, and published products."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.local.primitives.galois_fields import chunks, field, orders, prime_power


@pytest.mark.parametrize("q", [2, 3, 4, 5, 7, 8, 9, 16, 25, 27, 31])
def test_it_is_a_field(q: int) -> None:
    f, x = field(q), np.arange(q)
    plus, times = f.plus, f.times
    a, b, c = x[:, None, None], x[:, None], x
    for table in (plus, times):
        assert (table == table.T).all()
        assert (table[table[a, b], c] == table[a, table[b, c]]).all()
    assert (times[a, plus[b, c]] == plus[times[a, b], times[a, c]]).all()
    assert (plus[0] == x).all()
    assert (times[1] == x).all()
    assert (plus[x, f.minus] == 0).all()
    assert (times[x[1:], f.inverse[1:]] == 1).all()


@pytest.mark.parametrize("q", [2, 3, 4, 8, 9, 13, 27])
def test_characters_add_up_to_nothing_but_for_zero(q: int) -> None:
    f = field(q)
    assert f.trace.max() < f.p
    sums = np.exp(2j * np.pi * f.trace[f.times] / f.p).sum(axis=0)
    np.testing.assert_allclose(sums, np.where(np.arange(q) == 0, q, 0), atol=1e-9)


def test_the_field_of_256_is_that_of_the_advanced_encryption_standard() -> None:
    """x⁸ + x⁴ + x³ + x + 1 is the smallest there is; FIPS 197 multiplies 57 by 83."""
    assert field(256).times[0x57, 0x83] == 0xC1


def test_small_fields_are_those_that_every_client_must_make() -> None:
    assert field(4).times[2].tolist() == [0, 2, 3, 1]
    assert field(8).times[2].tolist() == [0, 2, 4, 6, 3, 1, 7, 5]
    assert field(9).times[3].tolist() == [0, 3, 6, 2, 5, 8, 1, 4, 7]


@pytest.mark.parametrize("q", [2, 3, 4, 53])
def test_tables_of_vectors_are_made_place_by_place(q: int) -> None:
    f, tables = field(q), chunks(q)
    cells = np.arange(tables.radix)[:, None] // q ** np.arange(tables.places) % q
    for x, y in ((0, 1), (1, tables.radix - 1), (tables.radix // 2, tables.radix - 2)):
        total = 0
        for place in range(tables.places):
            total = int(f.plus[total, f.times[cells[x, place], cells[y, place]]])
        assert tables.inner[x, y] == total
        multiple = f.times[q - 1, cells[y]] @ q ** np.arange(tables.places)
        assert tables.multiple[q - 1, y] == multiple
        held = cells[y][cells[y] > 0]
        assert tables.leading[y] == (held[-1] if len(held) else 0)


def test_what_is_no_prime_power_has_no_field() -> None:
    assert prime_power(1) is None
    assert 6 not in orders()
    assert 1024 in orders()
    for q in (1, 6, 12, 1031):
        with pytest.raises(ParameterError, match=f"no field of {q} elements"):
            field(q)
