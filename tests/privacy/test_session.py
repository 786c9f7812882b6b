"""A session never overspends, whatever is charged in whatever order, and takes nothing that has no filter."""

import copy
import os
import pickle
import sqlite3
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mypy import api as mypy

from discreet.errors import BudgetExceeded, NotComposable
from discreet.privacy.loss_measures import gdp_mu_squared, pure_epsilon, zcdp_rho
from discreet.privacy.losses import (
    Approximate,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    GaussianDP,
    Laplace,
    Loss,
    PoissonSubsampled,
    Pure,
    RandomizedResponse,
    Renyi,
    Repeated,
    ZeroConcentrated,
)
from discreet.privacy.session import AdaptiveLoss, Budget, Session
from discreet.privacy.theorems.conversions import (
    gdp_to_approximate,
    pure_to_approximate,
    zcdp_to_approximate,
)

SIZES = st.fractions(min_value=Fraction(1, 1000), max_value=2, max_denominator=1000)
STEPS = st.one_of(
    SIZES.map(Pure),
    SIZES.map(lambda e: Laplace(scale=1 / e)),
    SIZES.map(lambda e: DiscreteLaplace(scale=1 / e)),
    SIZES.map(RandomizedResponse),
    SIZES.map(Exponential),
    st.tuples(SIZES.map(Pure), st.integers(0, 5)).map(lambda pair: pair[0] * pair[1]),
)
BUDGETS: list[tuple[Budget, Callable[[Loss], Fraction | None]]] = [
    (Pure(3), pure_epsilon),
    (ZeroConcentrated("1/2"), zcdp_rho),
    (GaussianDP("3/2"), gdp_mu_squared),
]
Filter = tuple[Budget, Callable[[Loss], Fraction | None]]


