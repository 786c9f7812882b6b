"""Show budgets that are overspent: by adaptive choices, by a race, by rounding, by a sample that is used twice.

`natural-filter` is a counterexample with small numbers, in exact arithmetic. Write R(o) for randomised response
that tells the truth with odds o : 1, and let the budget be ε* = log 2, δ* = 1/150. The analyst asks R(2), then, if
the answer was *yes*, A = R(101/99), else B, which reveals the data with probability 1/150 and otherwise nothing.
As composed curves, both sequences are within the budget, exactly:

    δ of R(2) and A at ε*:  2/3·δ_A(e^0) + 1/3·δ_A(e^(2ε*)) = 2/3·1/100 + 0      = 1/150,
    δ of R(2) and B at ε*:  2/3·1/150 + 1/3·1/150                                 = 1/150.

But the adaptive analyst asks A after the answer that makes A leak more, and B after the other one:
2/3·1/100 + 1/3·1/150 = 2/225 > 1/150.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import NoReturn, TypeAlias

from discreet import noise
from discreet.audit.attacks import exact, overspending
from discreet.audit.inputs.subject import Subject
from discreet.audit.museum.exhibit import Exhibit
from discreet.audit.report.verdict import Verdict
from discreet.errors import BudgetExceeded
from discreet.privacy import (
    Approximate,
    DiscreteLaplace,
    PoissonSubsampled,
    Pure,
    RandomizedResponse,
    Session,
)
from discreet.privacy.losses import Loss

# -- the natural filter, and an adaptive analyst ----------------------------------------------------------------

Atom: TypeAlias = tuple[Fraction, Fraction]
"""The probability of one transcript on either of two neighbours."""


@dataclass(frozen=True)
class Step:
    """A mechanism with finitely many answers: their probabilities on two neighbours, and its declared loss."""

    answers: tuple[Atom, ...]
    loss: Loss


def response(odds: Fraction, loss: Loss) -> Step:
    """Return randomised response that tells the truth with odds : 1; the first answer is *yes*.

    >>> response(Fraction(3), RandomizedResponse("1.1")).answers[0]
    (Fraction(3, 4), Fraction(1, 4))
    """
    truth = odds / (1 + odds)
    return Step(((truth, 1 - truth), (1 - truth, truth)), loss)


def betrayal(chance: Fraction) -> Step:
    """Return a mechanism that reveals the data with a small probability, and otherwise nothing.

    >>> betrayal(Fraction(1, 10)).answers[2]
    (Fraction(9, 10), Fraction(9, 10))
    """
    zero = Fraction(0)
    return Step(((chance, zero), (zero, chance), (1 - chance, 1 - chance)), Approximate(0, chance))


E_TO_EPSILON, DELTA = Fraction(2), Fraction(1, 150)
FIRST = response(Fraction(2), RandomizedResponse("0.69315"))  # log 2, rounded up
THEN = response(Fraction(101, 99), RandomizedResponse("0.02001")), betrayal(DELTA)


def leaked(atoms: list[Atom], e: Fraction = E_TO_EPSILON) -> Fraction:
    """Return δ at ε = log e: the larger Σ max(0, p − e·q) of the two directions.

    >>> leaked([(Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4))])
    Fraction(1, 4)
    """
    return max(sum((max(Fraction(0), p - e * q) for p, q in way), Fraction(0)) for way in (atoms, _turned(atoms)))


class NaturalFilter:
    """Composes the charges so far, exactly, and refuses a step that would exceed the budget's curve at ε*.

    >>> for then in THEN:
    ...     natural = NaturalFilter()
    ...     natural.charge(FIRST)
    ...     natural.charge(then)
    ...     print(leaked(natural.composed))
    1/150
    1/150
    """

    def __init__(self) -> None:
        self.composed: list[Atom] = [(Fraction(1), Fraction(1))]

    def charge(self, step: Step) -> None:
        """Charge one step, before it is taken."""
        composed = [(p * a, q * b) for p, q in self.composed for a, b in step.answers]
        if leaked(composed) > DELTA:
            raise BudgetExceeded("The curves so far, composed with this one, exceed the budget.")
        self.composed = composed


class SumFilter:
    """The mended version: the shipped session, which adds up ε and grants nothing else."""

    def __init__(self) -> None:
        self._session = Session(Pure("0.7"))

    def charge(self, step: Step) -> None:
        """Charge one step, before it is taken."""
        self._session.charge(step.loss)  # type: ignore[arg-type]  # an (ε, δ) it refuses, which is the point


def transcripts(make_filter: Callable[[], NaturalFilter | SumFilter]) -> Iterator[Atom]:
    """Yield the probabilities of all transcripts of the adaptive analyst, as far as the filter grants the steps.

    >>> sum(p for p, q in transcripts(NaturalFilter))
    Fraction(1, 1)
    """
    for (p, q), then in zip(FIRST.answers, THEN, strict=True):
        session = make_filter()  # each sequence of answers has its own session
        session.charge(FIRST)
        try:
            session.charge(then)
        except Exception:
            yield p, q
        else:
            yield from ((p * a, q * b) for a, b in then.answers)


def adaptively(make_filter: Callable[[], NaturalFilter | SumFilter]) -> Verdict:
    """Ask R(2), and then the step that leaks most after its answer. All transcripts are enumerated, in fractions.

    >>> adaptively(NaturalFilter).words
    'The filter granted every step, and the transcript has δ = 2/225 at ε = log 2; the claim is 1/150.'
    """
    started = time.perf_counter()
    atoms = list(transcripts(make_filter))
    delta = leaked(atoms)
    granted = "granted every step" if len(atoms) > len(FIRST.answers) else "refused the second step"
    return Verdict(
        attack="budget",
        caught=delta > DELTA,
        words=f"The filter {granted}, and the transcript has δ = {delta} at ε = log 2; the claim is {DELTA}.",
        claimed=math.log(E_TO_EPSILON),
        found=max(_epsilon(atoms), _epsilon(_turned(atoms))),
        delta=float(DELTA),
        seconds=time.perf_counter() - started,
    )


def _epsilon(atoms: list[Atom]) -> float:
    """Return the least ε whose δ is DELTA: the largest log (P(S) − δ)/Q(S), over sets S of largest ratios p/q."""
    ranked = sorted(atoms, key=lambda atom: atom[0] / (atom[0] + atom[1]), reverse=True)
    sets = accumulate(ranked, lambda one, other: (one[0] + other[0], one[1] + other[1]))
    return math.log(max((p - DELTA) / q for p, q in sets if q))


def _turned(atoms: list[Atom]) -> list[Atom]:
    return [(q, p) for p, q in atoms]


NATURAL_FILTER = Exhibit(
    name="natural-filter",
    title="Compose the curves so far and stop at the budget, while the analyst chooses by the answers",
    story=(
        "Whole curves compose more tightly than single numbers. So it is tempting to let a session compose the "
        "curves of its steps so far and refuse the step that would exceed the budget's curve. Each sequence of "
        "steps is then within the budget, if its steps had been fixed in advance. But they were not. Two curves "
        "are usually not ordered: one mechanism leaks more after one first answer, and the other mechanism after "
        "the other answer. An analyst who chooses by the answer gets the worse one every time. Here two harmless "
        "steps after a randomised response leave δ = 2/225, a third more than the 1/150 that the filter promised."
    ),
    sources=(
        "f-Differential Privacy Filters: Validity and Approximate Solutions, arXiv 2602.06756",
        "Natural Privacy Filters Are Not Always Free, arXiv 2602.15815",
        "Rogers, Roth, Ullman and Vadhan 2016, which defines filters",
    ),
    broken=lambda: adaptively(NaturalFilter),
    mended=lambda: adaptively(SumFilter),
    ours=(
        "privacy.Session adds up ε, ρ or μ² and takes nothing else: curves and (ε, δ) are refused by the type "
        "checker and at run time. Tested in tests/privacy/test_session.py."
    ),
)


# -- sessions with a fault --------------------------------------------------------------------------------------


class Uncopied:
    """A session that cannot be copied, so that its subclasses have one fault only."""

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("Two copies would each spend the same budget.")


class CheckThenAct(Uncopied):
    """Checks whether the budget suffices, and then takes it: another thread may check between the two steps."""

    def __init__(self, whole: Pure):
        self.left = whole.epsilon

    def charge(self, loss: Pure) -> None:
        """Charge one step, before it is taken."""
        left = self.left
        if loss.epsilon > left:
            raise BudgetExceeded("This step costs more than what is left of the budget.", found=left)
        self.left = left - loss.epsilon


class SumOfFloats(Uncopied):
    """Adds up floats. A charge below half a unit in the last place of the sum costs nothing."""

    def __init__(self, whole: Pure):
        self.whole, self.spent, self.lock = float(whole.epsilon), 0.0, threading.Lock()

    def charge(self, loss: Pure) -> None:
        """Charge one step, before it is taken."""
        with self.lock:
            if self.spent + float(loss.epsilon) > self.whole:
                raise BudgetExceeded(f"This step exceeds the budget of {self.whole}.", found=self.spent)
            self.spent += float(loss.epsilon)


SPENT_TWICE = Exhibit(
    name="spent-twice",
    title="Check, then act: two workers that check at the same time both find enough budget",
    story=(
        "The remaining budget is read, compared and written back, without a lock or a transaction around the "
        "three steps. Two workers that read before either has written are both admitted, and the last write wins, "
        "so the records even look right afterwards. The same happens without threads where two stages of one "
        "pipeline each get the whole ε, and one number is reported for both."
    ),
    sources=(
        "a precaution: w3c/attribution#309 marks where a lock around check and deduction has to begin",
        "w3c/attribution#371, of a neighbouring fault: of several budgets, all are charged or none is",
        "arXiv 2602.17454 (Re:cord-play) on MOSTLY AI: two queries for the budget of one",
        "OpenMined/PySyft#6914 and #6917: what is spent falls with the noise, and depends on the order of queries",
        "mbi #11: the whole ε for the second stage, after the first has had half",
    ),
    broken=lambda: overspending.attack(CheckThenAct, name="check-then-act"),
    mended=lambda: overspending.attack(Session, name="privacy.Session"),
    ours=(
        "Session.charge compares and adds under one lock, and a session cannot be copied. Tested in "
        "tests/privacy/test_session.py and, attacked line by line, in tests/audit/attacks/test_overspending.py."
    ),
)

ROUNDED_TO_ZERO = Exhibit(
    name="rounded-to-zero",
    title="A sum of floats forgets small charges",
    story=(
        "The budget is kept in floats. Once 1.0 is spent, 1.0 + 10⁻²⁰ is 1.0 again, which is not above a budget "
        "of 1. So the charge is granted and leaves no trace, and so are any number of further ones. Subnormal "
        "amounts vanish even earlier, and amounts below them are zero before they are added. No analyst asks for "
        "ε = 10⁻²⁰, but amplified and divided charges become small by themselves. Floats also cause the opposite "
        "fault: 0.1 + 0.2 is above 0.3, and a filter refuses the last charge of a budget that was divided "
        "exactly."
    ),
    sources=(
        "maziyarpanahi/openmed#2457: a positive subnormal spend was lost once the budget was exhausted",
        "w3c/attribution#77: no floating point for a privacy budget",
        "opendp/opendp#2789 and #2131: the opposite, an exact spend is refused",
    ),
    broken=lambda: overspending.attack(SumOfFloats, name="a sum of floats"),
    mended=lambda: overspending.attack(Session, name="privacy.Session"),
    ours=(
        "Amounts are fractions from the first digit on (discreet.rational), compared exactly, and a charge may "
        "equal what is left. Tested in tests/privacy/test_session.py."
    ),
)


# -- the reused sample ------------------------------------------------------------------------------------------

RATE, RELEASES = Fraction(1, 10), 2


def reused(present: int) -> list[int]:
    """Count one person with noise, if present and sampled: two releases on one secret sample."""
    sampled = present * noise.bernoulli(RATE)
    return [sampled + noise.discrete_laplace(1) for _ in range(RELEASES)]


def afresh(present: int) -> list[int]:
    """Count one person with noise, if present and sampled: two releases, each on a new secret sample."""
    return [present * noise.bernoulli(RATE) + noise.discrete_laplace(1) for _ in range(RELEASES)]


def _sampled(name: str, release: Callable[[int], list[int]]) -> Subject:
    return Subject(
        name=name,
        release=release,
        loss=PoissonSubsampled(DiscreteLaplace(1), RATE) * RELEASES,
        pairs=[(0, 1)],
    )


REUSED_SAMPLE = Exhibit(
    name="reused-sample",
    title="Several releases on one secret sample, each charged as if it had its own sample",
    story=(
        "Sampling a tenth of the people makes a release cheaper, because a given person is most likely not in the "
        "sample. A second release on the same sample gets no second discount: if the first answer suggests that "
        "the person is in the sample, the second answer is about a person who is in it. Charged as k amplified "
        "releases the loss is k·log(1 + q·(e^ε − 1)); on a shared sample it is log(1 + q·(e^(kε) − 1)). That is "
        "more from k = 2 on, and for many releases nothing is left of the amplification. An interface that takes "
        "'my table is a sample' as a fact about one release, and lets the results be composed, invites this "
        "mistake."
    ),
    sources=(
        "opendp/opendp#2933: amplified measurements on the same sample cannot be composed",
        "opendp/opendp#2932: with and without replacement are not the same",
    ),
    broken=lambda: exact.attack(_sampled("two counts of one sample", reused)),
    mended=lambda: exact.attack(_sampled("two counts of two samples", afresh)),
    ours=(
        "privacy.PoissonSubsampled takes one release, and is defined for a sample that is drawn for this release "
        "only. It refuses a repeated release, and its error shows the right way to write it. Tested in "
        "tests/privacy/theorems/test_subsampling.py."
    ),
)

EXHIBITS = (NATURAL_FILTER, SPENT_TWICE, ROUNDED_TO_ZERO, REUSED_SAMPLE)
