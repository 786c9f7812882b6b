"""Every shipped mechanism passes the battery, and each attack catches the fault that it is made for."""

from __future__ import annotations

import dataclasses
import itertools
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import mechanisms, noise, privacy
from discreet.audit.battery import Filter, check_mechanism
from discreet.audit.inputs.pairs import pairs, sensitivity_of
from discreet.audit.inputs.subject import Subject
from discreet.audit.shipped import public_mechanisms, shipped
from discreet.audit.shipped.local_protocols import protocols
from discreet.errors import DiscreetError, ParameterError
from discreet.local.protocols.frequency.two_step_grr import TwoStepGRR
from discreet.local.protocols.registry import PROTOCOLS
from discreet.mechanisms import Exact, Exponential, Gaussian, Laplace, Mechanism, Sensitivity, Sparse
from discreet.mechanisms.exact import added, admit, opened
from discreet.privacy import Pure

SAMPLES, SINGLE_SAMPLES, RUNS = 4_000, 1_000, 3_000
# Whole transcripts of these take ten seconds and more; tests/audit/shipped attacks some of them by themselves.
LONG = ("RestartingSparse", "PrivateMultiplicativeWeights", "median", "Alert", "Thresholdout")


def one_setting_of_each() -> list[Any]:
    """Return the first setting of each mechanism; the other ones are slow tests."""
    seen, found = set[type](), list[Any]()
    for name, thing in shipped().items():
        further = isinstance(thing, Mechanism) and type(thing) in seen
        seen.add(type(thing))
        further = further or name.startswith(LONG)
        found.append(pytest.param(name, marks=[pytest.mark.slow] if further else []))
    return found


@pytest.mark.parametrize("name", one_setting_of_each())
def test_everything_that_is_shipped_passes(name: str) -> None:
    thing = shipped()[name]
    own = isinstance(thing, Subject) and thing.samples is not None
    batches = isinstance(thing, Subject) and thing.batch is not None
    samples = None if own else SAMPLES if batches else SINGLE_SAMPLES
    report = check_mechanism(thing, name=name, samples=samples, confidence="0.99999999", budget=RUNS)
    assert not report.caught, [verdict.words for verdict in report.verdicts if verdict.caught]
    assert report.verdicts


def test_no_public_mechanism_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {type(thing).__name__ for thing in shipped().values() if isinstance(thing, Mechanism)} == set(
        public_mechanisms()
    )
    monkeypatch.setattr(sys.modules["discreet.audit.shipped"], "_EXAMPLES", {Laplace: (Laplace(1),)})
    with pytest.raises(DiscreetError, match="no example of AboveThreshold"):
        shipped()


def test_no_local_protocol_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROTOCOLS, "telepathy", "discreet.local.telepathy:Telepathy")
    with pytest.raises(DiscreetError, match="no example of telepathy"):
        shipped()


def test_a_permanent_answer_that_costs_more_than_the_lifetime_is_caught() -> None:
    """Reports of two steps may be private while the permanent answer is not: both are attacked."""

    class Thinner(TwoStepGRR):
        @property
        def lifetime(self) -> Pure:
            return self.loss

    reports, permanent = protocols([Thinner.for_losses(3, lifetime=2, each=1)]).values()
    assert not check_mechanism(reports, samples=SAMPLES).caught
    assert check_mechanism(permanent, samples=SAMPLES).caught


@pytest.mark.parametrize("mechanism", [x for x in shipped().values() if isinstance(x, Mechanism)], ids=repr)
def test_pairs_are_neighbours_within_the_sensitivity_that_the_mechanism_admits(mechanism: Any) -> None:
    sensitivity = sensitivity_of(mechanism)
    assert pairs(mechanism)
    for one, other in pairs(mechanism):
        mechanism.release(Exact(one, sensitivity))
        changes = [int(change) for change in np.ravel(np.subtract(other, one))]
        assert any(changes)
        assert sensitivity.each is None or max(map(abs, changes)) <= sensitivity.each
        assert sensitivity.entries is None or sum(map(bool, changes)) <= sensitivity.entries
        if sensitivity.monotonic:
            assert min(changes) >= 0


def test_the_exact_attack_comes_close_to_what_is_lost_where_the_pairs_are_tight() -> None:
    for mechanism, share in ((Laplace(1), 0.99), (Laplace("5/2", sensitivity=3), 0.99), (Exponential(1), 0.95)):
        report = check_mechanism(mechanism, samples=SAMPLES)
        exact = next(verdict for verdict in report.verdicts if verdict.attack == "exact")
        assert exact.found is not None
        assert exact.claimed is not None
        assert share * exact.claimed <= exact.found <= exact.claimed
        assert exact.confidence is None


# -- broken mechanisms, one fault each --------------------------------------------------------------------------


@dataclass(frozen=True)
class HalfTheNoise(Laplace):
    def release(self, exact: Exact) -> Any:
        return added(exact, noise.discrete_laplace(Fraction(1, 2), exact.size))


@dataclass(frozen=True)
class TakesEverything(Laplace):
    def release(self, exact: Any) -> Any:
        values = opened(exact) if isinstance(exact, Exact) else exact
        return values + noise.discrete_laplace(self.scale, None if isinstance(exact, int) else exact.size)


