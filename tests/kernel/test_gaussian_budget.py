"""The cost of a synthesis: the claimed sums, and the lemma behind them."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.kernel.gaussian_budget import Unit, mu, parts, release_rho, rho_of, spent
from discreet.ledger import Account, Balance, Budget
from discreet.ledger.costs import cost
from discreet.privacy.pld.normal import gaussian_delta
from discreet.privacy.theorems.learning.tolerance import SMOOTHING
from tests.synth.tables import people, sealed

budgets = st.fractions(Fraction(1, 10**6), Fraction(50))


@given(budgets, st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=30), st.integers(1, 8))
def test_parts_never_cost_more_than_the_whole_in_rho_or_in_mu(
    rho: Fraction, shares: list[float], rows_per_person: int
) -> None:
    unit = Unit(4096 * rows_per_person)
    divided = parts(rho, dict(enumerate(shares)))
    assert sum(divided.values(), Fraction(0)) <= rho
    noises = [unit.marginal(part) if name % 2 else unit.scores(part, 1 + name) for name, part in divided.items()]
    assert spent(noises) <= rho
    assert mu(noises) ** 2 <= 2 * rho * (1 + 1e-12)


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=30))
def test_almost_nothing_of_a_budget_is_left_over(shares: list[float]) -> None:
    assert sum(parts(Fraction(1), dict(enumerate(shares))).values()) > Fraction(999_999, 10**6)


@given(rho=st.fractions(Fraction(1, 10**9), 20), contribution=st.integers(1, 10**6))
def test_a_choice_costs_no_more_than_its_part_in_rho_or_in_mu(rho: Fraction, contribution: int) -> None:
    """From 0.8 of ρ on at ρ = 5, where ε is large, and from .99 of it on for all that is spent in practice."""
    choice = Unit(contribution).choice(rho)
    assert choice.sensitivity == contribution
    assert spent([choice]) <= rho
    assert mu([choice]) ** 2 <= 2 * rho
    assert rho > Fraction(1, 10) or mu([choice]) ** 2 > 1.97 * rho


def test_noise_and_choices_add_up() -> None:
    unit, part = Unit(4096), Fraction(1, 1000)
    drawn, choice = unit.marginal(part), unit.choice(part)
    assert mu([drawn, choice]) ** 2 == pytest.approx(mu([drawn]) ** 2 + mu([choice]) ** 2)
    assert spent([drawn, choice]) == spent([drawn]) + spent([choice])


def test_the_noise_of_scores_counts_every_score() -> None:
    unit = Unit(4096)
    assert cost(unit.scores(Fraction(1, 100), 105).loss).rho <= Fraction(1, 100)
    assert unit.scores(Fraction(1, 100), 105).variance > 104 * unit.scores(Fraction(1, 100), 1).variance
    assert unit.score_sensitivity(105).l2_squared == 105 * 4096**2


@pytest.mark.parametrize(("epsilon", "delta"), [("0.1", "1e-9"), (1, "1e-9"), (10, "1e-6"), (3, "1e-40")])
def test_a_release_of_epsilon_and_delta_keeps_its_word_and_wastes_nothing(epsilon: object, delta: str) -> None:
    found = math.sqrt(2 * rho_of(epsilon, delta))  # type: ignore[arg-type]
    exact = float(Fraction(str(epsilon)))
    assert gaussian_delta(found, exact)[1] <= float(Fraction(delta))
    assert gaussian_delta(found * (1 + 1e-6), exact)[0] > float(Fraction(delta)) * (1 - 1e-3)


def test_an_epsilon_costs_no_more_than_the_whole_budget_and_no_more_than_its_guarantee() -> None:
    whole = Balance(Account()).granted(Budget(2, "1e-9"))
    assert release_rho([whole], 2, None) == whole.total
    assert release_rho([whole], "0.5", None) == rho_of("0.5", "1e-9") < (whole.total or 0)
    assert release_rho([whole], 3, None) == rho_of(3, "1e-9") > (whole.total or 0)  # which the ledger refuses


@pytest.mark.parametrize(("epsilon", "delta"), [(1, "1"), (1, "1e-300"), (2000, "1e-9"), (0, "1e-9"), (-1, "0.1")])
def test_an_epsilon_or_delta_without_use_is_refused(epsilon: int, delta: str) -> None:
    with pytest.raises(ParameterError):
        rho_of(epsilon, delta)


def test_a_discrete_gaussian_is_a_real_one_rounded_at_random() -> None:
    """The lemma: N(x, v − 9), then an integer from the discrete Gaussian of variance 9 around it, is N_Z(x, v).

    The integral over the real value is a sum over a fine grid, which for such functions is exact to rounding.
    """
    v, shift = 40.0, 3
    integers = np.arange(-80, 81)
    real = np.arange(-90, 90, 1 / 64)
    smooth = np.exp(-np.square(real - shift) / (2 * (v - SMOOTHING)))
    rounding = np.exp(-np.square(integers[:, None] - real) / (2 * SMOOTHING))
    every = np.exp(-np.square(np.arange(-200, 201)[:, None] - real) / (2 * SMOOTHING)).sum(axis=0)
    law = (rounding / every * smooth).sum(axis=1)
    discrete = np.exp(-np.square(integers - shift) / (2 * v))
    ratio = (law / law.sum()) / (discrete / discrete.sum())
    near = np.abs(integers - shift) < 40
    assert np.abs(ratio[near] - 1).max() < 1e-9
    assert np.ptp(every) / every.mean() < 1e-12  # the normaliser does not depend on the real value


def test_all_that_a_synthesis_measures_costs_what_it_is_charged(tmp_path: Path) -> None:
    with sealed(people(500), tmp_path / "people.vault") as vault:
        table = vault.synthesize(["city", "married"], epsilon=6)
        charged = float(vault.ledger.balance().spent.rho)
    variances = [m.variance for m in table.measurements]
    variances += [score.deviation**2 for scores in table.scores.values() for score in scores]
    assert 0.99 * charged < sum(1 / (2 * variance) for variance in variances) <= charged  # each person has one row
