"""The plans that the accounting benchmark gives to everyone, as plain data that crosses process borders."""

from __future__ import annotations

import random

Event = tuple[str, float, float, int]
"""Kind, parameter, sampling rate, and how often: Laplace and response take ε₀, Gaussians take σ."""

DELTA = 1e-6
SMALL_DELTAS = [10.0**-n for n in (6, 8, 10, 12, 14, 16, 20, 25, 30)]


def plans() -> dict[str, list[Event]]:
    draw = random.Random(1).uniform
    kinds = [("laplace", 0.005, 0.05), ("gaussian", 50, 300), ("response", 0.005, 0.05)]
    distinct = [(kind, draw(low, high), 1.0, 1) for _ in range(334) for kind, low, high in kinds][:1000]
    return {
        "laplace": [("laplace", 0.01, 1.0, 10_000)],
        "gaussian": [("gaussian", 100.0, 1.0, 10_000)],
        "distinct": distinct,
        "sampled": [("gaussian", 1.0, 0.01, 10_000)],
    }
