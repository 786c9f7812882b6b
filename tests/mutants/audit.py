"""Mutants of the auditor: each removes one thing that an attack must see."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

AUDIT = [
    Mutant(
        "exact: what was not explored is forgotten",
        "audit/attacks/exact.py",
        "low = max(0, low - Q.missing)",
        "low = max(0, low)",
        "tests/audit/attacks/test_exact.py",
    ),
    Mutant(
        "exact: one direction only",
        "audit/attacks/exact.py",
        "findings += [_compared(subject, pair, *laws), _compared(subject, pair[::-1], *laws[::-1])]",
        "findings += [_compared(subject, pair, *laws)]",
        "tests/audit/attacks/test_exact.py",
    ),
    Mutant(
        "exact: a walk that diverges goes unnoticed",
        "audit/attacks/exact.py",
        "if self._seen.setdefault(path, asked) != asked:",
        "if False:",
        "tests/audit/attacks/test_exact.py",
    ),
    Mutant(
        "laws: discrete Gaussian without its tail",
        "audit/attacks/draw_laws.py",
        "total = low, ONE + 2 * (sum(weight[1] for weight in half[1:]) + beyond)",
        "total = low - (ONE >> 20), low - (ONE >> 20)",
        "tests/audit/attacks/test_exact.py",
    ),
    Mutant(
        "outcomes: −0.0 taken for 0.0",
        "audit/attacks/outcomes.py",
        'return x if x else Double(f"{x:.1f}")',
        "return x",
        "src/discreet/audit/attacks/outcomes.py",
    ),
    Mutant(
        "outcomes: what an exception's text leaves out is not seen",
        "audit/attacks/outcomes.py",
        "error.args[1:] if ours else error.args",
        "()",
        "tests/audit/attacks/test_outcomes.py",
    ),
    Mutant(
        "outcomes: a refusal of ours with a text of its own is not looked into",
        "audit/attacks/outcomes.py",
        "ours = type(error).__str__ is DiscreetError.__str__",
        "ours = isinstance(error, DiscreetError)",
        "tests/audit/attacks/test_outcomes.py",
    ),
    Mutant(
        "confidence: the estimate taken for its bound",
        "audit/attacks/clopper_pearson.py",
        "bound: Floats = special.betaincinv(some, n - some + 1, alpha) * (1 - MARGIN)",
        "bound: Floats = some / n",
        "tests/audit/attacks/test_clopper_pearson.py",
    ),
    Mutant(
        "contract: error bars not looked at",
        "audit/attacks/contract.py",
        "caught = most < float(_CONFIDENCE)",
        "caught = False",
        "tests/audit/test_battery.py",
    ),
]
