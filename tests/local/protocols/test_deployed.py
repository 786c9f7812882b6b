"""Test that the deployed protocols follow the contract: built from integers by name."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.audit import Subject
from discreet.audit.blackbox import blackbox
from discreet.local.primitives.bitmaps import pack_bits
from discreet.local.primitives.fixed_point import from_bytes
from discreet.local.primitives.hash_family import of_codes
from discreet.local.primitives.randomness import SCALE, Draws
from discreet.local.protocols import registry
from discreet.local.protocols.numeric.dbitflip import BitFlip
from discreet.local.protocols.numeric.means import Duchi, Hybrid, Piecewise
from discreet.local.protocols.numeric.one_bit_mean import OneBitMean
from discreet.local.protocols.numeric.square_wave import SquareWave
from discreet.local.protocols.protocol import Payloads, Randomiser, Values
from discreet.local.protocols.strings.count_mean_sketch import CMS, HCMS
from discreet.local.protocols.strings.prefix_tree import PrefixTree
from discreet.local.protocols.strings.rappor import Rappor
from discreet.local.protocols.strings.sequence_fragments import FragmentPuzzle
from discreet.local.protocols.strings.strings import Alphabet

OVER_VALUES: list[Randomiser] = [
    OneBitMean.for_epsilon(5, 1),
    Duchi.for_epsilon(5, 1),
    Piecewise.for_epsilon(5, 1),
    Hybrid.for_epsilon(5, 1),
    SquareWave.for_epsilon(5, 1),
    BitFlip.for_epsilon(5, 1),
    CMS.for_epsilon(5, 1, rows=2, columns=8),
    HCMS.for_epsilon(5, 1, rows=2, columns=8),
    Rappor.for_losses(5, lifetime=2, each=1),
]
OVER_WORDS = [
    PrefixTree.for_epsilon(Alphabet("ab", 4), 1, rows=2, columns=8),
    FragmentPuzzle.for_epsilons(Alphabet("ab", 4), fragment=1, word=1, rows=2, columns=8),
]


@pytest.mark.parametrize("randomiser", [*OVER_VALUES, *OVER_WORDS], ids=lambda randomiser: str(randomiser.name))
def test_the_registry_makes_it_again_from_its_name_and_integers(randomiser: Randomiser) -> None:
    again = registry.of(randomiser.name, randomiser.parameters())
    assert type(again) is type(randomiser)
    assert again == randomiser
    assert again.loss == randomiser.loss
    assert hash(again) == hash(randomiser)


@pytest.mark.parametrize("randomiser", OVER_VALUES, ids=lambda randomiser: str(randomiser.name))
def test_it_is_what_the_contract_asks(randomiser: Randomiser) -> None:
    assert isinstance(randomiser, Randomiser)
    assert randomiser.influence > 1


LARGER: list[tuple[Randomiser, tuple[int, int]]] = [
    (Piecewise.for_epsilon(1025, 1), (0, 1024)),
    (SquareWave.for_epsilon(256, 1), (0, 255)),
    (BitFlip.for_epsilon(64, 1, bits=8), (0, 63)),
    (HCMS.for_epsilon(1000, 1, rows=16, columns=64), (0, 999)),
    (Rappor.for_losses(100, lifetime=2, each=1, bits=16, cohorts=2), (0, 99)),
]


class OnlySetsBits(Rappor):
    """A client that replaces bits by 1 and never by 0, as one that was published: any 0 excludes a value."""

    def permanent(self, values: Values, draws: Draws, cohorts: Values | None = None) -> Payloads:
        """Return permanent bits with all bits of the value set."""
        whole = super().permanent(values, draws, cohorts)
        groups = from_bytes(whole[:, :2])
        held = np.zeros((len(values), self.bits), np.bool_)
        np.put_along_axis(
            held, self._set(groups[:, None], of_codes(self.domain)[values][:, None, :]), True, axis=1
        )
        whole[:, 2:] |= pack_bits(held)
        return whole


def black_box(randomiser: Randomiser, pair: tuple[int, int]) -> bool:
    subject = Subject(
        name=randomiser.name,
        release=lambda value: randomiser.encode(np.array([value]))[0].tolist(),
        loss=randomiser.loss,
        pairs=[pair],
        batch=lambda value, count: randomiser.encode(np.full(count, value)).astype(np.int64),
    )
    return blackbox.attack(subject, samples=40_000).caught


@pytest.mark.parametrize(("randomiser", "pair"), LARGER, ids=lambda one: str(getattr(one, "name", "")))
def test_a_black_box_finds_nothing_at_larger_sizes(randomiser: Randomiser, pair: tuple[int, int]) -> None:
    """False alarm below 1e-6 each."""
    assert not black_box(randomiser, pair)


def test_the_same_black_box_catches_a_client_that_only_sets_bits() -> None:
    parameters = Rappor(20, bits=16, hashes=2, cohorts=1, f=SCALE // 2, p=0, q=SCALE).parameters()
    assert not black_box(Rappor(**parameters), (0, 1))
    assert black_box(OnlySetsBits(**parameters), (0, 1))
