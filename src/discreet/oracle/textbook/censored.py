"""What it costs to show noisy answers only where they are surprising.

A round draws an answer that is ε₀-differentially private, and shows it if it falls into a public set. Else it
shows nothing, and is called lazy. After c shown answers the run is over. There may be any number of lazy rounds,
and each round may depend on all that was shown before. No threshold is noisy, as in the sparse vector technique.

Claim. For every order α > 1 with x = (α − 1)·ε₀ < −ln p, p = 1/(1 + e^{−ε₀}), the whole run has a Rényi divergence

    D_α ≤ c·s/(α − 1),   s = −ln(1 − g/((1 − p)·e^{−x})),   g = tanh(ε₀/2)·sinh x + 2·sinh²(x/2),

for any two neighbours, and no smaller number does for all such rounds. Near ε₀ = 0 that is α·c·ε₀², twice what c
answers cost that are all shown, whatever the number of lazy rounds.

Proof. Let a round be lazy with probability 1 − u on one table and 1 − v on the other, P and Q its laws. If

    G = (1 − u)^α·(1 − v)^{1−α} + e^{−s}·E_Q[(P/Q)^α; shown] ≤ 1     for every round,

then Π (P/Q)^α·e^{−s·shown} is a supermartingale under Q, and E_Q[Π (P/Q)^α] ≤ e^{s·c}. Given u and v, the second
term is largest where P/Q takes its two ends e^{±ε₀} only, which makes it linear in (u, v); the first is convex. So
G is convex on the polygon of all (u, v) that ε₀ allows, and largest at one of its corners: (0, 0), where G = 1 for
any s; (1, 1), where G = e^{−s}·(1 + g); (p, 1 − p), where G ≤ 1 means e^{−s} ≤ 1 − g/(p·e^x); and (1 − p, p),
where it means e^{−s} ≤ 1 − g/((1 − p)·e^{−x}), the strictest of them. There a run counts lazy rounds until a coin
fails, and the sum of a geometric series shows that equality holds. ∎

Theory: docs/theory/multiplicative-weights.md.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.oracle.textbook.multiplicative_weights import Floats
from discreet.privacy import losses
from discreet.privacy.rounding import float_above, upward
from discreet.rational import Rational, positive, whole

_ORDERS = 256  # of a curve, over as many decades as there are


def divergence(epsilon: Rational, orders: Floats) -> Floats:
    """Return a bound on the Rényi divergence of these orders, for a run that ends with its first shown answer.

    It is infinite from the order 1 + ln(1 + e^{−ε})/ε on.

    >>> divergence("0.01", np.array([2.0, 60.0, 100.0])).round(6)
    array([0.000203, 0.018334,      inf])
    """
    e = float_above(positive(epsilon, "epsilon", floats="exact"))
    x = (orders - 1) * e
    gain = math.tanh(e / 2) * np.sinh(np.minimum(x, 1)) + 2 * np.sinh(np.minimum(x, 1) / 2) ** 2
    share = upward(gain * (1 + math.exp(e)) * np.exp(np.minimum(x, 1)), 32)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = np.where((share < 1) & (x < 1), -np.log1p(-np.minimum(share, 1)), np.inf)
        return upward(total / (orders - 1), 8)


def loss(epsilon: Rational, shown: int) -> losses.Renyi:
    """Return the loss of a run that ends with its `shown`-th answer, each round ε-differentially private.

    >>> curve = loss("0.01", shown=100)
    >>> from discreet import privacy
    >>> round(privacy.epsilon(curve, "1e-6"), 2), round(privacy.epsilon(privacy.Pure("0.01") * 100, "1e-6"), 2)
    (0.74, 0.39)
    """
    exact, count = positive(epsilon, "epsilon", floats="exact"), whole(shown, "shown")
    e = float_above(exact)
    furthest = math.log1p(math.exp(-e)) / e
    orders = 1 + np.geomspace(min(0.01, furthest / 1000), 0.98 * furthest, _ORDERS)
    epsilons = upward(count * divergence(exact, orders), 2)
    return losses.Renyi(tuple(orders.tolist()), tuple(epsilons.tolist()))
