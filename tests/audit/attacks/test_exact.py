"""The laws of the exact attack equal laws written by hand, and its bounds equal closed forms."""

from __future__ import annotations

import itertools
import json
import math
import secrets
import threading
from fractions import Fraction
from functools import partial
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import noise, privacy
from discreet.audit.attacks import draw_laws
from discreet.audit.attacks.draw_laws import ONE, options
from discreet.audit.attacks.exact import attack, hockey_stick, law
from discreet.audit.attacks.outcomes import Raised
from discreet.audit.inputs.subject import Subject
from discreet.errors import NotEnumerable, ParameterError
from discreet.mechanisms import Exact, Exponential, PermuteAndFlip, ReportNoisyMax, Sensitivity, Sparse
from discreet.noise.testing import Asked, scripted
from tests.mechanisms import output_laws

DRAWS = [
    (Asked("discrete_laplace", Fraction(3, 2)), lambda: output_laws.laplace(Fraction(3, 2))),
    (Asked("discrete_gaussian", Fraction(7, 3)), lambda: output_laws.gaussian(Fraction(7, 3), reach=30)),
    (Asked("discrete_gaussian", Fraction(1, 100)), lambda: output_laws.gaussian(Fraction(1, 100), reach=100)),
    (Asked("bernoulli", Fraction(1, 3)), lambda: {1: mpmath.mpf(1) / 3, 0: mpmath.mpf(2) / 3}),
    (Asked("bernoulli_exp", Fraction(5, 2)), lambda: {1: mpmath.exp(-2.5), 0: 1 - mpmath.exp(-2.5)}),
    (Asked("uniform_below", Fraction(7)), lambda: dict.fromkeys(range(7), mpmath.mpf(1) / 7)),
    (
        Asked("softmax", (Fraction(1), Fraction(0), Fraction(9))),
        lambda: output_laws.exponential(Exponential(2), [-1, 0, -9]),
    ),
]


@pytest.mark.parametrize(("asked", "witness"), DRAWS, ids=lambda x: getattr(x, "law", ""))
def test_the_law_of_every_draw_lies_between_its_bounds(asked: Asked, witness: Any) -> None:
    truth = witness()
    found = dict(options(asked))
    assert len(found) == len(options(asked))
    for value, (low, high) in found.items():
        assert low <= truth[value] * ONE <= high
        assert high - low <= 2**16
    assert sum(high for _, high in found.values()) >= ONE * (1 - mpmath.mpf(10) ** -18)
    chances = [high for _, (_, high) in options(asked)]
    assert chances == sorted(chances, reverse=True)


def test_every_public_draw_has_its_law() -> None:
    """A new function of noise that the attack does not know would make laws incomplete, or fail here."""
    asked: list[str] = []

    def note(draw: Asked) -> int:
        asked.append(draw.law)
        return 0

    with scripted(note):
        noise.discrete_laplace(1)
        noise.discrete_gaussian(1, size=(2, 2))
        noise.bernoulli("1/2")
        noise.bernoulli_exp(1)
        noise.bernoulli_exp(np.array([[1, 2]]), over=3)
        noise.uniform_below(5)
        noise.uniform_below(2**70)
        noise.softmax(np.array([0, 1]))
    assert len(asked) == 12
    draws = {name for name in noise.__all__ if name.islower()} - {"deterministic", "is_test_noise"}
    assert set(asked) == draws
    assert draws == set(draw_laws._LAWS)


SCORES = [(0, 2, 1), (1, 1, 0)]
S = Sensitivity(each=1)


@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize(
    ("mechanism", "witness"),
    [
        (Exponential(2), output_laws.exponential),
        (PermuteAndFlip(2), output_laws.permute_and_flip),
        (ReportNoisyMax(3), output_laws.noisy_max),
        (Sparse(8, threshold=1), output_laws.sparse),
    ],
    ids=lambda x: type(x).__name__,
)
def test_enumerating_a_mechanism_gives_the_law_of_its_definition(
    mechanism: Any, witness: Any, scores: tuple[int, ...]
) -> None:
    values = scores[:2] if isinstance(mechanism, Sparse) else scores
    found = law(lambda: mechanism.release(Exact(list(values), S)), unexplored="1e-4")
    assert found.unexplored <= 1e-4
    for seen, chance in witness(mechanism, values).items():
        low, high = found.chance(seen)
        assert low - 1e-12 <= float(chance) <= high + found.unexplored + 1e-12


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 4))
@settings(max_examples=40, deadline=None)
def test_the_hockey_stick_of_coins_is_the_one_on_paper(a: int, b: int, epsilon: int) -> None:
    p, q = Fraction(a, 7), Fraction(b, 7)
    P, Q = (law(partial(noise.bernoulli, chance)) for chance in (p, q))
    truth = sum(max(0.0, float(x) - math.exp(epsilon) * float(y)) for x, y in ((p, q), (1 - p, 1 - q)))
    low, high = hockey_stick(P, Q, epsilon)
    assert low <= truth + 1e-12
    assert truth - 1e-12 <= high
    assert high - low < 1e-12


