"""Carry accuracy on a sample over to the population, for private algorithms, with high probability.

Let M be private for neighbours that *replace* one of n independent rows, and let its output name a question h, or
k of them, chosen adaptively. Each theorem bounds the probability that h(S) is far from h(P):

* DFHPRR (Dwork, Feldman, Hardt, Pitassi, Reingold, Roth 2015): ε-DP with ε ≤ τ/2 and n ≥ 12·ln(4/β)/τ² has error
  at most τ with probability 1 − β; (ε, δ)-DP needs ε ≤ τ/4, δ ≤ exp(−4·ln(8/β)/τ) and n ≥ 48·ln(4/β)/τ².
* BNSSSU (Bassily, Nissim, Smith, Steinke, Stemmer, Ullman 2016): for ε ≤ 1/3, δ ≤ ε/4 and n ≥ ln(4ε/δ)/ε², (ε,
  δ)-DP has error at most 18ε with probability 1 − δ/ε.
* Jung, Ligett, Neel, Roth, Sharifi-Malvajerdi, Shenfeld 2020: if M is (ε, δ)-DP and its answers are within α of
  the sample, but with probability β′, then for all c, d > 0 they are within α + (e^ε − 1) + c + 2d of the
  population, but with probability β′/c + δ/d. For a total of β the best c and d give c + 2d = (√β′ + √(2δ))²/β,
  because (c + 2d)(β′/c + δ/d) ≥ (√β′ + √(2δ))² (Cauchy–Schwarz), with equality at the right ratio of c to d.
* Max-information (after Dwork et al. 2015), proved here: let M be ε-DP with countably many outputs, and v =
  nε²/4. An event about (S, M(S)) that has probability p if S is drawn afresh, independently of the output, has
  probability at most e^t·p + β′ if S is the sample that M saw, where t is any number ≥ 0 with

      e^{v/2}·(e^{−(t−v)²/2v} + √(2πv)·P(N(0,1) ≥ (t − v)/√v)) ≤ β′.

  Proof. For an output a, Z = ln P(a | S)/P(a) moves by at most ε with each row, and E Z ≤ 0 by Jensen, so by
  McDiarmid P(Z ≥ z) ≤ e^{−z²/2v} for a fresh S. For the S that M saw, the law of (S, a) has density e^Z: so P(Z
  ≥ t) = E[e^Z; Z ≥ t] ≤ e^t·e^{−t²/2v} + ∫_t^∞ e^{z − z²/2v} dz, and completing the square gives the left side
  above. Where Z < t, the density is at most e^t. ∎

Theory: docs/theory/generalisation.md.
"""

from __future__ import annotations

import math

from discreet.errors import Fix, ParameterError
from discreet.validity.theorems.concentration import count, failure

_UP = 1 + 1e-12


def dfhprr_size(width: float, beta: float, delta: float = 0.0) -> int:
    """Return the rows that DFHPRR ask for, for ε-DP, or for (ε, δ)-DP if δ > 0.

    >>> dfhprr_size(0.1, 0.05), dfhprr_size(0.1, 0.05, delta=1e-100)
    (5259, 21034)
    """
    constant = 48 if delta else 12
    return math.ceil(constant * math.log(4 / failure(beta)) / width**2 * _UP)


def dfhprr_epsilon(width: float, delta: float = 0.0) -> float:
    """Return the most ε that DFHPRR allow for this width.

    >>> dfhprr_epsilon(0.1), dfhprr_epsilon(0.1, delta=1e-100)
    (0.05, 0.025)
    """
    return width / 4 if delta else width / 2


def dfhprr_delta(width: float, beta: float) -> float:
    """Return the most δ that DFHPRR allow for this width and probability of failure.

    >>> dfhprr_delta(0.1, 0.05) < 1e-88
    True
    """
    return math.exp(-4 * math.log(8 / failure(beta)) / width) / _UP


def bnsssu(rows: int, epsilon: float, delta: float) -> tuple[float, float]:
    """Return the error 18ε and its probability δ/ε; refuse where the theorem does not apply.

    >>> width, beta = bnsssu(rows=200_000, epsilon=0.01, delta=1e-6)
    >>> round(width, 3), round(beta, 6)
    (0.18, 0.0001)
    """
    if not (0 < epsilon <= 1 / 3 and 0 < delta <= epsilon / 4):
        raise ParameterError(
            "This theorem needs an epsilon up to 1/3 and a delta up to epsilon/4.",
            found=f"epsilon={epsilon:g}, delta={delta:g}",
            fix=[Fix("epsilon", 0.01), Fix("delta", 1e-6)],
        )
    least = math.ceil(math.log(4 * epsilon / delta) / epsilon**2)
    if count(rows, "rows") < least:
        raise ParameterError(
            f"This theorem needs at least {least:,} rows for this epsilon and delta.",
            found=rows,
            fix=Fix("epsilon", 1.01 * math.sqrt(math.log(4 * epsilon / delta) / rows)),
        )
    return 18 * epsilon * _UP, delta / epsilon * _UP


def jung(alpha: float, miss: float, epsilon: float, delta: float, beta: float) -> float:
    """Return the error about the population: α + (e^ε − 1) + (√β′ + √(2δ))²/β.

    Args:
        alpha: The error about the sample.
        miss: β′, the probability that the error about the sample is larger.
        epsilon: The ε of all answers together, for replacing one row.
        delta: Their δ.
        beta: The probability of failure that is wanted.

    >>> round(jung(0.01, 1e-5, epsilon=0.05, delta=1e-6, beta=0.05), 4)
    0.0617
    """
    spread = (math.sqrt(miss) + math.sqrt(2 * delta)) ** 2 / failure(beta)
    return (alpha + math.expm1(epsilon) + spread) * _UP


def max_information(rows: int, epsilon: float, miss: float) -> float:
    """Return t, in nats: an event of probability p becomes one of at most e^t·p + `miss`.

    >>> round(max_information(10_000, 0.01, 0.01), 3)
    1.81
    """
    v, limit = count(rows, "rows") * epsilon**2 / 4, failure(miss) / _UP
    if v == 0:
        return 0.0

    def tail(t: float) -> float:
        x = (t - v) / math.sqrt(v)
        gauss = math.exp(-x * x / 2) + math.sqrt(math.pi * v / 2) * math.erfc(x / math.sqrt(2))
        return math.exp(v / 2) * gauss

    if v > 1000:  # exp(v/2) would leave the floats, and t says nothing any more
        return math.inf
    low, high = 0.0, 1.0
    while tail(high) > limit:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle) > limit else (low, middle)
    return high * _UP


def max_information_width(rows: int, queries: int, epsilon: float, beta: float) -> float:
    """Return how far k questions on the sample are from the population, if all answers together are ε-DP.

    Half of β is for the sample that privacy cannot rule out, and half for Hoeffding's bound.

    >>> round(max_information_width(10_000, 1000, 0.01, 0.05), 4)
    0.0254
    """
    t = max_information(rows, epsilon, beta / 2)
    return math.sqrt((t + math.log(4 * count(queries, "queries") / failure(beta))) / (2 * rows)) * _UP
