"""The mechanisms of `oracle` keep their claims, on transcripts that come near them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial

import pytest

from discreet.audit.attacks import exact
from discreet.audit.shipped import shipped
from discreet.audit.shipped.oracle_conversation import BUDGET
from discreet.audit.shipped.oracles import oracles
from discreet.ledger.costs import cost
from discreet.mechanisms import AboveThreshold, ReportNoisyMax, Sparse
from discreet.privacy import Approximate, ZeroConcentrated

# What each loses of its claim, at least: less would mean that its queries are not aimed at the threshold any more.
TIGHT = {
    "PrivateMultiplicativeWeights": 0.95,
    "HardtRothblum": 0.95,
    "MWEM": 0.95,
    "BLR": 0.95,
    "Watch": 0.95,
    "Selection": 0.8,
    "Alone": 0.0,
    "Intervals": 0.999,
    "Intervals, Gaussian": 0.999,
    "Residuals": 0.9,
    "Span with a test": 0.85,
}


# It takes ten seconds; the battery attacks the same residuals by samples.
LONG = "Residuals"


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name == LONG else []) for name in TIGHT]
)
def test_an_oracle_keeps_its_claim_and_comes_near_it(name: str) -> None:
    subject = oracles()[name]
    runs = (subject.attacks or {"exact": partial(exact.attack, unexplored="1e-12")}).items()
    (verdict,) = [run(subject) for key, run in runs if key != "black box"]
    assert not verdict.caught
    assert not verdict.undecided
    assert verdict.found is not None
    assert verdict.claimed is not None
    assert verdict.found >= TIGHT[name] * verdict.claimed


def test_a_charge_that_leaves_out_the_span_or_a_run_of_the_test_is_caught() -> None:
    """The plan gives half of ρ to the span, and two fifths to three runs."""
    subject = oracles()["Span with a test"]
    assert subject.attacks is not None
    charged = cost(subject.loss).rho
    whole = BUDGET.rho_of(Fraction(6))
    for left_out in (whole / 2 * Fraction(99, 100), whole * Fraction(2, 15) * Fraction(99, 100)):
        short = replace(subject, loss=ZeroConcentrated(charged - left_out))
        assert subject.attacks["transcript"](short).caught


def test_a_person_alone_is_kept_nearly_as_often_as_delta_allows() -> None:
    """On the empty table there is nothing but δ: a fifth less is refuted, and with it a wrong threshold."""
    subject = oracles()["Alone"]
    assert isinstance(subject.loss, Approximate)
    assert subject.attacks is not None
    lower = replace(subject, loss=Approximate(0, subject.loss.delta * Fraction(4, 5)))
    assert subject.attacks["piecewise"](lower).caught


def test_a_median_keeps_its_claim_and_comes_near_it() -> None:
    subject = oracles()["Quantiles"]
    verdict = exact.attack(subject)
    assert not verdict.caught
    assert verdict.found is not None
    assert verdict.claimed is not None
    assert verdict.found >= verdict.claimed / 1.5


def test_runs_and_choices_have_examples_with_small_claims() -> None:
    examples = shipped().values()
    for kind in (AboveThreshold, Sparse, ReportNoisyMax):
        assert any(isinstance(example, kind) for example in examples)
    assert any(isinstance(example, AboveThreshold) and example.epsilon == 1 for example in examples)
