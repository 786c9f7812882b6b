"""Test public hashes: the same in every language, and as independent as the estimates assume."""

from __future__ import annotations

import hashlib

import numpy as np

from discreet.local.primitives.hash_family import P, fingerprints, of_codes, places, rows


def test_places_are_as_the_definition_reads() -> None:
    item, m = "grün".encode(), 1000
    digest = hashlib.sha256(item).digest()
    x = [int.from_bytes(digest[i : i + 8], "little") % P for i in (0, 8)]
    name = b"discreet local row" + (7).to_bytes(8, "little") + (3).to_bytes(8, "little")
    digest = hashlib.sha256(name).digest()
    a, b, c = (int.from_bytes(digest[i : i + 8], "little") % P for i in (0, 8, 16))
    found = places(rows(7, 5)[3:4], fingerprints([item]), m)
    assert found.tolist() == [(a * x[0] + b * x[1] + c) % P % m]


def test_codes_are_items_of_eight_bytes() -> None:
    np.testing.assert_array_equal(of_codes(300)[299:], fingerprints([(299).to_bytes(8, "little")]))


def test_largest_sums_fit_into_64_bits() -> None:
    largest = np.full((1, 3), P - 1, np.uint64)
    assert places(largest, largest[:, :2], 2**20).tolist() == [(2 * (P - 1) ** 2 + P - 1) % P % 2**20]


def test_pairs_and_triples_collide_as_often_as_independent_places() -> None:
    """4000 rows, 20 items, m = 8: counts within 6 standard deviations of a law with pairwise independence."""
    found = places(rows(1, 4000)[:, None, :], of_codes(20)[None, :, :], 8)
    pairs = np.mean([found[:, i] == found[:, j] for i in range(20) for j in range(i)])
    assert abs(pairs - 1 / 8) < 6 * np.sqrt(7 / 64 / (190 * 4000))
    triples = np.mean([(found[:, i] == found[:, 0]) & (found[:, i + 1] == found[:, 0]) for i in range(1, 19)])
    assert abs(triples - 1 / 64) < 6 * np.sqrt(2 / 64 / (18 * 4000))


def test_other_seeds_are_other_hashes() -> None:
    assert not np.array_equal(rows(0, 3), rows(1, 3))
    np.testing.assert_array_equal(rows(5, 3), rows(5, 9)[:3])
