"""Rows for private statistical queries: the formula, the literal one of the notes, and what happens at both."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.learn.theorems import (
    noise_failure,
    notes_sample_size,
    sample_size,
    sample_size_parts,
    tolerance_at,
)

SETTING = {"queries": 100, "tolerance": "0.1", "epsilon": 1}


def failures(rows: int, bound: float, *, queries: int = 100, runs: int = 4000, seed: int = 0) -> float:
    """Return how often one of the answers is further off than the bound: fair coins, noise of scale K/(εm)."""
    rng = np.random.default_rng(seed)
    means = rng.binomial(rows, 0.5, (runs, queries)) / rows + rng.laplace(0, queries / rows, (runs, queries))
    return float(np.mean(np.any(np.abs(means - 0.5) > bound, axis=1)))


def test_the_number_of_the_theorem_and_of_the_notes() -> None:
    assert sample_size(100, "0.1", epsilon=1, beta="0.05") == 16_589
    assert notes_sample_size(100, "0.1", epsilon=1, beta="0.05") == 5_992


def test_the_literal_number_of_rows_fails_and_the_corrected_one_does_not() -> None:
    """The notes conclude that all answers are within τ/2, except with 0.05. Without a union bound few runs are.

    Of 4,000 runs each: a share of 0.05 would be seen above 0.07 less than once in 10⁷.
    """
    literal, corrected = 5_992, 16_589
    assert failures(literal, 0.05) > 0.98
    assert failures(corrected, 0.05) < 0.05
    assert failures(corrected, 0.1) < 0.002
    assert failures(literal, 0.1) > 0.15  # not even within τ


def test_the_exact_failure_of_the_noise() -> None:
    rng = np.random.default_rng(1)
    for rows, want in ((5_992, 0.994), (16_589, 0.0247)):
        found = noise_failure(rows, 100, "0.1", epsilon=1)
        assert abs(found - want) < 1e-3
        drawn = np.any(np.abs(rng.laplace(0, 100 / rows, (4000, 100))) > 0.05, axis=1).mean()
        assert abs(drawn - found) < 0.02
    assert noise_failure(0, 100, "0.1", epsilon=1) == 1.0


@pytest.mark.parametrize("beta", ["0.5", "0.05", "1e-9"])
@pytest.mark.parametrize("queries", [1, 7, 100_000])
@pytest.mark.parametrize(("tau", "epsilon"), [("0.5", 10), ("0.01", "0.001"), ("1e-4", 1)])
def test_it_is_the_least_integer_that_the_proof_allows(queries: int, tau: str, epsilon: str, beta: str) -> None:
    private, sampling = sample_size_parts(queries, tau, epsilon=epsilon, beta=beta)
    t, e, b = (mpmath.mpf(str(number)) for number in (tau, epsilon, beta))

    def noise(m: int) -> mpmath.mpf:
        return queries * mpmath.exp(-t * e * m / (2 * queries))

    def hoeffding(m: int) -> mpmath.mpf:
        return 2 * queries * mpmath.exp(-m * t**2 / 2)

    assert noise(private) <= b / 2 < noise(private - 1)
    assert hoeffding(sampling) <= b / 2 < hoeffding(sampling - 1)
    assert noise_failure(private, queries, tau, epsilon=epsilon) <= float(b / 2) * (1 + 1e-9)


def test_values_from_minus_one_to_one_take_twice_the_noise_and_four_times_the_sample() -> None:
    plain = sample_size_parts(10, "0.01", epsilon=1)
    signed = sample_size_parts(10, "0.01", epsilon=1, signed=True)
    assert 0 <= 2 * plain[0] - signed[0] <= 2
    assert 0 <= 4 * plain[1] - signed[1] <= 4


def test_the_tolerance_is_the_inverse() -> None:
    for queries in (1, 50):
        for rows in (100, 10_000, 10**7):
            tau = tolerance_at(rows, queries, epsilon="0.5")
            if tau < 1:
                assert sample_size(queries, f"{tau * (1 + 1e-9):.12f}", epsilon="0.5") <= rows
                assert sample_size(queries, f"{tau * (1 - 1e-6):.12f}", epsilon="0.5") > rows


@pytest.mark.parametrize(
    "changes", [{"queries": 0}, {"tolerance": 0}, {"tolerance": 1}, {"epsilon": 0}, {"beta": 0}, {"beta": 1}]
)
def test_what_is_refused(changes: dict[str, object]) -> None:
    given: dict[str, object] = {**SETTING, "beta": "0.05", **changes}
    with pytest.raises(ParameterError):
        sample_size(**given)  # type: ignore[arg-type]
