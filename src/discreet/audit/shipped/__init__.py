"""Collect every mechanism, protocol and session that the package ships, as subjects of an attack.

    oracles             the mechanisms of `oracle`, and of questions: quantiles and partition selection
    oracle_conversation a whole oracle: a span, a threshold test and what credit buys
    learning            finite classes and statistical queries, on tables of a few rows
    learning_methods    the fits of all models of `learn`
    learning_densities  softmax minimisers and bounded posteriors, by formulas
    validity            the private methods of a reusable holdout, for neighbours that replace a row
    local_protocols     the protocols of `local`, with small domains
    learned_bounds      bounds of columns that are learned from the rows
    streams             counters, alarms and distinct users of two or three ticks

Public mechanisms are found, not listed: a mechanism without an example here makes `shipped` fail, so that none can
be forgotten. Most examples have little noise, so that the exact attack can enumerate nearly all of it, and their
neighbours are such that the loss comes near the claim: `discreet audit --power` tells how near.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from discreet import mechanisms, privacy
from discreet.audit.battery import Checkable, Filter
from discreet.audit.shipped.learned_bounds import learned_bounds
from discreet.audit.shipped.learning import learners
from discreet.audit.shipped.local_protocols import protocols, without_example
from discreet.audit.shipped.oracles import oracles, public_oracles
from discreet.audit.shipped.streams import streams
from discreet.audit.shipped.validity import holdouts
from discreet.errors import DiscreetError
from discreet.mechanisms import (
    AboveThreshold,
    Exponential,
    Gaussian,
    Laplace,
    Mechanism,
    NumericSparse,
    PermuteAndFlip,
    ReportNoisyMax,
    RestartingSparse,
    Sensitivity,
    Sparse,
)

_EXAMPLES: dict[type, tuple[Mechanism, ...]] = {
    AboveThreshold: (
        AboveThreshold(1, threshold=0),
        AboveThreshold(5, threshold=2),
        AboveThreshold(4, threshold=0, monotonic=True),
    ),
    Exponential: (Exponential(1), Exponential(2, sensitivity=3, monotonic=True)),
    Gaussian: (Gaussian(1), Gaussian.for_budget(1, "1e-5"), Gaussian(2, Sensitivity(entries=2, each=1))),
    Laplace: (Laplace(1), Laplace("5/2", sensitivity=3), Laplace(1000)),
    NumericSparse: (
        NumericSparse(12, threshold=0),
        NumericSparse(4, threshold=0, positives=3, monotonic=True),
    ),
    PermuteAndFlip: (PermuteAndFlip(1), PermuteAndFlip(2, sensitivity=3, monotonic=True)),
    ReportNoisyMax: (ReportNoisyMax(2), ReportNoisyMax(1, monotonic=True)),
    RestartingSparse: (RestartingSparse(6, threshold=0, positives=2),),
    Sparse: (Sparse(8, threshold=0, positives=2), Sparse(6, threshold=0, positives=2, monotonic=True)),
}
_BUDGETS = (privacy.Pure(1), privacy.ZeroConcentrated("0.5"), privacy.GaussianDP(1))


def shipped() -> dict[str, Checkable]:
    """Return every public mechanism, with several parameters, and every kind of session, by name.

    >>> "Laplace(scale=1, sensitivity=1)" in shipped()
    True
    """
    missing = [name for name in public_mechanisms() if getattr(mechanisms, name) not in _EXAMPLES]
    missing += sorted(set(public_oracles()) - set(oracles()))
    missing += without_example()
    if missing:
        raise DiscreetError(
            f"The auditor has no example of {', '.join(missing)}.",
            fix="Add a small one in src/discreet/audit/shipped.",
        )
    found: dict[str, Checkable] = {_title(example): example for some in _EXAMPLES.values() for example in some}
    sessions = {f"Session({type(b).__name__})": Filter(make=privacy.Session, budget=b) for b in _BUDGETS}
    subjects = {subject.name: subject for subject in [*oracles().values(), *learned_bounds()]}
    return {**found, **subjects, **learners(), **streams(), **protocols(), **holdouts(), **sessions}


def public_mechanisms() -> list[str]:
    """Return the names of all public mechanisms.

    >>> "Laplace" in public_mechanisms()
    True
    """
    public = {name: getattr(mechanisms, name) for name in mechanisms.__all__}
    return [name for name, thing in public.items() if hasattr(thing, "release") and thing is not Mechanism]


def _title(mechanism: Any) -> str:
    """Return the repr of the record, with fractions and sensitivities in short form."""
    held = {field.name: getattr(mechanism, field.name) for field in fields(mechanism)}
    shown = (
        f"{name}={_short(value) if isinstance(value, Sensitivity) else value}" for name, value in held.items()
    )
    return f"{type(mechanism).__name__}({', '.join(shown)})"


def _short(sensitivity: Sensitivity) -> str:
    return f"{sensitivity.entries}×{sensitivity.each}" if sensitivity.entries != 1 else str(sensitivity.each)
