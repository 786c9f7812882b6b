"""A transcript loses exactly what its releases lose together, and one that loses more than its claim is caught."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from discreet.audit.inputs.subject import Subject
from discreet.audit.replay import transcript
from discreet.errors import DiscreetError
from discreet.mechanisms import Exact, Exponential, Gaussian, Laplace
from discreet.privacy import Pure, ZeroConcentrated
from discreet.privacy.losses import Losses

Rows = list[dict[str, int]]
PAIRS: list[tuple[Rows, Rows]] = [([], [{"hours": 3}])]


def twice(rows: Rows) -> Any:
    """Count with Gaussian noise, and then the hours, with noise that depends on nothing."""
    first = int(Gaussian(4).release(Exact(len(rows), 1)))
    return first, int(Gaussian(36, 3).release(Exact(sum(row["hours"] for row in rows), 3)))


def attacked(release: Any, loss: Losses) -> bool:
    return transcript.attack(Subject(name="it", release=release, loss=loss, pairs=PAIRS)).caught


def test_the_parts_of_rho_add_up() -> None:
    exactly = Fraction(1, 8) + Fraction(9, 72)
    assert not attacked(twice, ZeroConcentrated(exactly))
    assert attacked(twice, ZeroConcentrated(exactly * Fraction(999, 1000)))
    assert not attacked(twice, [ZeroConcentrated(exactly / 2) * 2])


def test_a_pure_claim_needs_a_pure_transcript() -> None:
    assert not attacked(lambda rows: int(Laplace(2).release(Exact(len(rows), 1))), Pure("0.5"))
    assert attacked(lambda rows: int(Laplace(2).release(Exact(len(rows), 1))), Pure("0.49"))


def test_a_result_that_shows_the_table_is_caught() -> None:
    assert attacked(lambda rows: (twice(rows), len(rows)), ZeroConcentrated(1))


def test_noise_that_depends_on_the_table_is_caught() -> None:
    assert attacked(lambda rows: int(Gaussian(4 + len(rows)).release(Exact(len(rows), 1))), ZeroConcentrated(1))


def test_other_noise_than_additive_is_refused() -> None:
    with pytest.raises(DiscreetError, match="additive noise only"):
        attacked(lambda rows: int(Exponential(1).release(Exact([len(rows), 0], 1))), Pure(1))
