"""Learn from data about people with differential privacy.

    noise        random bits to exact integer noise
    privacy      what a guarantee is, and how guarantees add up
    mechanisms   one private release each
    plots        pictures of costs and risks (needs `discreet[plots]`)
    audit        attacks on all of these, and on anything else that claims to be private

>>> import discreet as dp
>>> count = dp.mechanisms.Exact(1042, 1)
>>> mechanism = dp.mechanisms.Laplace(scale=10)
>>> noisy = mechanism.release(count)
>>> mechanism.loss
DiscreteLaplace(scale=Fraction(10, 1), sensitivity=1)
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet import audit, errors, mechanisms, noise, plots, privacy

__version__ = "0.1.0"

__all__ = ["__version__", "audit", "errors", "mechanisms", "noise", "plots", "privacy"]


def __getattr__(name: str) -> ModuleType:
    # Layers are loaded when they are first used, so that `import discreet` costs next to nothing.
    if name in __all__:
        return importlib.import_module(f"discreet.{name}")
    raise AttributeError(f"module 'discreet' has no attribute {name!r}; it has {', '.join(__all__[1:])}.")


def __dir__() -> list[str]:
    return __all__
