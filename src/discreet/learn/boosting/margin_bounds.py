"""Bound the error of a voting classifier by the margins of its training examples.

A voting classifier is f = Σ αᵢ·hᵢ with αᵢ ≥ 0, Σ αᵢ = 1 and hᵢ from a finite set H of functions into {−1, 1},
counted with both signs. The margin of (x, y) is y·f(x). S is a sample of n independent examples from D. Each
statement holds with probability at least 1 − alpha over S, for every f, every θ in (0, 1] and every integer N ≥
1 at once, so all of them may be chosen after the margins were seen. Write s(θ) for the share of S with a margin
below θ, and c(N, θ) = e^{−Nθ²/8}.

    Schapire, Freund, Bartlett and Lee 1998:
        P_D[y·f(x) ≤ 0]  ≤  s(θ) + 2·c + √((N·ln|H| + ln(N·(N+1)²/alpha)) / (2n))
    the same, with relative entropies:
        P_D[y·f(x) ≤ 0]  ≤  c + kl⁻¹(s(θ) + c, (N·ln|H| + ln(N·(N+1)²/alpha)) / n)
    the same, with the weights known (information k = ln|H| − entropy of α):
        P_D[y·f(x) ≤ 0]  ≤  c + kl⁻¹(s(θ) + c, (N·k + ln(2√n·N·(N+1)²/alpha)) / n)
    Breiman 1999, if the least margin θ₀ > 4·√(2/|H|) and R = 32·ln(2|H|)/(n·θ₀²) ≤ 2n:
        P_D[y·f(x) ≤ 0]  ≤  R·(ln(2n) + ln(1/R) + 1) + ln(|H|/alpha)/n

kl⁻¹(q, e) is the largest p with q·ln(q/p) + (1−q)·ln((1−q)/(1−p)) ≤ e. A bound of 1 or more says nothing: it is
*vacuous*, and says so. The margins of training examples are private data, and so is every bound that is computed
from them. Proofs: docs/theory/boosting.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import Fix, ParameterError
from discreet.rational import Rational, positive, rational, shown, whole
from discreet.render.terminal import table

Floats: TypeAlias = NDArray[np.float64]

_THRESHOLDS = 200  # quantiles of the margins that are tried as θ
_DRAWS = 160  # values of N that are tried, before all those near the best one
_HALVINGS = 60  # of an interval in (0, 1): to the last digits of a float


@dataclass(frozen=True)
class MarginBound:
    """A bound on the error of a voting classifier, and the θ and N at which it is smallest.

    >>> print(breiman_bound(0.5, examples=10_000, hypotheses=200))
    Breiman: 1.034, vacuous (θ = 0.5, confidence 95 %)
    """

    name: str
    value: float
    alpha: float
    theta: float | None = None
    draws: int | None = None
    """N: the number of hypotheses drawn in the proof."""
    reason: str = ""
    """Why the theorem does not apply; then the value is 1, which is always true."""

    @property
    def vacuous(self) -> bool:
        """Whether the bound says nothing, because it is 1 or more."""
        return not self.value < 1

    @property
    def verdict(self) -> str:
        """The value in words: vacuous if it says nothing."""
        if self.reason:
            return f"does not apply: {self.reason}"
        return f"{self.value:.4g}, vacuous" if self.vacuous else f"{self.value:.4g}"

    @property
    def details(self) -> str:
        """The θ, N and confidence."""
        chosen = [] if self.theta is None else [f"θ = {self.theta:.4g}"]
        drawn = [] if self.draws is None else [f"N = {self.draws:,}"]
        return ", ".join([*chosen, *drawn, f"confidence {100 * (1 - self.alpha):.4g} %"])

    def __str__(self) -> str:
        return f"{self.name}: {self.verdict} ({self.details})"


def schapire_bound(
    theta: ArrayLike, share: ArrayLike, *, examples: int, hypotheses: int, alpha: Rational = "0.05"
) -> MarginBound:
    """Return the bound of Schapire, Freund, Bartlett and Lee, smallest over N and over the given θ.

    Args:
        theta: One θ in (0, 1], or several.
        share: The share of the examples with a margin below each θ.
        examples: The number of independent examples.
        hypotheses: |H|, counting h and −h.
        alpha: The probability that the bound fails; 0.05 by default.

    >>> print(schapire_bound(0.5, 0, examples=10_000, hypotheses=200))
    Schapire et al.: 0.2198 (θ = 0.5, N = 145, confidence 95 %)
    """
    task = _Task.of(theta, share, examples, hypotheses, alpha)

    def value(at: Floats, below: Floats, draws: Floats) -> Floats:
        paid = (draws * math.log(task.hypotheses) + task.union(draws)) / (2 * task.examples)
        bound: Floats = below + 2 * np.exp(-draws * at**2 / 8) + np.sqrt(paid)
        return bound

    return task.least("Schapire et al.", value)


def entropy_bound(
    theta: ArrayLike,
    share: ArrayLike,
    *,
    examples: int,
    hypotheses: int,
    alpha: Rational = "0.05",
    weights: ArrayLike | None = None,
) -> MarginBound:
    """Return the bound by relative entropies, smallest over N and over the given θ.

    With relative entropies instead of Hoeffding's inequality, few small margins count for less, down to
    (ln n)/n where there are none. With `weights`, ln|H| becomes ln|H| − entropy: a vote of many is simpler.

    Args:
        theta: One θ in (0, 1], or several.
        share: The share of the examples with a margin below each θ.
        examples: The number of independent examples.
        hypotheses: |H|, counting h and −h.
        alpha: The probability that the bound fails; 0.05 by default.
        weights: The α of every *distinct* hypothesis that votes; None, the default, uses ln|H| for any of them.

    >>> print(entropy_bound(0.5, 0, examples=10_000, hypotheses=200))
    Relative entropy: 0.1109 (θ = 0.5, N = 179, confidence 95 %)
    """
    task = _Task.of(theta, share, examples, hypotheses, alpha)
    each, extra = math.log(task.hypotheses), 0.0
    if weights is not None:
        each, extra = information(weights, task.hypotheses), math.log(2 * math.sqrt(task.examples))

    def value(at: Floats, below: Floats, draws: Floats) -> Floats:
        rare = np.exp(-draws * at**2 / 8)
        paid = (draws * each + extra + task.union(draws)) / task.examples
        return rare + inverse_entropy(np.minimum(below + rare, 1.0), paid)

    return task.least("Relative entropy" if weights is None else "Relative entropy, weights known", value)


def breiman_bound(least: float, *, examples: int, hypotheses: int, alpha: Rational = "0.05") -> MarginBound:
    """Return Breiman's bound from the least margin, if both of its conditions hold.

    Args:
        least: The least margin of all examples.
        examples: The number of independent examples.
        hypotheses: |H|, counting h and −h.
        alpha: The probability that the bound fails; 0.05 by default.

    >>> print(breiman_bound(0.3, examples=10_000, hypotheses=200))
    Breiman: does not apply: the least margin must be above 4·√(2/|H|) = 0.4 (θ = 0.3, confidence 95 %)
    """
    n, size, chance = _counts(examples, hypotheses, alpha)
    if not -1 <= least <= 1:
        raise ParameterError("A margin lies between -1 and 1.", found=shown(least))

    def result(value: float, reason: str = "") -> MarginBound:
        return MarginBound("Breiman", value, chance, theta=float(least), reason=reason)

    floor = 4 * math.sqrt(2 / size)
    if least <= floor:
        return result(1.0, f"the least margin must be above 4·√(2/|H|) = {floor:.4g}")
    ratio = 32 * math.log(2 * size) / (n * least**2)
    if ratio > 2 * n:
        return result(1.0, f"R = 32·ln(2|H|)/(n·θ²) = {ratio:.4g} must be at most 2n = {2 * n:,}")
    return result(ratio * (math.log(2 * n) - math.log(ratio) + 1) + math.log(size / chance) / n)


def margin_bounds(
    margins: ArrayLike, *, hypotheses: int, alpha: Rational = "0.05", weights: ArrayLike | None = None
) -> tuple[MarginBound, ...]:
    """Return every bound for the margins of a training set, each smallest over θ and N.

    Each holds with confidence 1 − alpha by itself. The result is private data, as the margins are.

    Args:
        margins: The margin of every training example.
        hypotheses: |H|, counting h and −h.
        alpha: The probability that a bound fails; 0.05 by default.
        weights: The α of every distinct hypothesis that votes, for the bound that uses them; none by default.

    >>> for bound in margin_bounds([0.5] * 10_000, hypotheses=200):
    ...     print(bound)
    Relative entropy: 0.1109 (θ = 0.5, N = 179, confidence 95 %)
    Schapire et al.: 0.2198 (θ = 0.5, N = 145, confidence 95 %)
    Breiman: 1.034, vacuous (θ = 0.5, confidence 95 %)
    """
    found = np.asarray(margins, float).ravel()
    if not found.size:
        raise ParameterError("A bound needs the margin of at least one example.", found="none")
    if not np.all(np.abs(found) <= 1 + 1e-9):
        raise ParameterError("Margins must be normalised, so that they lie between -1 and 1.")
    n, (theta, share) = found.size, thresholds(found)
    common = {"examples": n, "hypotheses": hypotheses, "alpha": alpha}
    known = [] if weights is None else [entropy_bound(theta, share, weights=weights, **common)]  # type: ignore[arg-type]
    return (
        *known,
        entropy_bound(theta, share, **common),  # type: ignore[arg-type]
        schapire_bound(theta, share, **common),  # type: ignore[arg-type]
        breiman_bound(max(-1.0, min(1.0, float(found.min()))), **common),  # type: ignore[arg-type]
    )


def written(bounds: Sequence[MarginBound]) -> list[str]:
    """Return bounds as the lines of a table for a terminal.

    >>> written([breiman_bound(0.9, examples=10**6, hypotheses=200)])
    ['Breiman  0.005655  θ = 0.9, confidence 95 %']
    """
    return table([(bound.name, bound.verdict, bound.details) for bound in bounds])


# -- parts ------------------------------------------------------------------------------------------------------


def thresholds(margins: Floats) -> tuple[Floats, Floats]:
    """Return the θ worth trying, and the share of the margins below each.

    Between two margins only the share stays, and everything else falls with θ: the best θ is the next margin.

    >>> theta, share = thresholds(np.array([-0.2, 0.1, 0.1, 0.4]))
    >>> theta.tolist(), share.tolist()
    ([0.1, 0.4], [0.25, 0.75])
    """
    ordered = np.sort(np.minimum(margins, 1.0))
    places = np.unique(np.linspace(0, ordered.size - 1, _THRESHOLDS).round().astype(int))
    theta = np.unique(ordered[places])
    theta = theta[theta > 0]
    if not theta.size:
        theta = np.array([1.0])  # no positive margin: every θ has a share of 1 or nearly so
    return theta, np.searchsorted(ordered, theta, side="left") / ordered.size


def information(weights: ArrayLike, hypotheses: int) -> float:
    """Return ln|H| minus the entropy of the weights: the information of one draw of a voter, in nats.

    >>> round(information([0.5, 0.5], 200), 3)
    4.605
    """
    given = np.abs(np.asarray(weights, float).ravel())
    if not given.size or not given.sum() > 0:
        raise ParameterError("A vote needs a weight above 0.", found=shown(weights))
    shares = given[given > 0] / given.sum()
    if shares.size > hypotheses:
        raise ParameterError("There are more weights than hypotheses.", found=f"{shares.size} of {hypotheses}")
    return max(0.0, math.log(hypotheses) + float((shares * np.log(shares)).sum()))


def inverse_entropy(share: ArrayLike, most: ArrayLike) -> Floats:
    """Return the largest p with kl(share ‖ p) ≤ most, never too small by more than the last digits.

    >>> inverse_entropy(0.0, 0.1).round(4).item()  # 1 − e^{−0.1}
    0.0952
    """
    q, limit = np.broadcast_arrays(np.asarray(share, float), np.asarray(most, float))
    low, high = q.astype(float), np.ones(q.shape)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        inside = _relative_entropy(q, middle) <= limit
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return high


def _relative_entropy(q: Floats, p: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(q > 0, q * np.log(q / p), 0.0)
        second = np.where(q < 1, (1 - q) * np.log((1 - q) / (1 - p)), 0.0)
    return first + second


@dataclass(frozen=True)
class _Task:
    """What the bounds over θ and N have in common."""

    theta: Floats
    share: Floats
    examples: int
    hypotheses: int
    alpha: float

    @classmethod
    def of(cls, theta: ArrayLike, share: ArrayLike, examples: int, hypotheses: int, alpha: Rational) -> _Task:
        at, below = np.broadcast_arrays(np.atleast_1d(np.asarray(theta, float)), np.asarray(share, float))
        if at.ndim != 1 or not at.size or not np.all((at > 0) & (at <= 1)):
            raise ParameterError("θ must lie above 0 and not above 1.", found=shown(theta), fix=Fix("theta", 0.5))
        if not np.all((below >= 0) & (below <= 1)):
            raise ParameterError("A share lies between 0 and 1.", found=shown(share))
        return cls(at, below, *_counts(examples, hypotheses, alpha))

    def union(self, draws: Floats) -> Floats:
        """The logarithm of how many events the proof covers: N·(N + 1) for all N, N + 1 for all θ."""
        events: Floats = np.log(draws) + 2 * np.log(draws + 1) - math.log(self.alpha)
        return events

    def least(self, name: str, value: Callable[[Floats, Floats, Floats], Floats]) -> MarginBound:
        """Return the smallest bound: a coarse search over N for every θ, and a full one around the best."""
        best = (math.inf, 1.0, 1)
        for at, below in zip(self.theta, self.share, strict=True):
            useful = math.ceil(8 / at**2 * math.log(16 * self.examples)) + 1  # beyond it, c is below 1/(16n)
            coarse = np.unique(np.geomspace(1, useful, _DRAWS).round())
            values = value(np.full(coarse.shape, at), np.full(coarse.shape, below), coarse)
            place = int(values.argmin())
            best = min(best, (float(values[place]), float(at), int(coarse[place])))
        at = best[1]
        below = float(self.share[np.flatnonzero(self.theta == at)[0]])
        near = np.unique(np.linspace(max(1, best[2] * 0.9), best[2] * 1.1 + 1, 4000).round())
        values = value(np.full(near.shape, at), np.full(near.shape, below), near)
        place = int(values.argmin())
        best = min(best, (float(values[place]), at, int(near[place])))
        return MarginBound(name, best[0], self.alpha, theta=best[1], draws=best[2])


def _counts(examples: int, hypotheses: int, alpha: Rational) -> tuple[int, int, float]:
    """Return the checked parameters that all theorems share."""
    n, size = whole(examples, "examples"), whole(hypotheses, "hypotheses", least=2)
    chance = float(positive(rational(alpha, "alpha", floats="exact"), "alpha"))
    if chance >= 1:
        raise ParameterError("alpha must be below 1.", found=shown(alpha), fix=Fix("alpha", "0.05"))
    return n, size, chance
