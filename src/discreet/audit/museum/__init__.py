"""Show broken mechanisms from practice, each caught by an attack of the auditor.

Every exhibit is a small copy of the mistake with its story and its sources, the attack that catches it, and the
same attack on a mended twin, which must pass: an attack that catches everything proves nothing. `discreet audit
--museum` runs all of them.

    exhibit         the record of an exhibit
    budgets         adaptive choices, races, rounding, a sample that is used twice
    floats          noise in floating point
    gaussian        Gaussian and Laplace noise of the wrong width or kind
    generators      generators with a second holder, noise that is drawn again
    holdouts        holdouts that forget what they gave away
    learning        minimisers that are released with all their digits
    minimisers      theorems of private learning with one condition missing
    responses       randomised responses that reveal too much
    selection       choosing the best candidate
    sparse_vector   the sparse vector technique
    structure       shapes, codes and exceptions that depend on the data
    sums            sums that exceed their sensitivity
    thresholds      partition selection by a noisy count
"""

from __future__ import annotations

import importlib
import pkgutil

from discreet.audit.museum.exhibit import Exhibit

__all__ = ["Exhibit", "exhibits"]


def exhibits() -> tuple[Exhibit, ...]:
    """Return every exhibit of every module, in the order of the modules.

    >>> len({exhibit.name for exhibit in exhibits()}) == len(exhibits()) > 20
    True
    """
    modules = (importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__))
    return tuple(exhibit for module in modules for exhibit in getattr(module, "EXHIBITS", ()))