def noisy(value: int) -> int:
    return value + noise.discrete_laplace(2)


def test_what_was_not_explored_is_on_the_safe_side_both_ways() -> None:
    P, Q = (law(partial(noisy, v), unexplored="0.05") for v in (0, 1))
    assert P.unexplored > 1e-3
    for epsilon in ("0", "0.2", "0.4", "0.5"):
        truth = privacy.delta(privacy.DiscreteLaplace(2), epsilon)
        low, high = hockey_stick(P, Q, epsilon)
        assert low <= truth + 1e-9
        assert truth <= high + 1e-9


def test_an_exception_is_an_outcome() -> None:
    def picky(value: int) -> int:
        if value + noise.bernoulli("1/2") > 1:
            raise ValueError("too large")
        return 0

    found = law(lambda: picky(1))
    assert found.chance(0) == (0.5, 0.5)
    assert law(lambda: 1).chances == {1: (ONE, ONE)}
    subject = Subject(name="picky", release=picky, loss=privacy.Pure(1), pairs=[(0, 1)])
    verdict = attack(subject)
    assert verdict.caught
    assert "ValueError: too large" in verdict.words
    assert isinstance(next(seen for seen in law(partial(subject.run, 1)).chances if seen != 0), Raised)


def test_a_claim_that_is_just_wrong_is_caught_and_one_that_is_just_right_is_not() -> None:
    """Laplace noise of scale 1 loses exactly 1: 0.999 is refuted, 1 is not."""
    for claim, caught in (("0.999", True), ("1", False)):
        subject = Subject(
            name="laplace",
            release=lambda v: v + noise.discrete_laplace(1),
            loss=privacy.Pure(claim),
            pairs=[(0, 1)],
        )
        assert attack(subject, unexplored="1e-6").caught is caught


def test_both_directions_are_compared() -> None:
    """The answer is always yes, or yes half of the time: the loss is ln 2 one way, and infinite the other way."""

    def lopsided(bit: int) -> bool:
        return bool(bit) or bool(noise.bernoulli("1/2"))

    for pair in ((0, 1), (1, 0)):
        verdict = attack(Subject(name="x", release=lopsided, loss=privacy.Pure(1), pairs=[pair]))
        assert verdict.caught
        assert verdict.found is not None
        assert verdict.found > 40


def test_a_gaussian_claim_is_compared_at_its_deltas() -> None:
    def with_noise(variance: Fraction, value: int) -> int:
        return value + noise.discrete_gaussian(variance)

    for variance, caught in ((Fraction(1), False), (Fraction(9, 10), True)):
        subject = Subject(
            name="gaussian",
            release=partial(with_noise, variance),
            loss=privacy.DiscreteGaussian(1),
            pairs=[(0, 1)],
        )
        verdict = attack(subject)
        assert verdict.caught is caught
        assert verdict.delta > 0


def test_randomness_from_elsewhere_is_noticed() -> None:
    numbers = itertools.count()

    def strange(_: int) -> int:
        return int(noise.discrete_laplace(1 + next(numbers)))

    with pytest.raises(NotEnumerable, match=r"only randomness is discreet\.noise"):
        attack(Subject(name="strange", release=strange, loss=privacy.Pure(1), pairs=[(0, 1)]))


def test_audited_code_cannot_catch_the_end_of_the_enumeration() -> None:
    numbers = itertools.count()

    def swallowing(_: int) -> int:
        try:
            return int(noise.discrete_laplace(1 + next(numbers)))
        except Exception:
            return 0

    with pytest.raises(NotEnumerable):
        attack(Subject(name="swallowing", release=swallowing, loss=privacy.Pure(1), pairs=[(0, 1)]))


