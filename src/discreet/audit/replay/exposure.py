"""Compare the releases about one person in a replay with what was declared and what was charged.

Only the calls whose exact values change with a person say anything about that person, so only these count:
releases from disjoint parts of a table cost a person what their own part costs (parallel composition), unless the
person is in several parts. All queries of one run of the sparse vector technique cost once. Losses are composed by
`privacy.epsilon` at several δ; both sides are rounded up to a lattice, so an excess below one in a hundred is
ignored, except at δ = 0, where they are sums. A loss that claims a secret sample is compared as if the sample were
the whole table: a replay does not see whether the sample was secret.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import chain

from discreet import privacy
from discreet.audit.replay.tape import Call
from discreet.privacy import Approximate, Loss, PoissonSubsampled, Repeated
from discreet.privacy.losses import Losses, counted, describe

_DELTAS = ("0", "1e-12", "1e-9", "1e-6", "1e-3")
_LATTICE = 0.01  # the excess that rounding may explain; a release that is not charged is far beyond it
_SESSION = "the session"


@dataclass(frozen=True)
class Overspent:
    """The releases about one person cost `found`, but only `claimed` was declared or charged."""

    place: str
    by: str
    losses: tuple[str, ...]
    claimed: float
    found: float
    delta: float

    def __str__(self) -> str:
        cost = f"ε = {self.found:.6g} at δ = {self.delta:g}"
        spenders = "its charges" if self.place == _SESSION else "the releases about this person"
        losses = " + ".join(self.losses)
        return f"{self.place}: {spenders} cost {cost} ({losses}), but {self.claimed:.6g} was {self.by}."


def overspent(
    exposed: list[tuple[str, list[Call]]], charged: list[Call], declared: Losses | None
) -> Iterator[Overspent]:
    """Yield where the calls about one person cost more than was declared, or than was charged to sessions.

    >>> from discreet.privacy import Pure
    >>> twice = [Call(what="Laplace.release", parameters={}, losses=(Pure(1),))] * 2
    >>> [spent.found for spent in overspent([("here", twice)], [], Pure(1))]
    [2.0]
    """
    limits = {} if declared is None else {"declared": counted(declared)}
    if charged:
        limits["charged"] = counted([loss for call in charged if not call.error for loss in call.losses])
    for by, limit in limits.items():
        bare = list(_repeated([_without_sampling(loss) * count for loss, count in limit.items()]))
        for place, losses in _largest(exposed):
            spent = _excess(place, by, [loss * count for loss, count in losses.items()], bare)
            if spent:
                yield spent
    if declared is not None and charged:
        charges = [loss * count for loss, count in limits["charged"].items()]
        spent = _excess(_SESSION, "declared", charges, list(_repeated(declared)))
        if spent:
            yield spent


def _excess(place: str, by: str, losses: list[Repeated], limit: list[Repeated]) -> Overspent | None:
    for delta in _deltas(losses):
        found, claimed = _epsilon(frozenset(losses), delta), _epsilon(frozenset(limit), delta)
        if found > claimed * (1 + (_LATTICE if delta != "0" else 0)):
            shown = tuple(describe(loss.loss if loss.count == 1 else loss) for loss in losses)
            return Overspent(place, by, shown, claimed, found, float(Fraction(delta)))
    return None


def _deltas(losses: list[Repeated]) -> Iterator[str]:
    """Yield the δ to compare at: a fixed list, and twice the δ that the losses spend, above which ε is finite."""
    yield from _DELTAS
    spent = sum(loss.count * loss.loss.delta for loss in losses if isinstance(loss.loss, Approximate))
    if 0 < spent < Fraction(1, 2):
        yield str(2 * spent)


@lru_cache(maxsize=1024)  # the same sums occur on every table
def _epsilon(losses: frozenset[Repeated], delta: str) -> float:
    return privacy.epsilon(list(losses), delta)


def _largest(exposed: list[tuple[str, list[Call]]]) -> list[tuple[str, dict[Loss, int]]]:
    """Return the collections of losses that no other one contains, each with the first place where it occurs."""
    distinct: dict[frozenset[tuple[Loss, int]], str] = {}
    for place, calls in exposed:
        distinct.setdefault(frozenset(counted(_losses(calls)).items()), place)
    all_of_them = [dict(losses) for losses in distinct]
    return [
        (place, dict(losses))
        for losses, place in distinct.items()
        if losses and not any(_within(dict(losses), other) for other in all_of_them)
    ]


def _within(losses: dict[Loss, int], other: dict[Loss, int]) -> bool:
    return losses != other and all(other.get(loss, 0) >= count for loss, count in losses.items())


def _losses(calls: list[Call]) -> list[Loss]:
    """Return the losses of every call, but only once for all calls of a run."""
    runs = {call.owner: call.losses for call in calls if call.owner is not None}
    single = [call.losses for call in calls if call.owner is None and not call.error]
    return [*chain.from_iterable(single), *chain.from_iterable(runs.values())]


def _without_sampling(loss: Loss) -> Loss:
    return loss.loss if isinstance(loss, PoissonSubsampled) else loss


def _repeated(declared: Losses) -> Iterator[Repeated]:
    for loss, count in counted(declared).items():
        yield loss * count
