"""Run every attack that applies against a mechanism, a `Subject` or a `Filter`.

A mechanism is attacked by its law (exactly, where its draws can be enumerated, and by samples of its releases), by
its error bar, by what it admits, and by its randomness; a `Subject` by its law; a `Filter` by overspending. This
is a conformance suite: it is meant for mechanisms of other projects as much as for ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, TypeAlias

import numpy as np

from discreet import privacy
from discreet.audit.attacks import exact, overspending, randomness
from discreet.audit.attacks.contract import attack_contract, attack_error
from discreet.audit.attacks.outcomes import written
from discreet.audit.blackbox import blackbox
from discreet.audit.inputs.pairs import pairs, sensitivity_of
from discreet.audit.inputs.subject import Subject
from discreet.audit.report.verdict import Report, Verdict
from discreet.errors import Code, Fix, NotEnumerable, ParameterError
from discreet.mechanisms import Exact, Gaussian, Laplace, Mechanism
from discreet.privacy.losses import describe
from discreet.privacy.session import Budget
from discreet.rational import Rational

_UNEXPLORED, _MOST_RUNS = "1e-3", 10_000  # the exact attack then takes some seconds at most
_SLOWER = 10  # single releases take about this much longer than releases in a batch, so fewer are sampled

Attack: TypeAlias = Callable[[], Verdict | None]
Progress: TypeAlias = Callable[[str], None]
"""Called with the name of each attack as it begins."""


@dataclass(frozen=True, kw_only=True)
class Filter:
    """A budget that is spent step by step: `make(budget)` opens a session with a `charge(loss)` that may refuse.

    >>> Filter(make=privacy.Session, budget=privacy.Pure(1)).budget
    Pure(epsilon=Fraction(1, 1))
    """

    make: Callable[[Any], Any]
    budget: Budget


Checkable: TypeAlias = Mechanism | Subject | Filter


def check_mechanism(
    thing: Checkable,
    *,
    name: str | None = None,
    samples: int = 100_000,
    confidence: Rational = "0.999999",
    progress: Progress | None = None,
) -> Report:
    """Attack a mechanism, a `Subject` or a `Filter` in every way that applies.

    Args:
        thing: What to attack.
        name: The name in the report; by default that of the subject or of the class.
        samples: Releases on each input for the black box; a tenth of it if releases cannot be made in batches.
        confidence: The confidence of the black box; a claim that holds is refuted with at most 1 minus this.
        progress: Called with the name of each attack as it begins.

    >>> from discreet.mechanisms import Laplace
    >>> report = check_mechanism(Laplace(1), samples=10_000)
    >>> report.caught
    False
    >>> [verdict.attack for verdict in report.verdicts]
    ['contract', 'exact', 'black box', 'error bar', 'randomness']
    """
    verdicts = []
    for attack_name, attack in _attacks(thing, samples, confidence):
        if progress:
            progress(attack_name)
        if verdict := attack():
            verdicts.append(verdict)
    return Report(
        subject=name or _name(thing),
        claim=_claim(thing),
        verdicts=tuple(verdicts),
        declared=None if isinstance(thing, Filter) else privacy.tradeoff(thing.loss),
    )


def _attacks(thing: Checkable, samples: int, confidence: Rational) -> Iterator[tuple[str, Attack]]:
    match thing:
        case type():
            raise _not_auditable(thing)
        case Filter():
            yield "budget", partial(overspending.attack, thing.make, budget=thing.budget)
        case Subject():
            yield from _attacks_on_law(thing, samples, confidence)
        case Mechanism():
            yield "contract", partial(attack_contract, thing)
            yield from _attacks_on_law(subject_of(thing), samples, confidence)
            yield "error bar", partial(attack_error, thing)
            yield "randomness", partial(_streams, thing)
        case _:
            raise _not_auditable(thing)


def _not_auditable(thing: object) -> ParameterError:
    return ParameterError(
        "Only a mechanism, an audit.Subject or an audit.Filter can be audited.",
        found=written(thing),
        fix=[
            Fix("thing", Code('audit.Subject(name="coin", release=f, loss=privacy.Pure(1), pairs=[(0, 1)])')),
            "A mechanism is a record with loss, release and error; give the record, not its class.",
        ],
    )


def _attacks_on_law(subject: Subject, samples: int, confidence: Rational) -> Iterator[tuple[str, Attack]]:
    yield "exact", partial(_exact_if_possible, subject)
    fewer = samples if subject.batch else max(samples // _SLOWER, 1_000)
    yield "black box", partial(blackbox.attack, subject, samples=fewer, confidence=confidence)


def _exact_if_possible(subject: Subject) -> Verdict | None:
    """Return the exact verdict, or None if the subject draws its randomness elsewhere, or too much of it."""
    try:
        verdict = exact.attack(subject, unexplored=_UNEXPLORED, most=_MOST_RUNS)
    except NotEnumerable:
        return None
    return verdict


def subject_of(mechanism: Mechanism) -> Subject:
    """Return the mechanism as a subject, with pairs of exact values of neighbouring tables.

    >>> subject_of(Laplace(3)).name
    'Laplace'
    """
    sensitivity = sensitivity_of(mechanism)

    @cache
    def sealed(values: int | tuple[int, ...]) -> Exact:
        return Exact(values, sensitivity)

    subject = Subject(
        name=_name(mechanism),
        release=lambda values: mechanism.release(sealed(values if isinstance(values, int) else tuple(values))),
        loss=mechanism.loss,
        pairs=pairs(mechanism),
    )
    # Additive noise is independent for every entry, so a vector of n entries is n releases of one integer.
    scalars = all(isinstance(value, int) for value, _ in subject.pairs)
    if type(mechanism) in (Laplace, Gaussian) and scalars:
        one = sensitivity.each or 1
        return replace(subject, batch=lambda value, count: mechanism.release(Exact(np.full(count, value), one)))
    return subject


def _streams(mechanism: Mechanism) -> Verdict | None:
    """Attack the mechanism's randomness, unless it has so little noise that two streams may agree by chance."""
    value, _ = pairs(mechanism)[0]
    sealed = Exact(value, sensitivity_of(mechanism))

    def draw() -> Any:
        return mechanism.release(sealed)

    count = randomness.enough(draw)
    return None if count is None else randomness.attack(draw, count=count, name="its noise")


def _name(thing: Checkable) -> str:
    return thing.name if isinstance(thing, Subject) else type(thing).__name__


def _claim(thing: Checkable) -> str:
    if isinstance(thing, Filter):
        return f"never more than {describe(thing.budget)}"
    return thing.claim if isinstance(thing, Subject) else describe(thing.loss)
