"""Build a subject for every protocol of `local`, on a small domain.

A protocol takes the value of one device, and every other value is a neighbour: an attacker sees the bytes of a
report. Protocols with permanent noise are attacked a second time, by an attacker who sees the permanent answer
itself: this bounds what all reports together give away, and it must not cost more than `lifetime`. Protocols are
found in the registry: one without an example here makes `shipped` fail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from discreet.audit.inputs.subject import Subject
from discreet.local.primitives.hash_family import fingerprints
from discreet.local.primitives.randomness import FRESH
from discreet.local.protocols.frequency.grr import GRR, warner
from discreet.local.protocols.frequency.hadamard import Hadamard
from discreet.local.protocols.frequency.local_hashing import OLH
from discreet.local.protocols.frequency.projective_geometry import Projective
from discreet.local.protocols.frequency.subset_selection import Subset
from discreet.local.protocols.frequency.two_step_grr import TwoStepGRR, TwoStepUnary
from discreet.local.protocols.frequency.unary import OUE, SUE
from discreet.local.protocols.longitudinal import Longitudinal
from discreet.local.protocols.numeric.dbitflip import BitFlip
from discreet.local.protocols.numeric.means import Duchi, Hybrid, Piecewise
from discreet.local.protocols.numeric.one_bit_mean import OneBitMean
from discreet.local.protocols.numeric.square_wave import SquareWave
from discreet.local.protocols.protocol import Coded, Payloads, Randomiser
from discreet.local.protocols.registry import PROTOCOLS
from discreet.local.protocols.strings.count_mean_sketch import CMS, HCMS
from discreet.local.protocols.strings.prefix_tree import PrefixTree
from discreet.local.protocols.strings.rappor import Rappor
from discreet.local.protocols.strings.sequence_fragments import FragmentPuzzle
from discreet.local.protocols.strings.strings import Alphabet
from discreet.privacy import Pure

_LETTERS = Alphabet("a", length=2)

EXAMPLES: tuple[Randomiser, ...] = (
    warner("0.55"),
    GRR.for_epsilon(4, 1),
    SUE.for_epsilon(4, 1),
    OUE.for_epsilon(4, 1),
    OLH(4, buckets=3, keep=2**63, prime=5),
    Subset.for_epsilon(6, 1),
    Hadamard.for_epsilon(6, 1),
    Projective.for_epsilon(13, "0.7"),
    TwoStepGRR.for_losses(3, lifetime=2, each=1),
    TwoStepUnary.for_losses(2, lifetime=2, each=1),
    Rappor.for_losses(3, lifetime=2, each=1, bits=2, hashes=1, cohorts=2),
    CMS.for_epsilon(3, 1, rows=2, columns=3),
    HCMS.for_epsilon(3, 1, rows=2, columns=4),
    HCMS.for_epsilon(0, 1, rows=2, columns=4),
    OneBitMean.for_epsilon(5, 1),
    BitFlip.for_epsilon(3, 1, bits=2),
    Duchi.for_epsilon(3, 1),
    Piecewise.for_epsilon(5, 1),
    Hybrid.for_epsilon(3, 1),
    SquareWave.for_epsilon(5, 1),
    PrefixTree.for_epsilon(_LETTERS, 1, rows=1, columns=4),
    FragmentPuzzle.for_epsilons(_LETTERS, fragment=1, word=1, step=1, rows=1, columns=2),
)


def protocols(examples: Sequence[Randomiser] = EXAMPLES) -> dict[str, Subject]:
    """Return subjects for all examples by name, one for reports and one for permanent answers.

    >>> "GRR(domain=4, epsilon=1)" in protocols()
    True
    """
    subjects = []
    for protocol in examples:
        subjects.append(_subject(protocol, _title(protocol, protocol.loss), protocol.loss, protocol.encode))
        if isinstance(protocol, Longitudinal):
            title = _title(protocol, protocol.lifetime, "permanent, ")
            subjects.append(_subject(protocol, title, protocol.lifetime, _permanent(protocol)))
    return {subject.name: subject for subject in subjects}


def without_example() -> list[str]:
    """Return the protocols of the registry that have no example, and would not be attacked.

    >>> without_example()
    []
    """
    return sorted(set(PROTOCOLS) - {protocol.name for protocol in EXAMPLES})


def _permanent(protocol: Longitudinal) -> Callable[[Coded], Payloads]:
    return lambda values: protocol.permanent(values, FRESH)


def _subject(protocol: Randomiser, title: str, loss: Pure, step: Callable[[Coded], Payloads]) -> Subject:
    return Subject(
        name=title,
        release=lambda value: step(np.array([value]))[0],
        loss=loss,
        pairs=_pairs(protocol),
        batch=lambda value, count: step(np.repeat(np.array([value]), count, axis=0)),
    )


def _pairs(protocol: Randomiser) -> list[tuple[Any, Any]]:
    """Return pairs of values that the protocol takes: at both ends of its domain, or two strings."""
    if protocol.domain:
        return [(0, 1), (protocol.domain - 1, 0)]
    if isinstance(protocol, PrefixTree | FragmentPuzzle):
        first, second = _LETTERS.words(["aa", "bb"])
    else:
        first, second = fingerprints([b"blue", b"green"])
    return [(first, second)]


def _title(protocol: Randomiser, loss: Pure, which: str = "") -> str:
    values = f"domain={protocol.domain}" if protocol.domain else "open"
    return f"{type(protocol).__name__}({which}{values}, epsilon={float(loss.epsilon):.6g})"
