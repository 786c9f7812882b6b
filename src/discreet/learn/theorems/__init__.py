"""State the theorems of private learning, with explicit constants, and compute them rounded against ourselves.

    sample_size       rows for K statistical queries within a tolerance: Theorem 3.2 of note 001, with union bound
    finite_classes    risk of finite classes, agnostic and realisable, private beside not private
    packing           the least number of rows of any private learner

Proofs, and where the lecture notes slip: docs/theory/pac.md.
"""

from discreet.learn.theorems.finite_classes import (
    erm_agnostic,
    erm_realisable,
    excess_errors,
    kl_inverse,
    private_agnostic,
    private_realisable,
)
from discreet.learn.theorems.packing import notes_packing, packing_rows
from discreet.learn.theorems.sample_size import (
    noise_failure,
    notes_sample_size,
    sample_size,
    sample_size_parts,
    tolerance_at,
)

__all__ = [
    "erm_agnostic",
    "erm_realisable",
    "excess_errors",
    "kl_inverse",
    "noise_failure",
    "notes_packing",
    "notes_sample_size",
    "packing_rows",
    "private_agnostic",
    "private_realisable",
    "sample_size",
    "sample_size_parts",
    "tolerance_at",
]
