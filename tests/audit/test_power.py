"""The auditor's own power: the noise of each shipped mechanism is weakened until it is caught.

The table of docs/attack.md states the power, as `discreet audit --power` measured it. Every shipped subject has a
row, and every row reaches what its kind must reach. The measurement is repeated: for some of them in every run of
the tests, and for all of them in a run of the slow ones.
"""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple, NoReturn

import pytest

from discreet import noise
from discreet.audit.battery import Filter
from discreet.audit.inputs.subject import Subject
from discreet.audit.power import STEPS, lowered, power
from discreet.audit.shipped import shipped
from discreet.privacy import Approximate, Pure, ZeroConcentrated

TENTH, QUARTER, HALF, TWICE = Fraction("1.1"), Fraction("1.25"), Fraction("1.5"), Fraction(2)

# What a kind of mechanism must reach: with its noise too small by this factor it is caught.
SINGLE = ["Laplace", "Gaussian(", "Exponential", "PermuteAndFlip", "ReportNoisyMax", "choose", "LearnedBounds"]
SINGLE += [
    "residual",
    "certificate",
    "interval of a median",
    "SQOracle",
    "GaussianNoise",
    "output perturbation",
    "noisy Hessian",
]
SINGLE += ["objective perturbation", "least squares", "categorical naive Bayes", "Gaussian naive Bayes", "Counter"]
SINGLE += [
    "softmax objective perturbation, Laplace",
    "noisy gradient descent, hinge",
    "boosted stumps",
    "Distinct",
    "Thresholdout",
]
RUNS = ["AboveThreshold", "Sparse", "NumericSparse", "RestartingSparse", "posterior sampling"]
LOCAL = ["GRR", "SUE", "OUE", "OLH", "Subset", "Hadamard", "Projective", "TwoStepGRR", "TwoStepUnary", "Rappor"]
LOCAL += ["CMS", "HCMS", "OneBitMean", "BitFlip", "Duchi", "Piecewise", "Hybrid", "SquareWave", "PrefixTree"]
LOCAL += ["FragmentPuzzle"]
WHOLE = [
    "oracle with a span",
    "PrivateMultiplicativeWeights",
    "MWEM",
    "HardtRothblum",
    "BLR",
    "Watch",
    "median",
    "Alert",
    "Selection",
]
# No pair is known that comes nearer to the bound of these: docs/attack.md, "Models".
FAR = ["noisy gradient descent, softmax", "boosted histograms", "private search"]
FAR += ["softmax objective perturbation, Gaussian"]

REACH = {
    **dict.fromkeys(SINGLE, TENTH),
    **dict.fromkeys(RUNS + LOCAL, QUARTER),
    **dict.fromkeys(WHOLE, HALF),
    **dict.fromkeys(FAR, TWICE),
}

FAST = ["Laplace(scale=1, sensitivity=1)", "BLR(epsilon=1, cells=2, size=1)", "GRR(domain=4, epsilon=1)"]
FAST += ["ReportNoisyMax(epsilon=2, sensitivity=1, monotonic=False)", "MWEM(epsilon=6, cells=2, rounds=1)"]
FAST += ["Thresholdout(epsilon=6.2, one run)", "interval of a median, Laplace", "SQOracle(epsilon=1, queries=2)"]
FAST += ["Selection(rho=1, delta=1e-09, rows_per_person=2)", "Selection(delta=0.01, a person alone)"]

PAGE = Path(__file__).parents[2] / "docs" / "attack.md"
ROW = re.compile(
    r"^\| `(?P<name>[^`]+)` \| (?P<attack>\w+) \| (?P<weakened>noise|claim) \| ×(?P<factor>[\d.]+) \|$"
)


# Subjects whose row says that they are not measured.


class Stated(NamedTuple):
    """A row of the table."""

    attack: str
    weakened: str
    factor: Fraction


def table() -> dict[str, Stated]:
    """The rows of the table of docs/attack.md by subject."""
    found = [ROW.match(line) for line in PAGE.read_text(encoding="utf-8").splitlines()]
    return {row["name"]: Stated(row["attack"], row["weakened"], Fraction(row["factor"])) for row in found if row}


def reach(name: str) -> Fraction | None:
    return next((factor for kind, factor in REACH.items() if name.startswith(kind)), None)


def attackable() -> list[str]:
    return [name for name, thing in shipped().items() if not isinstance(thing, Filter)]


def test_every_shipped_subject_has_a_row_in_the_table_of_the_page() -> None:
    assert sorted(table()) == sorted(attackable())


@pytest.mark.parametrize("name", sorted(table()))
def test_every_row_reaches_what_its_kind_must_reach(name: str) -> None:
    wanted, stated = reach(name), table()[name]
    assert wanted is not None
    assert stated.factor in STEPS
    assert stated.factor <= wanted


def measured(name: str) -> None:
    """Measure a row of the table again, at the factor that it states and at the one before."""
    stated, thing = table()[name], shipped()[name]
    assert not isinstance(thing, Filter)
    steps = tuple(step for step in STEPS if step <= stated.factor)[-2:]
    assert power(thing, name=name, steps=steps).factor == stated.factor


@pytest.mark.parametrize("name", FAST)
def test_the_auditor_reaches_what_it_states_about_some(name: str) -> None:
    measured(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(table()))
def test_the_auditor_reaches_what_it_states_about_every_mechanism(name: str) -> None:
    measured(name)


def test_every_kind_is_shipped() -> None:
    names = attackable()
    assert all(any(name.startswith(kind) for name in names) for kind in REACH)


def test_a_subject_that_leaks_nothing_more_with_less_noise_is_never_caught() -> None:
    constant = Subject(name="constant", release=lambda _: noise.discrete_laplace(1), loss=Pure(1), pairs=[(0, 1)])
    found = power(constant, name="constant")
    assert found.factor is None
    assert found.weakened == "noise"


def test_a_claim_is_lowered_as_weaker_noise_would_need() -> None:
    assert lowered(Pure(3), Fraction(3)) == Pure(1)
    assert lowered(ZeroConcentrated(4), Fraction(2)) == ZeroConcentrated(1)
    assert lowered(Approximate(0, "1/10"), Fraction(2)) == Approximate(0, "1/20")


def test_a_subject_that_is_sampled_only_has_no_power_to_state() -> None:
    sampled = Subject(
        name="coin", release=lambda _: 0, loss=Pure(1), pairs=[(0, 1)], attacks={"black box": _never}
    )
    assert power(sampled, name="sampled").factor is None


def _never(_: Subject) -> NoReturn:
    raise AssertionError("Attacks by sampling are left out.")


def test_every_factor_is_told_as_it_is_tried() -> None:
    told: list[str] = []
    thing = shipped()["Laplace(scale=1, sensitivity=1)"]
    assert not isinstance(thing, Filter)
    power(thing, name="Laplace", progress=told.append)
    assert told == ["×1.02"]
