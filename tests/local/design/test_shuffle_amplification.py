"""Test the shuffled ε: never below the exact one, and equal to published figures."""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.local.design import shuffle_amplification
from discreet.local.design.shuffle_amplification import (
    amplified,
    blanket,
    clones,
    levels_of,
    shuffled,
)
from discreet.local.protocols.frequency.grr import GRR, warner
from discreet.local.protocols.frequency.hadamard import Hadamard
from discreet.local.protocols.frequency.local_hashing import OLH
from discreet.local.protocols.frequency.projective_geometry import Projective
from discreet.local.protocols.frequency.subset_selection import Subset
from discreet.local.protocols.frequency.two_step_grr import TwoStepGRR
from discreet.local.protocols.frequency.unary import OUE
from discreet.local.protocols.protocol import Randomiser


@pytest.mark.parametrize(
    ("n", "local", "published"),
    [
        (10**4, 2, 0.115),
        (10**4, 4, 0.412),
        (10**5, 1, 0.0127),
        (10**5, 4, 0.119),
        (10**5, 6, 0.357),
        (10**6, 4, 0.035),
        (10**6, 8, 0.305),
    ],
)
def test_any_protocol_has_the_published_bound(n: int, local: int, published: float) -> None:
    """Published figures come from a bisection that stops at ε₀/1024, on the safe side."""
    found = amplified(local, n, "1e-6")
    assert published - local / 1024 - 0.0005 <= found <= published + 0.0005


@pytest.mark.parametrize(
    ("n", "local", "published"), [(10**4, 2, 0.026), (10**4, 4, 0.215), (10**5, 4, 0.065), (10**6, 8, 0.301)]
)
def test_randomised_response_has_the_published_bound(n: int, local: int, published: float) -> None:
    found = shuffled(GRR.for_epsilon(128, local), n, "1e-6")
    assert published - local / 1024 - 0.0005 <= found <= published + 0.0005


def test_a_bound_of_large_crowds_takes_a_tenth_of_a_second() -> None:
    shuffled(GRR.for_epsilon(128, 4), 1000, "1e-6")  # loads what is loaded once
    best = math.inf
    for _ in range(3):
        start = time.process_time()
        shuffled(Projective.for_epsilon(1024, 4), 100_000, "1e-6")
        best = min(best, time.process_time() - start)
    assert best < 0.2  # 0.04 on an idle machine


# -- against the truth -------------------------------------------------------------------------------------------


def law_of_batches(randomiser: Randomiser, values: tuple[int, ...]) -> Counter[tuple[bytes, ...]]:
    """The exact law of what leaves the shuffler: reports in an order that says nothing."""
    batches: Counter[tuple[bytes, ...]] = Counter()
    laws = [randomiser.law(value).items() for value in values]
    for reports in product(*laws):
        batches[tuple(sorted(report for report, _ in reports))] += math.prod(p for _, p in reports)  # type: ignore[assignment]
    return batches


def exact_delta(randomiser: Randomiser, others: tuple[int, ...], epsilon: float) -> float:
    """The least δ for the pairs 0, 1 and 1, 0 of the first device, with these others."""
    p, q = law_of_batches(randomiser, (0, *others)), law_of_batches(randomiser, (1, *others))
    grown = Fraction(math.exp(epsilon))
    sides = (sum(max(a[y] - grown * b[y], Fraction(0)) for y in a | b) for a, b in ((p, q), (q, p)))
    return float(max(sides))


SMALL = [
    GRR.for_epsilon(2, 1),
    GRR.for_epsilon(3, 2),
    GRR.for_epsilon(5, "0.5"),
    Projective(4, 2, 3, 2**63),
    Hadamard.for_epsilon(3, 1),
    Subset.for_epsilon(4, 1),
    TwoStepGRR.for_losses(3, lifetime=2, each=1),
    OUE.for_epsilon(3, 1),
]


@pytest.mark.parametrize("randomiser", SMALL, ids=lambda made: f"{made.name}-{made.domain}")
@pytest.mark.parametrize("epsilon", [0.02, 0.2, 0.5, 0.9])
def test_no_batch_of_a_few_devices_leaks_more_than_the_bound(randomiser: Randomiser, epsilon: float) -> None:
    others = (2 % randomiser.domain, 1) if randomiser.name != "oue" else (2,)
    n = 1 + len(others)
    exact = exact_delta(randomiser, others, epsilon)
    assert exact <= clones(randomiser.loss.epsilon, n, epsilon)
    if levels := levels_of(randomiser):
        assert exact <= blanket(levels, n, epsilon)


@dataclass(frozen=True)
class Staircase:
    """Reports that are likelier for one of three values, and others that are for two of them."""

    w: Fraction
    single: Fraction

    def law(self, value: int) -> dict[bytes, Fraction]:
        double = (1 - self.single * (self.w + 2)) / (2 * self.w + 1)
        one = {b"1%d" % y: self.single * (self.w if y == value else 1) for y in range(3)}
        return one | {b"2%d" % y: double * (1 if y == value else self.w) for y in range(3)}


