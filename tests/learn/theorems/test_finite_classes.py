"""Risk of finite classes: the bounds hold in simulations that are hard for them, and are rounded up."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.learn import finite
from discreet.learn.theorems import (
    erm_agnostic,
    erm_realisable,
    excess_errors,
    kl_inverse,
    private_agnostic,
    private_realisable,
)
from discreet.schema.metadata import UNIT

N, SIZE, RUNS = 400, 64, 3000


def chosen(risks: Any, scale: float, seed: int = 0) -> Any:
    """Return the risk of the hypothesis chosen in each run: independent errors, and e^{−errors/scale}."""
    rng = np.random.default_rng(seed)
    errors = rng.binomial(N, risks, (RUNS, len(risks)))
    keys = -errors / scale + rng.gumbel(size=errors.shape) if scale else -errors + 1e-9 * rng.random(errors.shape)
    return np.asarray(risks)[np.argmax(keys, axis=1)]


@pytest.mark.parametrize("gap", [0.01, 0.02, 0.04, 0.08])
@pytest.mark.parametrize("epsilon", [0.05, 0.5, 5.0])
def test_realisable_risks_stay_below_the_bound(gap: float, epsilon: float) -> None:
    """A share of 0.05 would be seen above 0.08 less than once in 10⁹ sets of 3,000 runs."""
    risks = np.r_[0.0, np.full(SIZE - 1, gap)]
    bound = private_realisable(N, SIZE, epsilon=f"{epsilon}")
    assert np.mean(chosen(risks, 1 / epsilon) > bound) < 0.08
    assert np.mean(chosen(risks, 0) > erm_realisable(N, SIZE)) < 0.08
    replaced = private_realisable(N, SIZE, epsilon=f"{epsilon}", neighbours="replace")
    assert np.mean(chosen(risks, 2 / epsilon) > replaced) < 0.08


@pytest.mark.parametrize("gap", [0.02, 0.1, 0.2])
@pytest.mark.parametrize("epsilon", [0.05, 0.5])
def test_agnostic_excess_stays_below_the_bound(gap: float, epsilon: float) -> None:
    risks = np.r_[0.3, np.full(SIZE - 1, 0.3 + gap)]
    assert np.mean(chosen(risks, 1 / epsilon) - 0.3 > private_agnostic(N, SIZE, epsilon=f"{epsilon}")) < 0.08
    assert np.mean(chosen(risks, 0) - 0.3 > erm_agnostic(N, SIZE)) < 0.08


def test_the_bound_of_the_theorem_is_not_below_that_of_the_mechanism() -> None:
    """The mechanism's own bound is exact for the worst scores; the textbook's ln|H|/β is a little larger."""
    for size in (2, 64, 10_000):
        mechanism = finite.mechanism_for(1, True, weight=UNIT, candidates=size, choosing="exponential")  # type: ignore[arg-type]
        own = mechanism.error("0.95", candidates=size) / UNIT
        assert own <= excess_errors(size, epsilon=1) <= own + 1.1


def test_privacy_costs_less_and_less_beside_sampling() -> None:
    few, many = (private_agnostic(n, 1000, epsilon="0.1") / erm_agnostic(n, 1000) for n in (10_000, 10**8))
    assert many < 1.05 < few
    assert private_agnostic(10, 1000, epsilon="0.1") == 1.0


@pytest.mark.parametrize("share", [0.0, 1e-9, 0.01, 0.3, 0.999])
@pytest.mark.parametrize("bound", [1e-12, 1e-3, 0.5, 40.0])
def test_the_inverse_of_the_divergence_is_rounded_up(share: float, bound: float) -> None:
    found = kl_inverse(share, bound)
    a, b = mpmath.mpf(share), mpmath.mpf(bound)

    def kl(r: Any) -> Any:
        first = a * mpmath.log(a / r) if share else mpmath.mpf(0)
        return first + (1 - a) * mpmath.log((1 - a) / (1 - r))

    if found < 1:
        assert kl(mpmath.mpf(found)) >= b
    near = share + (found - share) * (1 - 1e-3)
    if found - share > 1e-12:
        assert kl(mpmath.mpf(near)) <= b * (1 + 1e-9)
    assert found <= share + bound + np.sqrt(bound**2 + 2 * share * bound) + 1e-9


def test_what_is_refused() -> None:
    wrong: Any = "friends"
    with pytest.raises(ParameterError, match="add or remove"):
        excess_errors(10, epsilon=1, neighbours=wrong)
    with pytest.raises(ParameterError):
        erm_agnostic(0, 10)
    with pytest.raises(ParameterError):
        erm_agnostic(10, 0)
    with pytest.raises(ParameterError):
        erm_realisable(10, 10, beta=1)
    with pytest.raises(ParameterError):
        private_agnostic(10, 10, epsilon=0)
