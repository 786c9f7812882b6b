"""What a mutant is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One change to one file, and the tests that must not let it pass."""

    name: str
    file: str
    before: str
    after: str
    tests: str
