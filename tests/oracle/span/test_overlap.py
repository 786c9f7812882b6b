"""The overlap of boxes: its simulation against all boxes at once, and the error that it allows itself."""

from __future__ import annotations

import math
from itertools import combinations
from statistics import NormalDist

import numpy as np
import pytest

from discreet.noise import discrete_gaussian
from discreet.oracle.span import overlap
from discreet.oracle.span.confidence import quantile
from tests.oracle.span.spans import columns, made

DRAWS = 20_000


def test_the_identity_holds_against_the_noise_of_all_boxes_at_once() -> None:
    """n·2Φ(−z)·E[1/N] is P(some box is beyond z), with N counted near the box, so it is never below.

    20,000 draws each; the tolerance is six standard errors of either side, so a false alarm has 1e-8.
    """
    (column,) = columns((24, 24))
    plan = made((column,), 1)
    starts, ends = np.triu_indices(24)
    kept = ends + 1 - starts < 24
    low, high = starts[kept], ends[kept] + 1
    noises = [plan.noise[()], plan.noise[(0,)]]
    total = math.sqrt(noises[0]) * discrete_gaussian(2**40, DRAWS) / 2**20
    table = discrete_gaussian(2**40, (DRAWS, column.strategy.matrix.shape[0])) / 2**20 * math.sqrt(noises[1])
    summed = np.zeros((DRAWS, 25))
    summed[:, 1:] = (table @ column.strategy.inverse.T).cumsum(axis=1)
    answers = (high - low) / 24 * total[:, None] + summed[:, high] - summed[:, low]
    deviations = np.sqrt(
        [noises[0] * ((b - a) / 24) ** 2 + noises[1] * column.box(a, b)[1] for a, b in zip(low, high, strict=True)]
    )
    z = 3.2
    beyond = np.abs(answers / deviations) > z
    direct = float(beyond.any(axis=1).mean())
    shares = overlap.Boxes([column], noises).shares(z, DRAWS)
    union = len(low) * 2 * NormalDist().cdf(-z)
    found = union * float(shares.mean())
    error = 6 * (math.sqrt(direct / DRAWS) + union * float(shares.std()) / math.sqrt(DRAWS))
    assert direct - error < found < 0.8 * union


@pytest.mark.parametrize("factor", [1.15, 1.4, 2.5])
def test_a_factor_that_is_too_large_passes_its_test_too_rarely_to_matter(factor: float) -> None:
    """For every true mean: (λ·m − 1)·P(pass) ≤ EXCESS, by the exact binomial law, the widest of all on [0, 1]."""
    draws = overlap.DRAWS
    limit = math.floor(overlap.threshold(factor, draws) * draws)
    counts = np.arange(limit + 1)
    logs = np.array([math.lgamma(draws + 1) - math.lgamma(k + 1) - math.lgamma(draws - k + 1) for k in counts])
    for mean in np.linspace(1 / factor, 0.999, 60):
        passes = float(np.exp(logs + counts * math.log(mean) + (draws - counts) * math.log1p(-mean)).sum())
        assert (factor * mean - 1) * passes <= overlap.EXCESS
    assert overlap.threshold(factor, draws) > 1 / factor - 0.05


def test_long_columns_get_a_little_more_of_alpha_and_short_ones_what_they_had() -> None:
    plan = made(columns((60, 60), (64, 64), (50, 50), (3, 0)), 3)
    found = overlap.overlaps(plan.columns, plan.noise, 3, 0.004)
    assert {*found} <= set(combinations(range(4), 3))
    assert all(1 / (1 + overlap.EXCESS) - 1e-9 <= factor < 3 for factor in found.values())
    short = made(columns((12, 12), (8, 8), (3, 0)), 3)
    assert overlap.overlaps(short.columns, short.noise, 3, 0.004) == {}


def test_the_margin_of_a_box_uses_the_overlap_of_its_columns_and_of_no_others() -> None:
    from fractions import Fraction

    from discreet.oracle.span.span import Span
    from tests.oracle.span.spans import box

    plan = made(columns((6, 6), (4, 0)), 2)
    given = dict.fromkeys(plan.noise, 1.0)
    factors: list[dict[tuple[int, ...], float]] = [{}, {(0, 1): 2.0}]
    spans = [
        Span(plan.columns, given, least=1e9, most=2, promise="every", alpha=Fraction(1, 200), overlap=factor)
        for factor in factors
    ]
    pair, single = box(plan, c0=(1, 4), c1=(0, 1)), box(plan, c0=(1, 4))
    sets = box(plan, c0=(1, 4), c1=(0, 2))
    plain, shared = ([span.margin(q, span.groups(q)) for q in (pair, single, sets)] for span in spans)
    assert shared[1:] == plain[1:]
    assert shared[0] / plain[0] == pytest.approx(
        quantile(2 * spans[0].weight(pair) / 200) / quantile(spans[0].weight(pair) / 200)
    )
    assert shared[0] == spans[1].box_margin(((0, 1, 4), (1, 0, 1)))
