"""The plans that the accounting benchmark gives to everyone, as plain data that crosses process borders."""

from __future__ import annotations

import math
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


REFERENCES = [
    ("1e-4", "1", 10**5, 1e-6, 0.156892),
    ("1e-4", "1", 10**5, 1e-10, 0.235460),
    ("1e-4", "0.8", 10**5, 1e-6, 0.243728),
    ("1e-4", "0.8", 10**5, 1e-10, 0.546889),
    ("1e-4", "0.8", 10**5, 1e-20, 3.22721),
    ("1e-3", "1", 10**5, 1e-6, 1.86105),
    ("1e-5", "1", 10**6, 1e-6, 0.045244),
    ("1e-5", "2", 10**6, 1e-10, 0.0277272),
    ("1e-2", "1", 10**4, 1e-10, 9.31614),
    ("0.1", "2", 10**3, 1e-20, 17.7616),
    ("1e-5", "1.3", 1, 1e-20, 0.00475769),
    ("1e-4", "1.65", 1, 1e-20, 0.0141876),
]
"""Rate, σ, releases, δ and ε of sampled Gaussians, by quadrature, or in closed form for one release."""


def sampled_grid(size: int = 60) -> list[tuple[str, str, int, float]]:
    """Return random plans of sampled Gaussians over the whole range that people use: rate, σ, releases, δ.

    All four are log-uniform. (On a lattice of rounded values, no plan was one that an inversion cannot resolve.)
    """
    draw = random.Random(2)

    def plan() -> tuple[str, str, int, float]:
        rate, sigma = 10 ** draw.uniform(-5, 0), 10 ** draw.uniform(math.log10(0.5), 1)
        count, delta = int(10 ** draw.uniform(0, 6)), 10 ** draw.uniform(-20, -3)
        return f"{rate:.3g}", f"{sigma:.3g}", count, float(f"{delta:.3g}")

    return [plan() for _ in range(size)]
