"""What is promised to a device, against everybody it might fear: three numbers that belong together.

    local       one report, against whoever receives it
    lifetime    all reports of a device, against whoever collects them for years and knows they are one device's
    shuffled    one report among n, against whoever only sees a batch that left a shuffler; at a δ

A shuffled ε without the local one is a half-truth: it holds as long as the shuffler and the server do not talk to
each other, and if they do, the local one is what remains. Liars hide nobody, so n counts honest devices only.
Several batches with reports of one device add up: k of them cost at most k·ε and k·δ. Tested in
tests/local/test_shuffle.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal

from discreet.errors import ParameterError
from discreet.local.descriptor import Collection
from discreet.local.shuffle import shuffled
from discreet.rational import Rational, rational, whole

_DIGITS = 4


@dataclass(frozen=True)
class Guarantee:
    """The ε of one report, of a life, and of a report among n; decimals, all rounded up.

    >>> survey = Collection.design(
    ...     "colours", domain=["red", "green"], epsilon=1, window=("2026-01-01", "2026-12-31")
    ... )
    >>> print(promised(survey, n=10_000))
    Local: one report costs ε = 1, whoever receives it.
    Lifetime: all reports of a device together cost ε = 1.
    Shuffled: one report among 10,000 of honest devices costs ε = 0.04323 at δ = 1e-6, if the shuffler and the
    server do not work together. If they do, it costs ε = 1.
    """

    local: str
    lifetime: str
    shuffled: str
    delta: str
    n: int

    @property
    def sentences(self) -> list[str]:
        """The three promises in words."""
        return [
            f"Local: one report costs ε = {self.local}, whoever receives it.",
            f"Lifetime: all reports of a device together cost ε = {self.lifetime}.",
            f"Shuffled: one report among {self.n:,} of honest devices costs ε = {self.shuffled} at "
            f"δ = {self.delta}, if the shuffler and the server do not work together. If they do, it costs "
            f"ε = {self.local}.",
        ]

    def __str__(self) -> str:
        return "\n".join(self.sentences)


def promised(collection: Collection, *, n: int, delta: Rational = "1e-6", liars: Rational = 0) -> Guarantee:
    """Return what a collection promises a device of a batch of n reports, of which a fraction may be lies."""
    lying = rational(liars, "liars", floats="exact")
    if not 0 <= lying < 1:
        raise ParameterError(f"a fraction of lying devices is from 0 to below 1, not {liars!r}.")
    honest = max(1, math.floor(whole(n, "n") * (1 - lying)))
    among = shuffled(collection.randomiser, honest, delta)
    return Guarantee(
        collection.epsilon, collection.lifetime, _above(among, collection.epsilon), str(delta), honest
    )


def _above(found: float, most: str) -> str:
    """Return the number with a few digits, rounded up, and never above the local ε."""
    exact = Decimal(found)
    places = Decimal(1).scaleb(exact.adjusted() - _DIGITS + 1)
    return f"{min(exact.quantize(places, ROUND_CEILING), Decimal(most)):f}"
