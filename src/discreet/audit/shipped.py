"""Everything that the package ships and that claims to be private, ready to be attacked.

Public mechanisms are found, not listed: one that has no examples here makes `shipped` fail, so that none can be
forgotten. Noise is narrow in most examples, so that the exact attack can walk through all that matters of it.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from discreet import mechanisms, privacy
from discreet.audit.check import Checkable, Filter
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
    Sensitivity,
    Sparse,
)

_EXAMPLES: dict[type, tuple[Mechanism, ...]] = {
    AboveThreshold: (AboveThreshold(5, threshold=2), AboveThreshold(4, threshold=0, monotonic=True)),
    Exponential: (Exponential(1), Exponential(2, sensitivity=3, monotonic=True)),
    Gaussian: (Gaussian(1), Gaussian.for_budget(1, "1e-5"), Gaussian(2, Sensitivity(entries=2, each=1))),
    Laplace: (Laplace(1), Laplace("5/2", sensitivity=3), Laplace(1000)),
    NumericSparse: (NumericSparse(12, threshold=0), NumericSparse(10, threshold=0, monotonic=True)),
    PermuteAndFlip: (PermuteAndFlip(1), PermuteAndFlip(2, sensitivity=3, monotonic=True)),
    ReportNoisyMax: (ReportNoisyMax(2), ReportNoisyMax(1, monotonic=True)),
    Sparse: (Sparse(8, threshold=0, positives=2), Sparse(6, threshold=0, positives=2, monotonic=True)),
}
_BUDGETS = (privacy.Pure(1), privacy.ZeroConcentrated("0.5"), privacy.GaussianDP(1))


def shipped() -> dict[str, Checkable]:
    """Return every public mechanism, in several settings, and every kind of session, by name.

    >>> "Laplace(scale=1, sensitivity=1)" in shipped()
    True
    """
    missing = [name for name in public_mechanisms() if getattr(mechanisms, name) not in _EXAMPLES]
    if missing:
        raise DiscreetError(f"The auditor has no example of {', '.join(missing)}: add one to audit/shipped.py.")
    found: dict[str, Checkable] = {_title(example): example for some in _EXAMPLES.values() for example in some}
    sessions = {f"Session({type(b).__name__})": Filter(make=privacy.Session, budget=b) for b in _BUDGETS}
    return {**found, **sessions}


def public_mechanisms() -> list[str]:
    """Return the names of all public mechanisms.

    >>> "Laplace" in public_mechanisms()
    True
    """
    public = {name: getattr(mechanisms, name) for name in mechanisms.__all__}
    return [name for name, thing in public.items() if hasattr(thing, "release") and thing is not Mechanism]


def _title(mechanism: Any) -> str:
    """The record's own repr, with fractions and sensitivities as people write them."""
    held = {field.name: getattr(mechanism, field.name) for field in fields(mechanism)}
    shown = (
        f"{name}={_moves(value) if isinstance(value, Sensitivity) else value}" for name, value in held.items()
    )
    return f"{type(mechanism).__name__}({', '.join(shown)})"


def _moves(sensitivity: Sensitivity) -> str:
    return f"{sensitivity.entries}×{sensitivity.each}" if sensitivity.entries != 1 else str(sensitivity.each)
