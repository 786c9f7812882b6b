"""Measure the power of the auditor: by how much noise must be too small before an attack catches it.

An auditor that never catches anything proves nothing. So each shipped subject is attacked again with weaker and
weaker noise, until it is caught, and the table of the factors says what a verdict of "holds" is worth. "×1.25"
means: with its noise divided by 1.25 and the same claim the subject is caught, and in none of the smaller steps.

    noise   the laws of all draws are those of noise that is too small by the factor (`draw_laws.weaker`); the code
            that runs, its scales and its comparisons are those that are shipped
    claim   the subject claims less than it does, where draws are coins, where an attack reads the noise off the
            mechanism, or where the claim is a δ alone, which smaller noise would not raise: ε or δ divided by the
            factor, or ρ by its square, as if the noise were too small by it

Attacks by sampling are left out: each step would need more releases than all other attacks together.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.audit.attacks import exact
from discreet.audit.attacks.draw_laws import is_noise, weaker
from discreet.audit.battery import BUDGET, Attack, Progress, Terms, attacks_on_law, subject_of
from discreet.audit.inputs.subject import Subject
from discreet.audit.report.verdict import Verdict
from discreet.errors import DiscreetError
from discreet.ledger.costs import cost
from discreet.mechanisms import Mechanism
from discreet.noise.testing import Asked, scripted
from discreet.privacy.losses import Approximate, Losses, Pure, Renyi, ZeroConcentrated

STEPS = tuple(Fraction(step) for step in ("1.02", "1.1", "1.25", "1.5", "1.75", "2", "3", "5", "10"))
"""The factors that are tried, one after the other."""


@dataclass(frozen=True, kw_only=True)
class Power:
    """The smallest factor of `STEPS` at which a subject is caught; None if none is large enough."""

    subject: str
    attack: str = ""
    """The attack that caught it; empty if none did."""
    weakened: str = ""
    """What was weakened: the noise, or the claim; empty if the subject is attacked by sampling alone."""
    factor: Fraction | None = None
    seconds: float = 0.0


def power(
    thing: Mechanism | Subject,
    *,
    name: str,
    steps: tuple[Fraction, ...] = STEPS,
    budget: int = BUDGET,
    progress: Progress | None = None,
) -> Power:
    """Return the power of all attacks without statistics on one subject.

    Args:
        thing: A mechanism or a `Subject`.
        name: The name in the table.
        steps: The factors to try, rising.
        budget: Runs of the code on each input for an attack that enumerates draws.
        progress: Called with each factor as it is tried.

    >>> from discreet.mechanisms import Laplace
    >>> power(Laplace(1), name="Laplace").factor
    Fraction(51, 50)
    """
    start = time.process_time()
    subject = thing if isinstance(thing, Subject) else subject_of(thing)
    named = subject.attacks or {"exact": exact.attack}
    certain = {attack: run for attack, run in named.items() if attack != "black box"}
    if "piecewise" in certain:  # it is aimed at the claim, and sees all that the exact attack sees
        certain = {"piecewise": certain["piecewise"]}
    if not certain:
        return Power(subject=name)
    read_off = set(certain) & {"transcript", "density"} or isinstance(subject.loss, Approximate)
    weakened = "noise" if not read_off and _has_noise(subject) else "claim"
    subject = replace(subject, attacks=certain)
    attack, factor = _caught(subject, weakened, steps, budget, progress)
    seconds = time.process_time() - start
    return Power(subject=name, attack=attack, weakened=weakened, factor=factor, seconds=seconds)


def lowered(loss: Losses, factor: Fraction) -> Losses:
    """Return a claim that is too small by a factor of the noise.

    >>> lowered(Pure(3), Fraction(3))
    Pure(epsilon=Fraction(1, 1))
    """
    if isinstance(loss, Approximate):
        return Approximate(loss.epsilon / factor, loss.delta / factor)
    if isinstance(loss, Renyi):
        return Renyi(loss.orders, tuple(float(each) / float(factor) ** 2 for each in loss.epsilons))
    charged = cost(loss)
    if charged.epsilon is not None:
        return Pure(charged.epsilon / factor)
    return ZeroConcentrated(charged.rho / factor**2)


def _caught(
    subject: Subject, weakened: str, steps: tuple[Fraction, ...], budget: int, progress: Progress | None
) -> tuple[str, Fraction | None]:
    """Return the attack that catches the subject first, and the step at which it does."""
    for factor in steps:
        if progress:
            progress(f"×{float(factor):g}")
        for attack, run in _attacks(subject, weakened, factor, budget):
            verdict = run()
            if verdict is not None and verdict.caught:
                return attack, factor
    return "", None


def _attacks(subject: Subject, weakened: str, factor: Fraction, budget: int) -> Iterator[tuple[str, Attack]]:
    terms = Terms(budget=budget)
    if weakened == "claim":
        yield from attacks_on_law(replace(subject, loss=lowered(subject.loss, factor)), terms)
        return
    for name, attack in attacks_on_law(subject, terms):
        yield name, _with_weaker_noise(attack, factor)


def _with_weaker_noise(attack: Attack, factor: Fraction) -> Attack:
    def run() -> Verdict | None:
        with weaker(factor):
            return attack()

    return run


def _has_noise(subject: Subject) -> bool:
    """Return whether a run draws noise, and not only coins."""
    seen: list[Asked] = []

    def choose(asked: Asked) -> int:
        seen.append(asked)
        return 0

    for data in itertools.chain(*subject.pairs):
        with suppress(DiscreetError), scripted(choose):
            subject.release(data)
    return any(is_noise(asked) for asked in seen)
