"""Densities of smooth functions of noise: the loss is that of the noise, moved and stretched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet import noise
from discreet.audit.attacks import densities
from discreet.audit.inputs.subject import Subject
from discreet.ledger.costs import cost
from discreet.privacy import GaussianDP, Pure
from discreet.privacy.losses import Losses

FINE = 2**20


def gaussian(value: float) -> list[float]:
    """Return a smooth function of Gaussian noise around a number."""
    noisy = value + float(noise.discrete_gaussian(FINE**2)) / FINE
    return [noisy + 0.1 * float(np.tanh(noisy))]


def laplace(value: float) -> list[float]:
    return [value + float(noise.discrete_laplace(FINE)) / FINE]


def stretched(value: float) -> list[float]:
    """Return noise whose width is that of the table."""
    return [(1 + value) * float(noise.discrete_laplace(FINE)) / FINE]


def attacked(release: Any, loss: Losses) -> Any:
    return densities.attack(Subject(name="it", release=release, loss=loss, pairs=[(0.0, 1.0)]), size=1)


def test_post_processing_loses_nothing_and_adds_nothing() -> None:
    assert not attacked(gaussian, GaussianDP("1.01")).caught
    assert attacked(gaussian, GaussianDP("0.97")).caught
    assert cost(GaussianDP(1)).rho == 0.5


def test_laplace_noise_loses_its_epsilon() -> None:
    assert not attacked(laplace, Pure(1)).caught
    assert attacked(laplace, Pure("0.99")).caught
    assert attacked(laplace, Pure(1)).found == pytest.approx(1, abs=1e-3)


def test_a_determinant_is_seen() -> None:
    """The width 2 halves the density in the middle, and far out the ratio is not bounded."""
    assert attacked(stretched, Pure(2)).found > 2


def test_noise_that_follows_from_the_table_is_caught() -> None:
    def release(value: float) -> list[float]:
        return [float(noise.discrete_laplace(FINE + int(value)))]

    assert attacked(release, Pure(100)).caught
