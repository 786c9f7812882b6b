"""Collect every mechanism, protocol and session that the package ships, as subjects of an attack.

    local_protocols   the protocols of `local`, with small domains

Public mechanisms are found, not listed: a mechanism without an example here makes `shipped` fail, so that none can
be forgotten. Most examples have little noise, so that the exact attack can enumerate nearly all of it. The
mechanisms of `oracle` take a histogram and queries: they run on tiny domains, and everything that is seen of a run
is compared. The same holds for the threshold test of the practical oracle, which has its own noise.
"""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any

from discreet import mechanisms, oracle, privacy
from discreet.audit.battery import Checkable, Filter
from discreet.audit.inputs.subject import Subject
from discreet.audit.shipped.local_protocols import protocols, without_example
from discreet.errors import DiscreetError
from discreet.mechanisms import (
    AboveThreshold,
    Exact,
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
from discreet.oracle import threshold_test

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
_THRESHOLD_TEST = threshold_test.Watch(4, threshold=1, monotonic=True)
_BUDGETS = (privacy.Pure(1), privacy.ZeroConcentrated("0.5"), privacy.GaussianDP(1))


def shipped() -> dict[str, Checkable]:
    """Return every public mechanism, with several parameters, and every kind of session, by name.

    >>> "Laplace(scale=1, sensitivity=1)" in shipped()
    True
    """
    missing = [name for name in public_mechanisms() if getattr(mechanisms, name) not in _EXAMPLES]
    missing += sorted(set(public_oracles()) - set(_oracles()))
    missing += without_example()
    if missing:
        raise DiscreetError(
            f"The auditor has no example of {', '.join(missing)}.",
            fix="Add a small one in src/discreet/audit/shipped.",
        )
    found: dict[str, Checkable] = {_title(example): example for some in _EXAMPLES.values() for example in some}
    sessions = {f"Session({type(b).__name__})": Filter(make=privacy.Session, budget=b) for b in _BUDGETS}
    return {**found, **{subject.name: subject for subject in _oracles().values()}, **protocols(), **sessions}


def public_mechanisms() -> list[str]:
    """Return the names of all public mechanisms.

    >>> "Laplace" in public_mechanisms()
    True
    """
    public = {name: getattr(mechanisms, name) for name in mechanisms.__all__}
    return [name for name, thing in public.items() if hasattr(thing, "release") and thing is not Mechanism]


def public_oracles() -> list[str]:
    """Return the names of all public mechanisms of `oracle`, which answer queries about a histogram.

    >>> "MWEM" in public_oracles()
    True
    """
    public = {name: getattr(oracle, name) for name in oracle.__all__}
    return [name for name, thing in public.items() if hasattr(thing, "release") and hasattr(thing, "loss")]


@cache
def _oracles() -> dict[str, Subject]:
    """Return one subject for each of them. The number of rows is declared, and need not be that of the table."""
    cells = oracle.Queries([[1, 0], [0, 1]])
    online = {"cells": 2, "rows": 1, "queries": 2, "failure": "0.5"}
    pmw = oracle.PrivateMultiplicativeWeights(alpha=3, each=6, **online)  # type: ignore[arg-type]
    first = oracle.HardtRothblum(epsilon=6, delta="0.5", cells=2, rows=2, queries=1, failure="0.9")
    mwem = oracle.MWEM.for_epsilon(6, queries=cells, rows=4, rounds=1)
    blr = oracle.BLR(epsilon=2, queries=cells, rows=10, size=2)

    def online_run(mechanism: Any) -> Any:
        return lambda counts: [(int(a.value), a.paid) for a in mechanism.release(Exact(counts, 1), cells)]

    near = [([4, 5], [5, 5]), ([0, 5], [0, 4])]
    return {
        "PrivateMultiplicativeWeights": _subject(pmw, "epsilon=12, cells=2, updates=1", online_run(pmw), near[:1]),
        "HardtRothblum": _subject(first, "epsilon=6, delta=0.5, cells=2, rows=2", online_run(first), near),
        "MWEM": _subject(mwem, "epsilon=6, cells=2, rounds=1", lambda x: mwem.release(Exact(x, 1)).measured, near),
        "BLR": _subject(blr, "epsilon=2, cells=2, size=2", lambda x: blr.release(Exact(x, 1)).tolist(), near),
        "Watch": _subject(
            _THRESHOLD_TEST, "epsilon=4, threshold=1", _tested, [([0, 2], [1, 3]), ([3, 1], [3, 2])]
        ),
    }


def _tested(counts: list[int]) -> list[int | None]:
    """Return all that a threshold test shows: None for a count below the threshold, the gap of the first above."""
    run, shown = threshold_test.start(_THRESHOLD_TEST, "up", 0), list[int | None]()
    for count in counts:
        gap = run.gap(Exact(count, Sensitivity(entries=1, each=1, monotonic="up")))
        shown.append(None if gap is None else int(gap))
        if run.over:
            break
    return shown


def _subject(mechanism: Any, parameters: str, release: Any, pairs: Any) -> Subject:
    name = f"{type(mechanism).__name__}({parameters})"
    return Subject(name=name, release=release, loss=mechanism.loss, pairs=pairs)


def _title(mechanism: Any) -> str:
    """Return the repr of the record, with fractions and sensitivities in short form."""
    held = {field.name: getattr(mechanism, field.name) for field in fields(mechanism)}
    shown = (
        f"{name}={_short(value) if isinstance(value, Sensitivity) else value}" for name, value in held.items()
    )
    return f"{type(mechanism).__name__}({', '.join(shown)})"


def _short(sensitivity: Sensitivity) -> str:
    return f"{sensitivity.entries}×{sensitivity.each}" if sensitivity.entries != 1 else str(sensitivity.each)