@pytest.mark.parametrize("w", [2, 4, 20])
@pytest.mark.parametrize("share", ["0", "0.3", "0.7", "1"])
def test_reports_that_two_values_share_do_not_break_the_bound_of_any_randomiser(w: int, share: str) -> None:
    randomiser = Staircase(Fraction(w), Fraction(share) / (w + 2))
    assert sum(randomiser.law(0).values()) == 1
    for n in (1, 2, 4):
        for epsilon in (0.05, 0.3, 0.9 * math.log(w)):
            exact = exact_delta(cast(Randomiser, randomiser), (2,) * (n - 1), epsilon)
            assert exact <= clones(math.log(w), n, epsilon) + 1e-9


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.3, 0.8])
@pytest.mark.parametrize("n", [2, 5, 9])
def test_for_yes_or_no_the_bound_is_the_truth(n: int, epsilon: float) -> None:
    """Warner's survey is the worst of all randomisers, if the others do not help: both bounds are attained."""
    survey = GRR.for_epsilon(2, 1)
    w = math.exp(1)
    heads = np.arange(n + 1)
    share, delta = 2 / (w + 1), 0.0
    for c in range(n):  # the definition, with every number of clones
        fair = np.array([math.comb(c, k) / 2**c for k in range(c + 1)])
        more, same = np.zeros(n + 1), np.zeros(n + 1)
        more[1 : c + 2], same[: c + 1] = fair, fair
        p, q = (w * more + same) / (w + 1), (more + w * same) / (w + 1)
        chance = math.comb(n - 1, c) * share**c * (1 - share) ** (n - 1 - c)
        delta += chance * float(np.maximum(p - math.exp(epsilon) * q, 0).sum())
    assert heads.size == n + 1
    assert clones(1, n, epsilon) == pytest.approx(delta, rel=1e-6, abs=0)
    levels = levels_of(survey)
    assert levels is not None
    assert delta <= blanket(levels, n, epsilon) <= delta * 1.2 + 0.003  # the lattice costs something for so few


@pytest.mark.parametrize(
    "randomiser",
    [Projective.for_epsilon(7, 2), Subset.for_epsilon(9, 1), OLH.for_epsilon(100, 2), GRR.for_epsilon(20, 3)],
    ids=lambda made: made.name,
)
def test_the_transform_is_the_sum_it_stands_for(randomiser: Randomiser) -> None:
    """One by one over all numbers of reports in for both, one or none of two values, for 40 devices."""
    levels, n = levels_of(randomiser), 40
    assert levels is not None
    w, parts = levels.worst, np.array([levels.one, levels.one, levels.both, levels.neither])
    chances = [*(levels.blanket * parts), 1 - levels.blanket]
    for epsilon in (0.1, 0.4):
        grown, total = math.exp(epsilon), 0.0
        gains = [w - grown, 1 - grown * w, (1 - grown) * w, 1 - grown]
        logs = [math.log(c) if c > 1e-15 else -math.inf for c in chances]
        a, b, c, d = np.meshgrid(*[np.arange(n + 1)] * 4, indexing="ij", sparse=True)
        rest = n - a - b - c - d
        factorials = np.array([math.lgamma(k + 1) for k in range(n + 1)])
        inside = rest >= 0
        rest = np.maximum(rest, 0)
        with np.errstate(invalid="ignore"):
            terms = [np.where(k == 0, 0.0, k * log) for k, log in zip((a, b, c, d, rest), logs, strict=True)]
        log = factorials[n] - sum(factorials[k] for k in (a, b, c, d, rest)) + sum(terms)
        sums = gains[0] * a + gains[1] * b + gains[2] * c + gains[3] * d
        total = float(np.sum(np.where(inside, np.exp(log) * np.maximum(sums, 0), 0.0))) / n
        found = blanket(levels, n, epsilon)
        assert total * (1 - 1e-9) <= found <= total * 1.05


@pytest.mark.parametrize(
    "randomiser",
    [*(made.for_epsilon(3, 1) for made in (Projective, Subset, Hadamard, GRR)), OLH(3, 2, 3 * 2**62, prime=7)],
    ids=lambda made: made.name,
)
def test_how_two_values_meet_agrees_with_the_law(randomiser: Randomiser) -> None:
    levels = levels_of(randomiser)
    assert levels is not None
    first, second = randomiser.law(0), randomiser.law(1)
    least, each = min(first.values()), Fraction(1, len(first))
    counted = Counter((first[y] > least, second[y] > least) for y in first)
    found = [float(counted[key] * each) for key in ((True, False), (True, True), (False, False))]
    assert found == pytest.approx([levels.one, levels.both, levels.neither], abs=1e-12)
    assert float(least / each) == pytest.approx(levels.blanket, rel=1e-12)


# -- how it behaves ----------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(local=st.floats(0.05, 8), n=st.integers(1, 10**6), exponent=st.floats(2, 10))
def test_a_crowd_never_hurts_and_a_larger_one_helps(local: float, n: int, exponent: float) -> None:
    delta = 10.0**-exponent
    found = amplified(local, n, delta)
    assert 0 < found <= math.nextafter(local, math.inf)
    assert amplified(local, 2 * n, delta) <= found * 1.001
    assert clones(local, n, found) <= delta


def test_the_binomials_are_right_to_what_is_stated() -> None:
    for tosses in (60, 1001, 20_000):
        for heads in (tosses // 2, int(tosses / 2 + 3 * math.sqrt(tosses)), 55):
            exact = Fraction(math.comb(tosses, heads), 2**tosses)
            found = float(shuffle_amplification._log_fair(np.array([float(heads)]), np.array([float(tosses)]))[0])
            assert found == pytest.approx(float(_log(exact)), abs=5e-10, rel=1e-10)


def _log(number: Fraction) -> float:
    shift = number.denominator.bit_length() - number.numerator.bit_length()
    return math.log(number * 2**shift) - shift * math.log(2)


def test_what_has_no_meaning_is_refused() -> None:
    for local, n, delta in ((0, 10, "1e-6"), (1, 0, "1e-6"), (1, 10, 0), (1, 10, 1), (1, 10**10, "1e-6")):
        with pytest.raises(ParameterError):
            amplified(local, n, delta)
    assert amplified(100, 10**6, "1e-6") == pytest.approx(100)
    assert shuffled(warner("0.55"), 10**6, "1e-6") < 0.02
