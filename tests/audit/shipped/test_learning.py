"""Every fit keeps its claim, and a claim that is a little too small is caught."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from discreet import learn
from discreet.audit.inputs.subject import Subject
from discreet.audit.shipped import shipped
from discreet.audit.shipped.learning_methods import ESTIMATORS, fits
from discreet.learn.estimator import PrivateEstimator
from discreet.ledger.costs import cost
from discreet.privacy import Loss, Pure, ZeroConcentrated

CERTAIN = {name: subject for name, subject in fits().items() if set(subject.attacks or {}) != {"black box"}}

# The share of the noise at which each entry is caught: noise × f is caught for every f below it. It is what a
# person moves, over what was paid for: 1 where a pair attains every sensitivity.
POWER = {
    "objective perturbation, Gaussian": 0.97,
    "objective perturbation, Laplace": 0.97,
    "objective perturbation, hats": 0.97,
    "objective perturbation, margin": 0.95,
    "output perturbation, Gaussian": 0.999,
    "output perturbation, Laplace": 0.999,
    "noisy gradient descent, hinge, 2 steps": 0.999,
    "noisy gradient descent, softmax, 2 steps": 0.55,
    "least squares, Gaussian": 0.999,
    "least squares, Laplace": 0.999,
    "categorical naive Bayes, Gaussian": 0.999,
    "categorical naive Bayes, Laplace": 0.999,
    "Gaussian naive Bayes, Gaussian": 0.999,
    "Gaussian naive Bayes, Laplace": 0.999,
    "boosted histograms, Gaussian, 2 epochs": 0.55,
    "boosted histograms, Laplace, 2 epochs": 0.55,
    "boosted stumps, 2 rounds": 0.8,
    "noisy Hessian for intervals": 0.999,
    "posterior sampling": 0.8,
    "private search, 2 settings": 0.5,
    "softmax objective perturbation, Gaussian": 0.55,
    "softmax objective perturbation, Laplace": 0.9,
    "posterior sampling, bounded likelihood": 0.95,
}


def weakened(subject: Subject, share: float) -> Subject:
    """Return the subject as if its noise were `share` of what is charged: it then claims so much too little."""
    charged = cost(subject.loss)
    claim: Loss = ZeroConcentrated(charged.rho * Fraction(share) ** 2)
    if charged.epsilon is not None:
        claim = Pure(charged.epsilon * Fraction(share))
    return replace(subject, loss=claim)


def caught(subject: Subject) -> bool:
    """Return whether an attack without statistics refutes the claim."""
    certain = [attack for name, attack in (subject.attacks or {}).items() if name != "black box"]
    return any(attack(subject).caught for attack in certain)


@pytest.mark.parametrize("name", CERTAIN)
def test_a_fit_keeps_its_claim_and_less_noise_is_caught(name: str) -> None:
    assert not caught(CERTAIN[name])
    assert caught(weakened(CERTAIN[name], POWER[name]))


def test_every_entry_is_shipped_and_every_estimator_has_one() -> None:
    assert set(fits()) <= set(shipped())
    public = [getattr(learn, name) for name in learn.__all__]
    estimators = {
        thing.__name__ for thing in public if isinstance(thing, type) and issubclass(thing, PrivateEstimator)
    }
    assert set(ESTIMATORS) == estimators
    assert set(ESTIMATORS.values()) <= set(fits())