def total(session: Session) -> Fraction:
    return session.spent + session.remaining


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(BUDGETS), st.lists(STEPS, max_size=12))
def test_it_never_overspends_and_a_refused_step_costs_nothing(kind: Filter, steps: list[AdaptiveLoss]) -> None:
    budget, view = kind
    session, accepted = Session(budget), Fraction(0)
    whole = session.remaining
    for step in steps:
        affordable, before = session.can_afford(step), session.spent
        try:
            session.charge(step)
        except BudgetExceeded:
            assert not affordable
            assert session.spent == before
        else:
            assert affordable
            accepted += view(step) or 0
        assert session.spent == accepted <= whole == total(session)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(BUDGETS), st.lists(STEPS, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_steps_does_not_matter(kind: Filter, steps: list[AdaptiveLoss], random: object) -> None:
    def spend(order: list[AdaptiveLoss]) -> Fraction | None:
        session = Session(kind[0])
        try:
            for step in order:
                session.charge(step)
        except BudgetExceeded:
            return None
        return session.spent

    shuffled = list(steps)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert spend(steps) == spend(shuffled)


@pytest.mark.parametrize(
    ("budget", "step", "times"),
    [
        (Pure(1), Pure("0.1"), 10),
        (Pure(1), Laplace(scale=3), 3),
        (ZeroConcentrated("0.5"), DiscreteGaussian(variance=10), 10),
        (ZeroConcentrated("1/8"), Exponential("0.1"), 100),
        (GaussianDP(1), Gaussian(sigma=10), 100),
    ],
)
def test_a_budget_can_be_spent_to_the_last(budget: Budget, step: AdaptiveLoss, times: int) -> None:
    session = Session(budget)
    for _ in range(times):
        session.charge(step)
    assert session.remaining == 0
    with pytest.raises(BudgetExceeded, match="Nothing more can be released"):
        session.charge(step)


def test_repetitions_are_charged_at_once_or_not_at_all() -> None:
    session = Session(Pure(1))
    session.charge(Pure("0.1") * 7)
    with pytest.raises(BudgetExceeded):
        session.charge(Pure("0.1") * 4)
    assert session.remaining == Fraction(3, 10)
    session.charge(Pure("0.1") * 3)
    assert session.remaining == 0


def test_a_refusal_names_cost_what_is_left_and_a_step_that_fits() -> None:
    session = Session(Pure("0.5"))
    session.charge(Pure("0.38"))
    with pytest.raises(BudgetExceeded) as refusal:
        session.charge(Laplace(scale=2))
    assert str(refusal.value) == (
        "Laplace(scale=2, sensitivity=1) costs ε = 0.5, and 0.12 of 0.5 is left. "
        'Try: loss=privacy.Pure("0.12") (the most that still fits).'
    )
    session.charge(Pure("0.12"))


@pytest.mark.parametrize("budget", [Pure("1/3"), ZeroConcentrated("1/3"), GaussianDP("1/3"), GaussianDP(2)])
def test_the_step_that_a_refusal_offers_is_affordable(budget: Budget) -> None:
    session = Session(budget)
    session.charge(Pure("1/70"))
    with pytest.raises(BudgetExceeded) as refusal:
        session.charge(Pure(50))
    offer = str(refusal.value).rpartition('("')[2].rpartition('")')[0]
    step = type(budget)(offer)
    assert session.can_afford(step)
    session.charge(step)
    assert float(session.remaining) < 1e-4


@pytest.mark.parametrize(
    ("budget", "loss", "advice"),
    [
        (Pure(1), Gaussian(sigma=1), "Use privacy.Laplace"),
        (Pure(1), GaussianDP(1), "Use privacy.Laplace"),
        (Pure(1), DiscreteGaussian(1) * 3, "budget of privacy.ZeroConcentrated"),
        (Pure(1), ZeroConcentrated("0.1"), "budget of privacy.ZeroConcentrated"),
        (GaussianDP(1), ZeroConcentrated("0.1"), "budget of privacy.ZeroConcentrated"),
        (GaussianDP(1), DiscreteGaussian(100), "budget of privacy.ZeroConcentrated"),
        (GaussianDP(1), PoissonSubsampled(DiscreteGaussian(100), "0.1"), "budget of privacy.ZeroConcentrated"),
        (ZeroConcentrated(1), Approximate("0.1", "1e-9"), "Charge the mechanism itself"),
        (ZeroConcentrated(1), Renyi((2,), (1,)), "compose it in a plan"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_loss_without_a_filter_is_refused_with_the_way_out(
    budget: Budget, loss: AdaptiveLoss, advice: str
) -> None:
    session = Session(budget)
    with pytest.raises(NotComposable, match=advice):
        session.charge(loss)
    with pytest.raises(NotComposable, match=advice):
        session.can_afford(loss)
    assert session.spent == 0


def test_what_a_plan_computes_is_refused_when_run() -> None:
    profile = [0.1, 0.2]
    with pytest.raises(NotComposable, match="not a valid stopping rule"):
        Session(ZeroConcentrated(1)).charge(profile)  # type: ignore[arg-type]


def test_a_budget_of_epsilon_and_delta_is_refused_when_run() -> None:
    with pytest.raises(NotComposable, match=r"session\.epsilon\(delta\)"):
        Session(Approximate(1, "1e-6"))  # type: ignore[arg-type]


def _checked(snippet: Path) -> str:
    """Return what the type checker says, without its cache if that cannot be used."""
    wanted = ["--no-error-summary", str(snippet)]
    try:
        report, _, _ = mypy.run(wanted)
    except sqlite3.Error:
        report, _, _ = mypy.run(["--cache-dir", os.devnull, *wanted])
    return report


def test_type_checkers_refuse_curves_and_epsilon_delta(tmp_path: Path) -> None:
    """Seen by a type checker, before anything runs: neither a plan's result nor an (ε, δ) can be charged."""
    snippet = tmp_path / "snippet.py"
    lines = [
        "from discreet.privacy.losses import Approximate, Gaussian, Pure, Renyi, ZeroConcentrated",
        "from discreet.privacy.pld.profile import Profile",
        "from discreet.privacy.session import Session",
        "session = Session(ZeroConcentrated(1))",
        "session.charge(Gaussian(sigma=1))",
        "session.charge(Pure(1) * 3)",
        "def misuse(profile: Profile) -> None: session.charge(profile)",
        "session.charge(Approximate(1, 0))",
        "session.charge(Renyi((2,), (1,)))",
        "Session(Approximate(1, 0))",
    ]
    snippet.write_text("\n".join(lines) + "\n")
    report = _checked(snippet)
    refused = [int(line.split(":")[1]) for line in report.splitlines() if "[arg-type]" in line]
    assert refused == [7, 8, 9, 10], report


def test_the_whole_session_as_epsilon_and_delta() -> None:
    assert Session(Pure(1)).epsilon("1e-6") == pure_to_approximate(1, "1e-6")
    assert Session(ZeroConcentrated(1)).epsilon("1e-6") == zcdp_to_approximate(1, "1e-6")
    assert Session(GaussianDP(1)).epsilon("1e-6") == gdp_to_approximate(1, "1e-6")


def test_what_was_spent_does_not_change_the_guarantee() -> None:
    """The bug this would catch: reporting the ε of what happens to be spent when the analyst stops."""
    session = Session(ZeroConcentrated(1))
    before = session.epsilon("1e-6")
    session.charge(Gaussian(sigma=10))
    assert session.epsilon("1e-6") == before


def test_threads_together_spend_no_more_than_the_budget() -> None:
    session, refused = Session(Pure(1)), []
    start = threading.Barrier(8)

    def spend() -> None:
        start.wait()
        for _ in range(50):
            try:
                session.charge(Pure("1/100"))
            except BudgetExceeded:
                refused.append(1)

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert session.remaining == 0
    assert len(refused) == 8 * 50 - 100


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_session_cannot_be_duplicated(duplicate: Callable[[Session], object]) -> None:
    with pytest.raises(TypeError, match="spend the same budget"):
        duplicate(Session(Pure(1)))


def test_it_shows_its_state_and_its_budget_is_what_was_given() -> None:
    session = Session(ZeroConcentrated("0.5"))
    session.charge(Repeated(Gaussian(sigma=10), 20))
    assert repr(session) == "Session(ZeroConcentrated(rho=1/2), spent=1/10)"
    assert session.budget == ZeroConcentrated("0.5")


@pytest.mark.parametrize("number", [0.1, Fraction(1, 10), 1, "0.1"], ids=repr)
def test_a_bare_number_such_as_the_epsilon_of_a_plan_cannot_be_charged(number: Any) -> None:
    """It would be the natural filter: the ε of everything so far, composed anew at every step."""
    session = Session(Pure(1))
    with pytest.raises(NotComposable, match="not a valid stopping rule"):
        session.charge(number)
    assert session.spent == 0
