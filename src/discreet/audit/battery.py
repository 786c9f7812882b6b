"""Run every attack that applies against a mechanism, a `Subject` or a `Filter`.

A mechanism is attacked by its law (exactly, where its draws can be enumerated, and by samples of its releases), by
its error bar, by what it admits, and by its randomness; a `Subject` by its law; a `Filter` by overspending. This
is a conformance suite: it is meant for mechanisms of other projects as much as for ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, TypeAlias

import numpy as np

from discreet import privacy
from discreet.audit.attacks import exact, overspending, pieces, randomness
from discreet.audit.attacks.contract import attack_contract, attack_error
from discreet.audit.attacks.outcomes import written
from discreet.audit.blackbox import blackbox
from discreet.audit.inputs.pairs import pairs, sensitivity_of
from discreet.audit.inputs.subject import Subject
from discreet.audit.inputs.transcripts import Aimed, aimed
from discreet.audit.report.verdict import Report, Verdict
from discreet.errors import Code, Fix, NotEnumerable, ParameterError
from discreet.mechanisms import Exact, Gaussian, Laplace, Mechanism
from discreet.privacy.losses import describe
from discreet.privacy.session import Budget
from discreet.rational import Rational, whole

BUDGET = 10_000
"""Runs of the code on each table that an enumeration may take: some seconds at most."""

SAMPLES, SINGLE_SAMPLES = 100_000, 10_000
"""Releases on each table of a black box, in batches and one by one: a batch makes about ten in the time of one."""

_END, _ENOUGH = "1e-12", "1e-4"  # where an enumeration ends, and what it may leave without being undecided

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
    samples: int | None = None,
    confidence: Rational = "0.999999",
    budget: int = BUDGET,
    progress: Progress | None = None,
) -> Report:
    """Attack a mechanism, a `Subject` or a `Filter` in every way that applies.

    Args:
        thing: What to attack. name: The name in the report; by default that of the subject or of the class.
        samples: Releases on each input for the black box; by default 100,000 if they are made in batches, 10,000
        if
            they are made one by one, and fewer for a subject that says so.
        confidence: The confidence of the black box; a claim that holds is refuted with at most 1 minus this.
        budget: Runs of the code on each input for an attack that enumerates draws. One that needs more and has
            refuted nothing is undecided.
        progress: Called with the name of each attack as it begins.

    >>> from discreet.mechanisms import Laplace
    >>> report = check_mechanism(Laplace(1), samples=10_000)
    >>> report.caught
    False
    >>> [verdict.attack for verdict in report.verdicts]
    ['contract', 'exact', 'black box', 'error bar', 'randomness']
    """
    verdicts = []
    terms = Terms(samples, confidence, whole(budget, "budget"))
    for attack_name, attack in attacks(thing, terms):
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


@dataclass(frozen=True)
class Terms:
    """How much work attacks may do, and how sure they have to be."""

    samples: int | None = None
    confidence: Rational = "0.999999"
    budget: int = BUDGET


def attacks(thing: Checkable, terms: Terms) -> Iterator[tuple[str, Attack]]:
    """Yield every attack that applies, by name.

    >>> [name for name, _ in attacks(Laplace(1), Terms())]
    ['contract', 'exact', 'black box', 'error bar', 'randomness']
    """
    match thing:
        case type():
            raise _not_auditable(thing)
        case Filter():
            yield "budget", partial(overspending.attack, thing.make, budget=thing.budget)
        case Subject():
            yield from attacks_on_law(thing, terms)
        case Mechanism():
            yield "contract", partial(attack_contract, thing)
            yield from attacks_on_law(subject_of(thing), terms)
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


def attacks_on_law(subject: Subject, terms: Terms) -> Iterator[tuple[str, Attack]]:
    """Yield the attacks on the law of the releases: those that the subject names, or enumeration and a black box.

    >>> from discreet import noise
    >>> coin = Subject(name="a coin", release=lambda bit: bit, loss=privacy.Pure(1), pairs=[(0, 1)])
    >>> [name for name, _ in attacks_on_law(coin, Terms())]
    ['exact', 'black box']
    """
    named = subject.attacks or {"exact": exact.attack, "black box": blackbox.attack}
    for name, attack in named.items():
        if attack is exact.attack:
            yield name, partial(_exact_if_possible, subject, terms.budget)
        elif attack is blackbox.attack:
            count = terms.samples or subject.samples or (SAMPLES if subject.batch else SINGLE_SAMPLES)
            yield name, partial(blackbox.attack, subject, samples=count, confidence=terms.confidence)
        else:
            yield name, partial(_if_possible, attack, subject)


def _if_possible(attack: Callable[[Subject], Verdict], subject: Subject) -> Verdict | None:
    """Return the verdict, or None if the subject cannot be enumerated."""
    with suppress(NotEnumerable):
        return attack(subject)
    return None


def _exact_if_possible(subject: Subject, budget: int) -> Verdict | None:
    """Return the exact verdict, or None if the subject draws its randomness elsewhere, or too much of it.

    Where single values are too many, it is tried by pieces: transcripts of a few comparisons come to an end so.
    """
    try:
        verdict = exact.attack(subject, unexplored=_END, most=budget, enough=_ENOUGH)
    except NotEnumerable:
        return None
    if verdict.undecided:
        with suppress(NotEnumerable):
            by_pieces = pieces.attack(subject, most=budget)
            return verdict if by_pieces.undecided else by_pieces
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
    if transcripts := aimed(mechanism):
        whole_runs = partial(_by_pieces, transcripts)
        subject = replace(
            subject, attacks={"exact": exact.attack, "piecewise": whole_runs, "black box": blackbox.attack}
        )
    # Additive noise is independent for every entry, so a vector of n entries is n releases of one integer.
    scalars = all(isinstance(value, int) for value, _ in subject.pairs)
    if type(mechanism) in (Laplace, Gaussian) and scalars:
        one = sensitivity.each or 1
        return replace(subject, batch=lambda value, count: mechanism.release(Exact(np.full(count, value), one)))
    return subject


def _by_pieces(transcripts: Aimed, claimed: Subject) -> Verdict:
    return pieces.attack(replace(transcripts.subject, loss=claimed.loss), pivots=transcripts.pivots)


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
