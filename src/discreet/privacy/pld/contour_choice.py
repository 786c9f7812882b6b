"""Choose tilts, nodes and added releases for the inversion of a plan, and solve it for ε or δ.

The tilt θ and ε are taken where the integrand stands still, K′(θ) = ε + 1/θ + 1/(1+θ), and where its
saddle-point value is δ. ε is then solved for with the certified bound, and the choice repeated at the ε that
was found.

**Rare losses.** Where a single loss above some x decides about δ, no tilt serves: the law has a tail that falls
more slowly than any exponential of use. So condition on the number j of losses of one kind above x. With B the
atoms up to x and T those above, the k-fold sum of B + T is Σ_j C(k, j)·B^(k−j)·T^j, term by term as measures.
Each term has its own tilt, its own added release (each is paid by its own term alone, as the bounds hold for
every single value of the sum) and its own inversion. Upper: what is left out, j > J, is at most C(k,
J+1)·T(ℝ)^(J+1), the expected number of ways to choose J + 1 losses above x. Lower: it is left out.

**One or two releases** need no inversion: their profile is added up atom by atom (`direct_sum`).

No estimate is trusted: a poor choice gives a looser bound, never a wrong one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from discreet.privacy import losses as kinds
from discreet.privacy.pld.atoms import Atoms, Side, above, below, coarse_nodes, fine_nodes
from discreet.privacy.pld.contour import Inversion, Law, TooLong, invert, tilted
from discreet.privacy.pld.direct_sum import MOST, DirectSum
from discreet.privacy.pld.dominating_pairs import Direction
from discreet.privacy.pld.grid_choice import Counts, Parts, collapse_gaussians
from discreet.privacy.rounding import upward

_NODES = 1000  # of one loss
_TIGHTNESS = 1e-5  # of ε: what the added Gaussian may cost the upper bound
_VISIBLE = 1e-3  # the share of error in δ from which on another choice is tried
_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the tilt: the body decides at small ones, rare losses at large ones
_RARE = (1e-2, 1e-5, 1e-9)  # the expected number of rare losses that is tried
_MOST_RARE = 12  # rare losses in one term
_PRECISE = 1e-7  # of ε: what the search for it may leave open
_STEEPEST = 1e9  # the steepest tilt that is tried
_WIDEST = 1.0  # the s² from which on an added release says nothing

FEW = 64
"""Distinct losses up to which an inversion is worth its time."""


@dataclass(frozen=True)
class Impossible:
    """A term whose losses end below `ceiling`."""

    ceiling: float

    def upper(self, epsilon: float) -> float:
        """Return 0, or 1 where nothing is known."""
        return 0.0 if epsilon >= self.ceiling else 1.0

    def lower(self, _: float) -> float:
        """Return 0."""
        return 0.0

    def share(self, _: float) -> float:
        """Return 0: there is no error."""
        return 0.0


@dataclass(frozen=True)
class Contour:
    """Bounds on the profile of a plan in one direction, near one ε.

    Args:
        terms: The inversions or direct sums, which add up to the profile.
        infinite: Bounds on the probability of an infinite loss.
        left_out: What the terms leave out, at most.
    """

    terms: tuple[Inversion | Impossible | DirectSum, ...]
    infinite: tuple[float, float]
    left_out: float = 0.0

    @property
    def theta(self) -> float:
        """The least tilt: between bounds at two ε, δ falls at least by it."""
        return min((term.theta for term in self.terms if isinstance(term, Inversion)), default=1.0)

    def upper(self, epsilon: float) -> float:
        """Return a δ at ε that is certainly not too small."""
        finite = math.fsum(term.upper(epsilon) for term in self.terms)
        return min(1.0, (finite + self.infinite[1] + self.left_out) * (1 + 1e-12))

    def lower(self, epsilon: float) -> float:
        """Return a δ at ε that is certainly not too large."""
        finite = math.fsum(term.lower(epsilon) for term in self.terms)
        return min(1.0, (finite + self.infinite[0]) * (1 - 1e-12))

    def share(self, epsilon: float) -> float:
        """Return the share of error and of what is left out in the upper bound."""
        whole = self.upper(epsilon)
        if whole <= 0:
            return 0.0
        wrong = math.fsum(term.upper(epsilon) * min(1.0, term.share(epsilon)) for term in self.terms)
        return (wrong + self.left_out) / whole

    def widened(self, epsilon: float) -> bool:
        """Tell whether a term that matters has a wider release added than it should."""
        whole = self.upper(epsilon) if epsilon < math.inf else 1.0
        return any(
            term.added > 4 * _release(term.theta, epsilon, _TIGHTNESS) and term.upper(epsilon) > 0.1 * whole
            for term in self.terms
            if isinstance(term, Inversion)
        )


def inverted_epsilon(
    counts: Counts, delta: float, direction: Direction, *, lower: bool = False
) -> tuple[float, bool]:
    """Return an ε at δ, from above or from below, and whether its error is out of sight.

    Args:
        counts: The losses, with how often each occurs.
        delta: The δ.
        direction: Whether neighbours remove or add a person.
        lower: Whether ε is bounded from below; from above by default.

    >>> sampled = kinds.PoissonSubsampled(kinds.Gaussian(1), "1e-4")
    >>> epsilon, fine = inverted_epsilon({sampled: 100_000}, 1e-6, "remove")
    >>> round(epsilon, 4), fine
    (0.1569, True)
    """
    choice = _Choice.of(counts, direction, below if lower else above, delta=delta)
    guess, best = choice.guess, 0.0 if lower else math.inf
    for contour in choice.tries():
        found = _solve(contour.lower if lower else contour.upper, delta, guess, 4 / contour.theta, lower)
        best = max(best, found) if lower else min(best, found)
        if best == 0 and not lower:
            return 0.0, True
        guess = choice.moves_to(found, contour)
    if not lower and choice.infinite[1] <= delta:
        best = min(best, choice.ceiling)
    return best * (1 - 1e-9) if lower else best, not choice.visible


def inverted_delta(
    counts: Counts, epsilon: float, direction: Direction, *, lower: bool = False
) -> tuple[float, bool]:
    """Return the δ at ε, from above or from below, and whether its error is out of sight.

    The parameters are those of `inverted_epsilon`.

    >>> sampled = kinds.PoissonSubsampled(kinds.Gaussian(1), "1e-4")
    >>> 0.9e-6 < inverted_delta({sampled: 100_000}, 0.157, "remove")[0] < 1e-6
    True
    """
    choice = _Choice.of(counts, direction, below if lower else above, epsilon=epsilon)
    best = 0.0 if lower else 1.0
    for contour in choice.tries():
        best = max(best, contour.lower(epsilon)) if lower else min(best, contour.upper(epsilon))
        choice.moves_to(epsilon, contour)
    if not lower and epsilon >= choice.ceiling:
        best = min(best, choice.infinite[1])
    return best, not choice.visible


class _Choice:
    """The laws of a plan on atoms, and where to invert next."""

    def __init__(
        self, law: Law, infinite: tuple[float, float], theta: float, guess: float, *, fixed: bool
    ) -> None:
        self.law, self.infinite, self.theta, self.guess = law, infinite, theta, guess
        self.fixed = fixed  # whether ε is given
        self.ceiling = law.ceiling * (1 + 1e-12) if law.ceiling < math.inf else math.inf
        self.ended = False
        self.visible = False

    @classmethod
    def of(
        cls, counts: Counts, direction: Direction, side: Side, *, delta: float | None = None, epsilon: float = 0.0
    ) -> _Choice:
        """Place the nodes: a coarse look at the losses says where their tilted mass is."""
        square, parts = _without_gaussians(counts, side)
        tail = _tail(parts, delta)
        coarse = [coarse_nodes(loss, tail, direction) for loss, _ in parts]
        rough = [
            (above(loss, nodes, direction), count) for (loss, count), nodes in zip(parts, coarse, strict=True)
        ]
        theta, _ = saddle(Law(rough, square), delta=delta, epsilon=epsilon)
        fine = []
        for (loss, count), nodes, (atoms, _) in zip(parts, coarse, rough, strict=True):
            weights = np.mean([tilted(atoms, share * theta)[1] for share in _SHARES], axis=0)
            dense = fine_nodes(nodes, (weights[1:] + weights[:-1]) / 2, _NODES)
            fine.append((side(loss, dense, direction), count))
        law = Law(fine, square)
        theta, guess = saddle(law, delta=delta, epsilon=epsilon)
        return cls(law, _infinite(fine), theta, guess, fixed=delta is None)

    def tries(self) -> Iterator[Contour]:
        """Yield inversions, each for the ε that was found with the last, until they are good."""
        if not self.law.square and sum(count for _, count in self.law.factors) <= MOST:
            yield Contour(
                (DirectSum([atoms for atoms, count in self.law.factors for _ in range(count)]),), self.infinite
            )
            return
        for _ in range(4):
            try:
                inversion = _inversion(self.law, self.theta, self.guess, _TIGHTNESS)
            except TooLong:
                self.visible = True
                break
            yield Contour((inversion,), self.infinite)
            if self.ended:
                break
        if self.visible and self.law.factors:
            yield from self._conditioned()

    def moves_to(self, found: float, contour: Contour) -> float:
        """Take note of the ε that was found, and return the next guess."""
        share = contour.share(found) if 0 < found < math.inf else math.inf
        self.visible = share > _VISIBLE or contour.widened(found)
        if not 0 < found < math.inf:
            found = self.guess / 2
        near = self.guess / 1.5 < found < 1.5 * self.guess
        theta = saddle(self.law, epsilon=found)[0]
        still = abs(theta - self.theta) < 1e-3 * theta and abs(found - self.guess) <= 1e-3 * self.guess
        self.ended = near or still or self.fixed or found > 0.999 * self.ceiling
        self.theta, self.guess = theta, found
        return found

    def _conditioned(self) -> Iterator[Contour]:
        """Yield inversions by the number of rare losses, for several notions of rare, the rarest first."""
        (atoms, count), *others = sorted(self.law.factors, key=lambda factor: -float(factor[0].x.max()))
        thresholds = {self.guess / 2, self.guess / 8, *(_quantile(atoms, number / count) for number in _RARE)}
        for threshold in sorted(thresholds, reverse=True):
            body, tail = atoms.split(threshold)
            if body.mass.sum() < 0.5 or not 0 < count * tail.mass.sum() < 0.1:
                continue
            try:
                contour = self._by_number(body, tail, count, others)
            except TooLong:
                continue
            yield contour
            if not self.visible:
                break

    def _by_number(self, body: Atoms, tail: Atoms, count: int, others: list[tuple[Atoms, int]]) -> Contour:
        mass = float(tail.mass.sum()) * (1 + 1e-9)
        terms: list[Inversion | Impossible] = []
        for number in range(min(count, _MOST_RARE) + 1):
            factors = [*others, (body, count - number), (tail, number)]
            law = Law([factor for factor in factors if factor[1]], self.law.square, _log_choices(count, number))
            terms.append(self._term(law, _TIGHTNESS * (1 if number < 2 else 10)))
            left_out = _log_choices(count, number + 1) + (number + 1) * math.log(mass)
            if left_out < math.log(1e-300 + sum(term.upper(self.guess) for term in terms)) - 12:
                break
        return Contour(tuple(terms), self.infinite, math.exp(min(0.0, left_out + 1e-6)))

    def _term(self, law: Law, tightness: float) -> Inversion | Impossible:
        if law.ceiling < self.guess / 2:
            return Impossible(law.ceiling * (1 + 1e-12))
        return _inversion(law, saddle(law, epsilon=self.guess)[0], self.guess, tightness)


def _log_choices(count: int, number: int) -> float:
    """Return ln C(count, number) for a small number."""
    return math.fsum(math.log((count - i) / (i + 1)) for i in range(number)) if number <= count else -math.inf


def _quantile(atoms: Atoms, mass: float) -> float:
    """Return the loss above which the atoms have about this mass."""
    over = np.cumsum(atoms.mass[::-1])[::-1]
    return float(atoms.x[min(int(np.searchsorted(-over, -mass)), len(over) - 1)])


def _without_gaussians(counts: Counts, side: Side) -> tuple[float, Parts]:
    """Return the μ² of all Gaussian losses together, rounded against us, and the other losses."""
    whole: Counts = {}
    for loss, count in counts.items():
        bare = loss.loss if isinstance(loss, kinds.PoissonSubsampled) and loss.rate == 1 else loss
        whole[bare] = whole.get(bare, 0) + count
    mu, parts = collapse_gaussians(whole)
    return mu * mu * (1 + 1e-15 if side is above else 1 - 1e-13), parts


def _tail(parts: Parts, delta: float | None) -> float:
    """Return the mass that may be cut from each loss and counted as infinite without a visible effect on δ."""
    releases = sum(count for _, count in parts)
    return min(max((delta or 1e-20) * 1e-8 / max(releases, 1), 1e-280), 1e-12)


def _infinite(factors: list[tuple[Atoms, int]]) -> tuple[float, float]:
    log = math.fsum(count * math.log1p(-min(atoms.infinite, 1 - 1e-16)) for atoms, count in factors)
    return -math.expm1(log) * (1 - 1e-9), -math.expm1(log) * (1 + 1e-9)


def _inversion(law: Law, theta: float, epsilon: float, tightness: float) -> Inversion:
    """Add a Gaussian release, none if the law has enough of its own, and invert."""
    added = _release(theta, epsilon, tightness)
    if law.square > added:
        added = 0.0
    while added < _WIDEST:
        try:
            return invert(replace(law, square=law.square + added), theta, epsilon, added)
        except TooLong:
            added = 2 * added or law.square  # looser, never wrong
    raise TooLong


def _release(theta: float, epsilon: float, tightness: float) -> float:
    """Return the s² that costs a share `tightness` of ε: (θ+1)s²/2 of it where δ falls by θ, s²/ε where by 1/ε."""
    sure = max(epsilon, 1e-4 / theta)
    return 2 * tightness * min(sure / (theta + 1), 10 * sure**2)


def saddle(law: Law, *, delta: float | None = None, epsilon: float = 0.0) -> tuple[float, float]:
    """Estimate the θ at which the integrand stands still, for this δ or this ε, and the ε. Nothing rests on it."""

    def at(theta: float) -> tuple[float, float]:
        k, first, second = law.cumulant(theta)
        e = first - 1 / theta - 1 / (1 + theta)
        curvature = second + theta**-2 + (1 + theta) ** -2
        return e, k - theta * e - math.log(theta * (1 + theta)) - math.log(2 * math.pi * curvature) / 2

    low, high = math.log(1e-3), math.log(_STEEPEST)
    while high - low > 1e-6:
        middle = (low + high) / 2
        with np.errstate(all="ignore"):
            try:
                e, log = at(math.exp(middle))
                far = e > epsilon if delta is None else (log < math.log(delta) and e > -1e-9)
            except (OverflowError, ValueError):
                far = True
        low, high = (low, middle) if far else (middle, high)
    theta = math.exp(low)
    return theta, max(at(theta)[0], 0.0) if delta is not None else epsilon


def _solve(profile: Callable[[float], float], delta: float, guess: float, width: float, lower: bool) -> float:
    """Return where the bound falls to δ, within 1e-7 of it: upper(ε) ≤ δ there, or lower(ε) ≥ δ (0 if nowhere)."""

    def over(epsilon: float) -> bool:
        value = values[epsilon] = profile(epsilon)
        return value >= delta if lower else value > delta

    values: dict[float, float] = {}
    low, high, most = max(0.0, guess - width), guess + width, guess + 1e4 * (guess + 1)
    while over(high):
        low, high, width = high, high + width, 2 * width
        if high > most:
            return low if lower else math.inf
    while low > 0 and not over(low):
        low, high, width = max(0.0, low - width), low, 2 * width
    if low == 0 and not over(0.0):
        return 0.0
    for step in range(120):
        if high - low < _PRECISE * high:
            break
        middle = math.sqrt(low * high) if low > 0 and high > 4 * low else (low + high) / 2
        if step % 4 != 3:  # a line through the logarithms of both ends; halving now and then is a safeguard
            middle = _between(low, high, values, delta, step) or middle
        low, high = (middle, high) if over(middle) else (low, middle)
    return low if lower else upward(high)


def _between(low: float, high: float, values: dict[float, float], delta: float, step: int) -> float | None:
    """Return about where ln δ reaches its target if it is linear between both ends; None if that is not known.

    It is taken a little too high and too low in turn, so that both ends come near.
    """
    ends = values.get(low, 0.0), values.get(high, 0.0)
    if min(ends) <= 0 or ends[0] <= ends[1]:
        return None
    share = (math.log(ends[0]) - math.log(delta)) / (math.log(ends[0]) - math.log(ends[1]))
    found = low + min(max(share, 0.0), 1.0) * (high - low) + (0.4 if step % 2 else -0.4) * _PRECISE * high
    return found if low < found < high else None
