"""The lemma on answers that are shown only where they surprise: at every corner, tight, and for whole runs."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.oracle.textbook import censored
from discreet.privacy import Pure, plan

EPSILONS = st.floats(0.001, 1.5)
SHARES = st.floats(0, 1)


def step(epsilon: float, order: float) -> float:
    """s of the lemma."""
    return (order - 1) * float(censored.divergence(Fraction(epsilon), np.array([order]))[0])


def furthest(epsilon: float) -> float:
    return math.log1p(math.exp(-epsilon)) / epsilon


@given(EPSILONS, st.floats(0.01, 0.99), st.lists(SHARES, min_size=4, max_size=4), SHARES)
def test_no_round_of_any_law_raises_the_potential(e: float, x: float, weights: list[float], mix: float) -> None:
    """(u, v) anywhere that ε allows, and P/Q anywhere between its ends where an answer is shown."""
    order, p = 1 + x * furthest(e), 1 / (1 + math.exp(-e))
    share = [weight / (sum(weights) or 1) for weight in weights]
    u, v = share[1] + share[2] * p + share[3] * (1 - p), share[1] + share[2] * (1 - p) + share[3] * p
    lazy_u, lazy_v = share[0] + share[2] * (1 - p) + share[3] * p, share[0] + share[2] * p + share[3] * (1 - p)
    lazy = lazy_v * (lazy_u / lazy_v) ** order if lazy_v > 0 else 0.0
    shown = 0.0
    if v > 0:
        mean = min(e, max(-e, math.log(u / v)))
        spread = mix * min(e - mean, e + mean)
        up, down = math.exp(mean + spread), math.exp(mean - spread)
        high = min(1.0, max(0.0, (u / v - down) / (up - down))) if spread > 1e-6 else 1.0
        shown = v * (high * up**order + (1 - high) * down**order)
    assert lazy + math.exp(-step(e, order)) * shown <= 1 + 1e-6


@pytest.mark.parametrize("e", [0.01, 0.3, 1.2])
@pytest.mark.parametrize("x", [0.05, 0.5, 0.95])
def test_counting_lazy_rounds_until_a_coin_fails_costs_exactly_this_much(e: float, x: float) -> None:
    """Σ_j P(j)^α·Q(j)^{1−α} over the number j of lazy rounds, which has probability p^j·(1 − p) or (1 − p)^j·p."""
    order = 1 + x * furthest(e)
    with mpmath.workdps(40):
        p = 1 / (1 + mpmath.exp(-mpmath.mpf(e)))
        ratio, first = p**order * (1 - p) ** (1 - order), (1 - p) ** order * p ** (1 - order)
        exact = float(mpmath.log(mpmath.fsum(first * ratio**j for j in range(3000))))
    assert exact <= step(e, order) <= exact * (1 + 1e-9)


def test_from_some_order_on_nothing_is_claimed() -> None:
    orders = 1 + furthest(0.1) * np.array([0.9, 0.999, 1.001, 5, 1e6])
    found = censored.divergence("0.1", orders)
    assert np.isfinite(found).tolist() == [True, True, False, False, False]


@given(EPSILONS, st.floats(0.01, 0.9), st.integers(1, 1000))
def test_shown_answers_add_up(e: float, x: float, shown: int) -> None:
    curve = censored.loss(Fraction(e), shown)
    alone = censored.divergence(Fraction(e), np.array([float(order) for order in curve.orders]))
    assert np.all(np.array(curve.epsilons, float) >= shown * alone)
    assert np.array(curve.epsilons, float) == pytest.approx(shown * alone, rel=1e-9)


@pytest.mark.parametrize(("e", "shown"), [("0.001", 10_000), ("0.0001", 10**6), ("0.01", 100)])
def test_twice_the_cost_of_answers_that_are_all_shown_where_each_is_cheap(e: str, shown: int) -> None:
    """α·c·ε₀² against α·c·ε₀²/2, and so √2 in ε, but for the orders that there are not."""
    all_shown = plan.epsilon(Pure(e) * shown, "1e-6")
    assert plan.epsilon(censored.loss(e, shown), "1e-6") / all_shown < 2


@pytest.mark.parametrize(("e", "shown"), [(0, 1), ("0.1", 0), (-1, 1)])
def test_parameters_without_meaning_are_refused(e: object, shown: int) -> None:
    with pytest.raises(ParameterError):
        censored.loss(e, shown)  # type: ignore[arg-type]
