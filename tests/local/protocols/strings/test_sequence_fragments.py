"""Test the puzzle of fragments: both reports are charged, and the words are found."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from discreet import noise
from discreet.audit import law
from discreet.errors import ParameterError
from discreet.local.primitives.fixed_point import epsilon_above
from discreet.local.primitives.randomness import SCALE
from discreet.local.protocols.strings.sequence_fragments import FragmentPuzzle, pieces
from discreet.local.protocols.strings.strings import Alphabet

SMALL = Alphabet("ab", length=2)
PUZZLE = FragmentPuzzle.for_epsilons(SMALL, fragment=2, word=1, step=1, rows=1, columns=2, seed=1)
LETTERS = Alphabet("abcdefghijkl", length=4)


def test_the_loss_is_that_of_both_reports_in_the_bytes() -> None:
    laws = [PUZZLE.law(SMALL.words([text])) for text in ("", "a", "b", "ab", "ba", "aa", "bb")]
    assert all(sum(each.values()) == 1 for each in laws)
    worst = max(P[seen] / Q[seen] for P, Q in permutations(laws, 2) for seen in P)
    assert PUZZLE.loss.epsilon == epsilon_above(worst)
    assert float(PUZZLE.loss.epsilon) == pytest.approx(3, abs=1e-9)


def test_the_code_has_the_law() -> None:
    found = law(lambda: PUZZLE.encode(SMALL.words(["ab"])).tobytes(), unexplored="1e-9")
    stated = PUZZLE.law(SMALL.words(["ab"]))
    assert len(found.chances) == len(stated)
    for seen, chance in stated.items():
        low, high = found.chance(seen)
        assert low - 1e-12 <= chance <= high + 1e-9


def test_common_words_are_put_together_and_no_others() -> None:
    """60,000 devices: fragments are over 15 standard errors above zero, a false word has a probability of 1e-7."""
    puzzle = FragmentPuzzle.for_epsilons(LETTERS, fragment=4, word=2, step=2, rows=32, columns=256)
    generator = np.random.default_rng(1)
    rare = ["".join(generator.choice(list("abcdefghijkl"), 4)) for _ in range(9000)]
    words = LETTERS.words(["bail"] * 27_000 + ["cab"] * 15_000 + ["jade"] * 9000 + rare)
    with noise.deterministic(3):
        reports = puzzle.encode(words)
    assert puzzle.valid(reports).all()
    parts = [puzzle.state() for _ in range(3)]
    puzzle.add(parts[0], reports[:20_000])
    puzzle.add(parts[1], reports[20_000:])
    puzzle.add(parts[2], reports)
    np.testing.assert_array_equal(parts[0] + parts[1], parts[2])
    found = puzzle.find(parts[2], LETTERS, confidence="0.9999999")
    assert [each.text for each in found] == ["bail", "cab", "jade"]
    for each, share in zip(found, (0.45, 0.25, 0.15), strict=True):
        assert abs(each.frequency - share) < 6 * each.standard_error
    assert puzzle.find(puzzle.state(), LETTERS) == ()


def test_pieces_are_bytes_of_a_hash_of_the_whole_word() -> None:
    words = np.random.default_rng(0).integers(0, 5, (500, 6)).astype(np.uint8)
    assert len(set(pieces(words).tolist())) > 150
    assert pieces(words[:1]) == pieces(words)[:1]
    assert len(pieces(words[:0])) == 0


def test_what_has_no_meaning_is_refused() -> None:
    with pytest.raises(ParameterError, match="divide"):
        FragmentPuzzle(5, 6, 4, 8, 8, SCALE // 4, SCALE // 4)
    with pytest.raises(ParameterError, match="symbols"):
        PUZZLE.find(PUZZLE.state(), LETTERS)
    assert FragmentPuzzle(**PUZZLE.parameters()) == PUZZLE
    assert PUZZLE.valid(np.array([[1, 3, 3], [2, 0, 0], [0, 4, 0], [0, 0, 4]], np.uint8)).tolist() == [
        True,
        False,
        False,
        False,
    ]