def test_what_cannot_be_enumerated_is_refused_with_an_explanation() -> None:
    with pytest.raises(NotEnumerable, match=r"audit\.lower_bound"):
        law(lambda: noise.discrete_laplace(10**6))
    with pytest.raises(ParameterError, match="no pair of neighbours"):
        attack(Subject(name="nothing", release=lambda x: x, loss=privacy.Pure(1), pairs=[]))


def test_scripted_draws_have_the_types_of_real_ones_and_end_with_their_block() -> None:
    """Other types would enumerate other code: numpy's True + True is True, and Python's is 2."""
    with scripted(lambda asked: 2):
        drawn = (noise.discrete_laplace(1), noise.bernoulli("1/2"), noise.softmax(np.array([0, 0, 0])))
        assert [type(value) for value in drawn] == [int, bool, int]
        assert type(noise.uniform_below(2**70)) is int
        assert type(noise.discrete_laplace(1, size=2)) is np.ndarray
        assert noise.bernoulli_exp(np.array([3, 4])).tolist() == [True, True]
    assert [type(value) for value in (noise.discrete_laplace(1), noise.bernoulli("1/2"))] == [int, bool]
    P, Q = (law(partial(_three_coins, x)) for x in (0, 1))
    low, high = hockey_stick(P, Q, math.log(3))
    assert low <= 0.125 <= high


def _three_coins(x: int) -> int:
    return noise.bernoulli("1/2") + noise.bernoulli("1/2") + noise.bernoulli("1/2") + x


def test_code_that_needs_python_numbers_is_enumerated_unchanged() -> None:
    def rounding(x: int) -> str:
        drawn = noise.discrete_laplace("1/2")
        return json.dumps([round(x * 1000 + drawn), {0: x}.get(drawn), (2**70 + drawn).bit_length()])

    assert attack(Subject(name="r", release=rounding, loss=privacy.Pure(1), pairs=[(0, 1)])).caught


def innocents_of_elsewhere() -> list[Any]:
    def in_a_thread(x: int) -> int:
        out: list[int] = []
        thread = threading.Thread(target=lambda: out.append(x + noise.discrete_laplace(10)))
        thread.start()
        thread.join()
        return out[0]

    return [in_a_thread, lambda x: x ^ (secrets.randbelow(4) == 0), lambda x: x + secrets.randbits(40)]


@pytest.mark.parametrize("innocent", innocents_of_elsewhere())
def test_randomness_that_no_script_decides_is_noticed(innocent: Any) -> None:
    """48 repetitions of an answer that is true with probability 3/4 agree once in 10⁶; others never agree."""
    with pytest.raises(NotEnumerable, match=r"only randomness is discreet\.noise"):
        attack(Subject(name="innocent", release=innocent, loss=privacy.Pure("1.0987"), pairs=[(0, 1)]))


def test_a_bare_except_cannot_hide_that_the_enumeration_was_stopped() -> None:
    def swallowing(x: int) -> int:
        try:
            return x + int(noise.discrete_laplace(10**6))
        except:  # noqa: E722
            return x

    with pytest.raises(NotEnumerable, match="too many values"):
        attack(Subject(name="swallowing", release=swallowing, loss=privacy.Pure(1), pairs=[(0, 1)]))


def test_code_that_uses_its_data_up_is_given_new_data_every_time() -> None:
    def total(rows: list[int]) -> int:
        found = 0
        while rows:
            found += rows.pop()
        return found + noise.discrete_laplace(1)

    subject = Subject(name="total", release=total, loss=privacy.Pure(1), pairs=[([1, 1], [1])])
    assert not attack(subject).caught
    assert subject.pairs[0] == ([1, 1], [1])


def test_a_huge_epsilon_is_answered() -> None:
    P, Q = (law(partial(noise.bernoulli, chance)) for chance in ("1/2", "1/4"))
    assert hockey_stick(P, Q, 200) == (0.0, 1.0)


def test_several_claims_with_a_delta_are_compared_at_their_sum() -> None:
    subject = Subject(
        name="ten",
        release=lambda x: x + noise.discrete_laplace(1),
        loss=privacy.Approximate(1, "0.05") * 10,
        pairs=[(0, 1)],
    )
    assert not attack(subject).caught
    hopeless = Subject(name="none", release=lambda x: x, loss=privacy.Approximate(1, 1), pairs=[(0, 1)])
    assert not attack(hopeless).caught


def test_every_draw_of_a_vector_is_enumerated() -> None:
    found = law(lambda: noise.bernoulli("1/2", size=3))
    assert len(found.chances) == 8
    assert found.unexplored == 0
    assert found.chance((True, False, True)) == (0.125, 0.125)
