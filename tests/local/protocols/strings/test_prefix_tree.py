"""Test the tree of prefixes: the loss from the bytes, the words found, and no false words."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from discreet import noise
from discreet.audit import law
from discreet.errors import ParameterError
from discreet.local.primitives.fixed_point import epsilon_above
from discreet.local.primitives.hash_family import fingerprints
from discreet.local.primitives.randomness import SCALE, Keyed
from discreet.local.protocols.strings.prefix_tree import PrefixTree
from discreet.local.protocols.strings.strings import (
    OTHER,
    Alphabet,
    Words,
    checked_words,
    extended,
    significant,
)
from discreet.local.server.estimate import Estimate

SMALL = Alphabet("ab", length=2)
TREE = PrefixTree.for_epsilon(SMALL, 1, rows=1, columns=4, seed=2)
LETTERS = Alphabet("abcdefghijklmnopqrstuvwxyz", length=6)


def word(text: str) -> Words:
    return SMALL.words([text])


def test_the_loss_is_what_the_bytes_show() -> None:
    laws = [TREE.law(word(text)) for text in ("", "a", "ab", "ba", "bx")]
    assert all(sum(each.values()) == 1 for each in laws)
    worst = max(P[seen] / Q[seen] for P, Q in permutations(laws, 2) for seen in P)
    assert TREE.loss.epsilon == epsilon_above(worst)
    assert Fraction(1) - Fraction(1, 10**9) < TREE.loss.epsilon <= 1


def test_the_code_has_the_law() -> None:
    found = law(lambda: TREE.encode(word("ab")).tobytes(), unexplored="1e-9")
    stated = TREE.law(word("ab"))
    assert len(found.chances) == len(stated)
    for seen, chance in stated.items():
        low, high = found.chance(seen)
        assert low - 1e-12 <= chance <= high + 1e-9


def test_keyed_reports_are_the_words_of_the_stream() -> None:
    """Do what a client in another language does: a level, then the sketch of the level's byte and the prefix."""
    tree = PrefixTree.for_epsilon(LETTERS, 1, step=2, rows=8, columns=64)
    for context in (b"%d" % i for i in range(30)):  # each shows one bit of the item
        stream = Keyed(b"key", context)
        level = int(stream.below(3, 1)[0])
        prefix = LETTERS.words(["wombat"])[0, : 2 * (level + 1)].tobytes()
        expected = tree.sketch.encode_items(fingerprints([bytes([level]) + prefix]), stream)
        found = tree.encode(LETTERS.words(["wombat"]), Keyed(b"key", context))
        assert found.tolist() == [[level, *expected[0].tolist()]]


def population(n: int, seed: int) -> list[str]:
    """Three words for most, and words of their own for the others."""
    generator = np.random.default_rng(seed)
    rare = ["".join(generator.choice(list("abcdefgh"), 6)) for _ in range(n // 5)]
    return [*["wombat"] * (2 * n // 5), *["owl"] * (n // 4), *["wolf"] * (n - n // 5 - 2 * n // 5 - n // 4), *rare]


def collected(tree: PrefixTree, words: Words, seed: int) -> np.ndarray:
    with noise.deterministic(seed):
        reports = tree.encode(words)
    assert reports.shape == (len(words), tree.payload_bytes)
    assert tree.valid(reports).all()
    state, half = tree.state(), len(words) // 2
    tree.add(state, reports[:half])
    tree.add(state, reports[half:])
    whole = tree.state()
    tree.add(whole, reports)
    np.testing.assert_array_equal(state, whole)
    return state


@pytest.mark.parametrize("step", [1, 2])
def test_common_words_are_found_and_no_others(step: int) -> None:
    """60,000 devices at ε = 4: a miss is over 15 standard errors away, and alpha is 1e-7 for a false word."""
    tree = PrefixTree.for_epsilon(LETTERS, 4, step=step, rows=64, columns=256)
    state = collected(tree, LETTERS.words(population(60_000, 1)), 1)
    found = tree.find(state, LETTERS, confidence="0.9999999")
    assert [each.text for each in found] == ["wombat", "owl", "wolf"]
    for each, share in zip(found, (0.4, 0.25, 0.15), strict=True):
        assert abs(each.frequency - share) < 6 * each.standard_error
    assert tree.find(state, LETTERS, least=0.2)[-1].text == "owl"
    assert len(tree.find(state, LETTERS, most=1)) == 1


def test_nothing_is_found_where_nothing_is_common() -> None:
    """Each device has its own word: alpha is 1e-7 for finding one."""
    tree = PrefixTree.for_epsilon(LETTERS, 2, step=3, rows=64, columns=256)
    generator = np.random.default_rng(3)
    state = collected(tree, generator.integers(1, 27, (4000, 6)).astype(np.uint8), 2)
    assert tree.find(state, LETTERS, confidence="0.9999999") == ()
    assert tree.find(tree.state(), LETTERS) == ()


def test_parameters_make_the_same_tree_again() -> None:
    assert PrefixTree(**TREE.parameters()) == TREE
    assert TREE.influence == pytest.approx(2 * TREE.sketch.influence)
    assert TREE.valid(np.array([[1, 7], [2, 0], [0, 8]], np.uint8)).tolist() == [True, False, False]


def test_words_become_rows_of_symbols_and_come_back() -> None:
    rows = LETTERS.words(["owl", "wombats", "", "Owl!"])
    assert [LETTERS.text(row) for row in rows] == ["owl", "wombat", "", f"{OTHER}wl{OTHER}"]
    for texts in ("aa", "", "x" * 251):
        with pytest.raises(ParameterError, match="letters"):
            Alphabet(texts, 3)
    with pytest.raises(ParameterError, match="255"):
        Alphabet("ab", 256)


def test_nothing_follows_the_end_of_a_word() -> None:
    longer = extended(np.array([[1], [0]], np.uint8), symbols=3, step=2)
    assert [0, 0, 0] in longer.tolist()
    assert all(row[1:] == [0, 0] for row in longer.tolist() if row[0] == 0)
    assert all(row[2] == 0 for row in longer.tolist() if row[1] == 0)
    assert len(longer) == 1 + (1 + 2 * 3)
    assert len(np.unique(longer, axis=0)) == len(longer)


def test_what_counts_as_found_is_above_zero_for_all_candidates_at_once() -> None:
    values = Estimate(np.array([0.1, 3.0, 5.0, 2.0]), np.ones(4), 100)
    assert significant(values, "0.95", most=9).tolist() == [2, 1]  # 1 − 0.05/4 is at 2.24
    assert significant(values, "0.95", most=9, least=4).tolist() == [2]
    with pytest.raises(ParameterError, match="between 0 and 1"):
        significant(values, 1, most=9)


@pytest.mark.parametrize(
    "wrong", [np.array([[1, 2, 0]]), np.array([[4, 0]]), np.array([[0.5, 0]]), np.array([1, 2])]
)
def test_words_of_other_symbols_are_refused_before_anything_is_drawn(wrong: np.ndarray) -> None:
    with pytest.raises(ParameterError, match="Alphabet"):
        checked_words(wrong, symbols=4, length=2)
    with pytest.raises(ParameterError, match="Alphabet"):
        TREE.encode(wrong)


def test_trees_without_sense_are_refused() -> None:
    with pytest.raises(ParameterError, match="divide"):
        PrefixTree(5, 6, 4, 8, 8, SCALE // 4)
    with pytest.raises(ParameterError, match="symbols"):
        PrefixTree(2, 6, 2, 8, 8, SCALE // 4)
    with pytest.raises(ParameterError, match="symbols"):
        TREE.find(TREE.state(), LETTERS)
