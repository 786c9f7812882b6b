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
]
"""Rate, σ, releases, δ and ε of sampled Gaussians, by quadrature that shares no code with any accountant."""


def sampled_grid(size: int = 40) -> list[tuple[str, str, int, float]]:
    """Return random plans of sampled Gaussians over the whole range that people use: rate, σ, releases, δ."""
    draw = random.Random(2).choice
    rates, sigmas = ("1e-5", "1e-4", "1e-3", "1e-2", "0.1", "0.5", "1"), ("0.5", "0.8", "1", "2", "5", "10")
    counts, deltas = [1, 10, 100, 1000, 10**4, 10**5, 10**6], [1e-3, 1e-6, 1e-10, 1e-20]
    return [(draw(rates), draw(sigmas), draw(counts), draw(deltas)) for _ in range(size)]
