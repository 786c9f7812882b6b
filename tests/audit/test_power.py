"""The auditor's own power: the noise of each shipped mechanism is weakened until it is caught."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet import noise
from discreet.audit.battery import Filter
from discreet.audit.inputs.subject import Subject
from discreet.audit.power import lowered, power
from discreet.audit.shipped import shipped
from discreet.privacy import Pure, ZeroConcentrated

TENTH, QUARTER, HALF = Fraction("1.1"), Fraction("1.25"), Fraction("1.5")

# What a kind of mechanism must reach: with its noise too small by this factor it is caught.
REACH = {
    "Laplace": TENTH,
    "Gaussian(": TENTH,
    "Exponential": TENTH,
    "PermuteAndFlip": TENTH,
    "ReportNoisyMax": TENTH,
    "AboveThreshold": QUARTER,
    "Sparse": QUARTER,
    "NumericSparse": QUARTER,
    "RestartingSparse": QUARTER,
    "PrivateMultiplicativeWeights": HALF,
    "MWEM": HALF,
    "HardtRothblum": HALF,
    "BLR": HALF,
    "Watch": HALF,
    "median": HALF,
    "Alert": HALF,
}
LOCAL = ["GRR", "SUE", "OUE", "OLH", "Subset", "Hadamard", "Projective", "TwoStepGRR", "TwoStepUnary", "Rappor"]
LOCAL += ["CMS", "HCMS", "OneBitMean", "BitFlip", "Duchi", "Piecewise", "Hybrid", "SquareWave", "PrefixTree"]
LOCAL += ["FragmentPuzzle"]
REACH |= dict.fromkeys(LOCAL, QUARTER)

FAST = ["Laplace(scale=1, sensitivity=1)", "BLR(epsilon=1, cells=2, size=1)", "GRR(domain=4, epsilon=1)"]
FAST += ["ReportNoisyMax(epsilon=2, sensitivity=1, monotonic=False)", "MWEM(epsilon=6, cells=2, rounds=1)"]


def reach(name: str) -> Fraction | None:
    return next((factor for kind, factor in REACH.items() if name.startswith(kind)), None)


def attackable() -> list[str]:
    return [name for name, thing in shipped().items() if not isinstance(thing, Filter)]


@pytest.mark.parametrize("name", FAST)
def test_the_auditor_reaches_what_it_states_about_some(name: str) -> None:
    wanted, thing = reach(name), shipped()[name]
    assert wanted is not None
    assert not isinstance(thing, Filter)
    found = power(thing, name=name)
    assert found.factor is not None
    assert found.factor <= wanted


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in attackable() if reach(name) is not None])
def test_the_auditor_reaches_what_it_states_about_every_mechanism(name: str) -> None:
    wanted, thing = reach(name), shipped()[name]
    assert wanted is not None
    assert not isinstance(thing, Filter)
    found = power(thing, name=name, steps=(wanted,))
    assert found.factor == wanted


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


def test_a_subject_that_is_sampled_only_has_no_power_to_state() -> None:
    subject = shipped()["SQOracle(epsilon=1, queries=2)"]
    assert isinstance(subject, Subject)
    assert power(subject, name="sampled").factor is None
