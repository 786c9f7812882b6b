"""Groups that nobody declared: which texts occur often enough to be named.

A text column may hold anything, and that a text occurs at all is a fact about whoever wrote it. Sealing marks at
most K rows of every person (`spot`); only those are looked at here. For each combination of texts the presence is
Σ over persons of min(U, what they weigh there). Gaussian noise is added to each, and those above a threshold T are
named. So one person touches at most K combinations, and moves each of them by at most U.

Claim. The names, and the noisy presence of each, are no easier to tell apart on neighbours than a pair that is the
composition of (i) K entries that move by U under this noise, of ρ = K·U²/(2·variance), and (ii) an event of
probability δ = K·P(Z > T − U) that gives everything away. Proof: let D′ be D with one more person, and call a
combination new if it is theirs alone, so that it does not occur in D. Each has presence at most U in D′, hence is
named with probability at most P(U + Z > T) = P(Z > T − U), and there are at most K. Let E be the event that none
of them is named: P(not E) ≤ δ. The noise on the others is independent of E. Given E, what is seen on D′ is a
function of noise on the combinations that occur in D, as it is on D itself, where at most K of them differ, by at
most U each. So the answer on D′ is drawn so: with probability P(E) from a law that (i) cannot tell from that on D,
else from any law. The answer on D needs no coin. The coin is (ii). ∎

Hence the two losses, charged together once: that of the Gaussian, and `Approximate(0, δ)`. This is δ-approximate
ρ-zCDP, and it is what a ledger with a δ adds up. A ledger without one has no room for (ii): there is no threshold
that a person alone with a text can never pass. T is an integer such that P(Z > T − U) ≤ δ/K for the discrete law
itself, rounded up (`tails.gaussian_bound`, where P(|Z| > m) = 2·P(Z > m)).

What is named is then a list like any declared one, and the numbers are measured afresh on all rows: the presence
was used to choose, so by itself it would overstate. Theory: docs/theory/keys.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from discreet.errors import ParameterError
from discreet.mechanisms import Exact, Gaussian, Sensitivity, tails
from discreet.privacy.losses import Approximate, Loss
from discreet.rational import Rational, rational
from discreet.schema.metadata import UNIT

if TYPE_CHECKING:
    from discreet.engines.nodes import Expression

Text: TypeAlias = tuple[str | None, ...]
"""One combination of texts."""


@dataclass(frozen=True)
class Selection:
    """How texts are selected: Gaussian noise on their presence, and a threshold.

    >>> chosen = selection("0.005", "1e-9", rows_per_person=1)
    >>> round(chosen.threshold / UNIT, 1)
    61.0
    >>> chosen.losses[1]
    Approximate(epsilon=Fraction(0, 1), delta=Fraction(1, 1000000000))
    """

    mechanism: Gaussian
    delta: Fraction
    threshold: int

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What it costs, for all texts at once."""
        return self.mechanism.loss, Approximate(0, self.delta)

    @property
    def needs(self) -> float:
        """How many persons have to share a text so that it is named with probability one half."""
        return self.threshold / UNIT


def selection(rho: Rational, delta: Rational, rows_per_person: int, unit: int = UNIT) -> Selection:
    """Return the selection that costs ρ and δ, with the least threshold whose δ is certain.

    >>> selection("1/2", "1e-6", rows_per_person=3).mechanism.loss
    Repeated(loss=DiscreteGaussian(variance=Fraction(50331648, 1), sensitivity=4096), count=3)
    """
    exact = rational(delta, "delta")
    if not Fraction(1, 10**30) <= exact < 1:
        raise ParameterError(f'delta must be below 1 and not below 1e-30, such as "1e-9", not {delta!r}.')
    mechanism = Gaussian.for_rho(rho, Sensitivity(entries=rows_per_person, each=unit))
    tail = tails.gaussian_bound(mechanism.variance, min(Fraction(1), 2 * exact / rows_per_person))
    return Selection(mechanism, exact, unit + tail)


def select(selection: Selection, texts: Sequence[Text], presence: Sequence[int], most: int) -> list[Text]:
    """Return the texts whose noisy presence is above the threshold, the strongest if there are too many.

    `texts` are those that occur on spot rows, and `presence` is what their persons weigh there.

    >>> few = selection("1/2", "1e-6", rows_per_person=1)
    >>> select(few, [("Oslo",), ("Bergen",), ("Moss",)], [900 * UNIT, 800 * UNIT, 1 * UNIT], most=10)
    [('Bergen',), ('Oslo',)]
    """
    if not texts:
        return []
    # In an order of their own first: an engine's may depend on rows, and would show in what a tie is cut to.
    order = sorted(range(len(texts)), key=lambda i: [(part is None, part or "") for part in texts[i]])
    exact = Exact([presence[i] for i in order], selection.mechanism.sensitivity)
    noisy: Any = selection.mechanism.release(exact)
    named = np.flatnonzero(noisy > selection.threshold)
    strongest = named[np.argsort(-noisy[named], kind="stable")][:most]
    return [texts[order[int(i)]] for i in sorted(strongest)]


def spot(where: Expression | None) -> Expression:
    """Return the condition that a row takes part and is one of the few of its person that may name a text.

    >>> spot(None).sql()
    'spot'
    """
    from discreet.query import ir

    mark = ir.sealed("spot")
    return mark if where is None else ir.both(where, mark)
