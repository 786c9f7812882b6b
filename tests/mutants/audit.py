"""The audit: whether it sees what it is there to see."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

AUDIT = [
    Mutant(
        "exact: what was not explored is forgotten",
        "audit/exact.py",
        "low = max(0, low - Q.missing)",
        "low = max(0, low)",
        "tests/audit/test_exact.py",
    ),
    Mutant(
        "exact: one direction only",
        "audit/exact.py",
        "findings += [_compared(subject, pair, *laws), _compared(subject, pair[::-1], *laws[::-1])]",
        "findings += [_compared(subject, pair, *laws)]",
        "tests/audit/test_exact.py",
    ),
    Mutant(
        "exact: a walk that diverges goes unnoticed",
        "audit/exact.py",
        "if self._seen.setdefault(path, asked) != asked:",
        "if False:",
        "tests/audit/test_exact.py",
    ),
    Mutant(
        "laws: discrete Gaussian without its tail",
        "audit/laws.py",
        "total = low, ONE + 2 * (sum(weight[1] for weight in half[1:]) + beyond)",
        "total = low - (ONE >> 20), low - (ONE >> 20)",
        "tests/audit/test_exact.py",
    ),
    Mutant(
        "outcomes: −0.0 taken for 0.0",
        "audit/outcomes.py",
        'return x if x else Double(f"{x:.1f}")',
        "return x",
        "src/discreet/audit/outcomes.py",
    ),
    Mutant(
        "confidence: the estimate taken for its bound",
        "audit/confidence.py",
        "bound: Floats = special.betaincinv(some, n - some + 1, doubt) * (1 - MARGIN)",
        "bound: Floats = some / n",
        "tests/audit/test_confidence.py",
    ),
    Mutant(
        "contract: error bars not looked at",
        "audit/contract.py",
        "caught = most < float(_CONFIDENCE)",
        "caught = False",
        "tests/audit/test_check.py",
    ),
]