@dataclass
class Changeable:
    scale: int = 1
    sensitivity: int = 1

    @property
    def loss(self) -> privacy.Loss:
        return privacy.DiscreteLaplace(self.scale)

    def release(self, exact: Exact) -> Any:
        return Laplace(self.scale).release(exact)

    def error(self, confidence: Any = "0.95", *, dimension: int = 1) -> int:
        return Laplace(self.scale).error(confidence, dimension=dimension)


@dataclass(frozen=True)
class Boastful(Laplace):
    def error(self, confidence: Any = "0.95", *, dimension: int = 1) -> int:
        return super().error(confidence, dimension=dimension) // 2


@dataclass(frozen=True)
class Boaster(Exponential):
    def error(self, confidence: Any = "0.95", *, candidates: int) -> int:
        return 0


@dataclass(frozen=True)
class WrongSide(Sparse):
    def error(self, confidence: Any = "0.95", *, queries: int) -> int:
        return 0


@dataclass(frozen=True)
class Fragile(Laplace):
    def release(self, exact: Exact) -> Any:
        if abs(int(opened(exact).max())) > 2**60:
            raise OverflowError("too large")
        return super().release(exact)


@dataclass(frozen=True)
class Frozen(Laplace):
    def release(self, exact: Exact) -> Any:
        with noise.deterministic(3):
            return super().release(exact)


_numbers = itertools.count()


@dataclass(frozen=True)
class Forgetful(Laplace):
    """A generator that counts in the memory of the process: a forked child continues with the same numbers."""

    def release(self, exact: Exact) -> Any:
        admit(exact, l1=self.sensitivity)
        return added(exact, 7919 * next(_numbers) % 3001 - 1500)


@pytest.mark.parametrize(
    "mechanism",
    [Laplace.for_epsilon(8), Gaussian("1/50"), pytest.param(Exponential(20), marks=pytest.mark.slow)],
    ids=repr,
)
def test_little_noise_is_not_taken_for_a_generator_that_repeats_itself(mechanism: Any) -> None:
    assert not check_mechanism(mechanism, samples=SAMPLES).caught


@pytest.mark.parametrize(
    ("broken", "attack"),
    [
        (HalfTheNoise(1), "exact"),
        (HalfTheNoise(1), "black box"),
        (TakesEverything(1), "contract"),
        (Changeable(), "contract"),
        (Fragile(1), "contract"),
        (Boastful(20), "error bar"),
        (Boaster(1), "error bar"),
        pytest.param(WrongSide(1), "error bar", marks=pytest.mark.slow),
        (Frozen(1000), "exact"),
        (Forgetful(1000), "randomness"),
    ],
    ids=lambda x: x if isinstance(x, str) else type(x).__name__,
)
def test_each_attack_catches_what_it_is_there_for(broken: Any, attack: str) -> None:
    report = check_mechanism(broken, samples=SAMPLES)
    assert report.caught
    assert attack in {verdict.attack for verdict in report.verdicts if verdict.caught}


def test_a_subject_is_attacked_by_its_law_alone() -> None:
    coin = Subject(
        name="coin", release=lambda b: b ^ noise.bernoulli("1/4"), loss=privacy.Pure("0.5"), pairs=[(0, 1)]
    )
    report = check_mechanism(coin, samples=40_000)
    assert [verdict.attack for verdict in report.verdicts] == ["exact", "black box"]
    assert all(verdict.caught for verdict in report.verdicts)
    assert report.subject == "coin"
    assert report.declared is not None


def test_randomness_from_elsewhere_leaves_the_black_box() -> None:
    numbers = itertools.count()
    strange = Subject(
        name="strange",
        release=lambda b: b ^ (noise.bernoulli("1/4", size=1 + next(numbers) % 2)[0]),
        loss=privacy.Pure("1.1"),
        pairs=[(0, 1)],
    )
    assert [verdict.attack for verdict in check_mechanism(strange, samples=SAMPLES).verdicts] == ["black box"]


def test_a_filter_is_attacked_by_overspending() -> None:
    class Generous(privacy.Session):
        def charge(self, loss: Any) -> None:
            """Grant everything."""

    report = check_mechanism(Filter(make=Generous, budget=privacy.Pure(1)))
    assert report.caught
    assert [verdict.attack for verdict in report.verdicts] == ["budget"]
    assert "Pure" in report.claim


def test_attacks_are_named_as_they_begin() -> None:
    told: list[str] = []
    check_mechanism(Laplace(1), samples=SAMPLES, progress=told.append)
    assert told == ["contract", "exact", "black box", "error bar", "randomness"]


@pytest.mark.parametrize("thing", [3, print, Laplace, None], ids=repr)
def test_what_cannot_be_audited_is_refused_with_an_explanation(thing: Any) -> None:
    with pytest.raises(ParameterError, match=r"audit\.Subject\("):
        check_mechanism(thing)


def test_the_battery_knows_vectors_of_entries() -> None:
    mechanism = Gaussian(4, Sensitivity(entries=3, each=2))
    assert ([0, 0, 0], [2, 2, 2]) in pairs(mechanism)
    assert dataclasses.is_dataclass(mechanism)
    assert mechanisms.Gaussian is Gaussian
