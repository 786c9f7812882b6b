"""Keep findings valid under adaptive analysis: what differential privacy says about generalisation.

    guard = ReusableHoldout(X_hold, y_hold, purpose="selecting", queries=200, path="guard.holdout")
    guard.score(model, X, y)                       a score with an interval that stays valid
    plan(n=10_000, queries=200, width=0.05)        which method certifies what, before any work

Its modules, in the order of use:

    planning, holdout    decide on a method, and guard a holdout with it
    open, vault_holdout  the same for a holdout inside of a vault
    scorer, screening    scikit-learn's face, and choosing features
    methods/             split, ladder, guess_and_check, gaussian, thresholdout
    metric, rows_by_name               numbers per row, of arrays and of a vault
    parameters, transcript, fingerprint   what is checked, the durable transcript, and whose it is
    answer, label, render              what comes back
    theorems/            the bounds: Hoeffding, DFHPRR, BNSSSU, Jung et al., Rogers et al., transcripts
    memorising, experiments            why it is needed: an example, and three simulations

Everything is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.validity import theorems
    from discreet.validity.answer import HoldoutAnswer
    from discreet.validity.holdout import ReusableHoldout
    from discreet.validity.planning import Plan, plan

_HOMES = {"HoldoutAnswer": "answer", "Plan": "planning", "ReusableHoldout": "holdout", "plan": "planning"}

__all__ = ["HoldoutAnswer", "Plan", "ReusableHoldout", "plan", "theorems"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"discreet.validity.{_HOMES[name]}"), name)
    if name == "theorems":
        return importlib.import_module("discreet.validity.theorems")
    raise AttributeError(f"module 'discreet.validity' has no attribute {name!r}; it has {', '.join(__all__)}.")


def __dir__() -> list[str]:
    return __all__
