"""Show noise in floating point: the law is right on paper, but the digits of the answer reveal the value.

Each pair here is a value of 0 against a value of 1, or a count of 41 against 42, and the claim is that of the
Laplace mechanism on real numbers. It is refuted by an event that is impossible for one of the two: then no ε
holds. The mended versions add integer noise, whose law is exact, on a grid that was fixed before the value was
known.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from discreet import noise, privacy
from discreet.audit.attacks import exact
from discreet.audit.blackbox import blackbox
from discreet.audit.inputs.subject import Subject
from discreet.audit.museum.exhibit import Exhibit
from discreet.audit.report.verdict import Verdict

Floats = NDArray[np.float64]

_UNIFORMS = 2**53  # a uniform double is k/2⁵³
_GRID = 2**20  # grid steps per unit, for the mended versions


def _attacked(name: str, batch: Callable[[float, int], NDArray[np.generic]]) -> Verdict:
    """Search for events that tell 0 from 1 better than ε = 1 allows."""
    return blackbox.attack(
        Subject(
            name=name,
            release=lambda value: batch(value, 1)[0],
            loss=privacy.Pure(1),
            pairs=[(0.0, 1.0)],
            batch=batch,
        ),
        samples=50_000,
    )


def on_a_grid(value: float, count: int) -> Floats:
    """Return `count` releases of `value` with Laplace noise of scale 1, both on a grid of 2⁻²⁰.

    Integers are added to integers; the division by a power of two is exact.
    """
    return (int(np.floor(value * _GRID)) + noise.discrete_laplace(_GRID, count)) / _GRID


# -- float-laplace ----------------------------------------------------------------------------------------------


def by_inversion(value: float, count: int) -> Floats:
    """Return `value` plus ±ln U, the Laplace noise of the textbook, with U a multiple of 2⁻⁵³."""
    uniform = (1 + noise.uniform_below(_UNIFORMS, count)) / _UNIFORMS
    sign = 1 - 2 * noise.uniform_below(2, count)
    return np.asarray(value - sign * np.log(uniform), dtype=np.float64)


def reachable_by_inversion(answers: Floats) -> NDArray[np.bool_]:
    """Return which answers `by_inversion` can give for the value 0: those that equal ±ln U for some U.

    >>> reachable_by_inversion(np.array([-np.log(0.25), -np.log(0.25) + 2.0**-52]))
    array([ True, False])
    """
    size = np.abs(answers)
    near = np.rint(np.exp(-size) * _UNIFORMS)[:, None] + np.arange(-3, 4)
    hits = -np.log(np.clip(near, 1, _UNIFORMS) / _UNIFORMS) == size[:, None]
    return np.asarray(hits.any(axis=1))


def reachable_on_the_grid(answers: Floats) -> NDArray[np.bool_]:
    """Return which answers `on_a_grid` can give for the value 0: the multiples of 2⁻²⁰.

    >>> reachable_on_the_grid(np.array([0.75, 0.1]))
    array([ True, False])
    """
    return np.asarray(answers * _GRID == np.rint(answers * _GRID))


def with_holes_marked(answers: Floats, reachable: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return what an attacker computes from each answer: its floor, and whether the value 0 can give it.

    >>> with_holes_marked(np.array([1.25, -0.5]), np.array([True, False]))
    array([[ 1,  1],
           [-1,  0]])
    """
    return np.column_stack([np.floor(answers), reachable]).astype(np.int64)


def _porous() -> Verdict:
    def batch(value: float, count: int) -> NDArray[np.int64]:
        answers = by_inversion(value, count)
        return with_holes_marked(answers, reachable_by_inversion(answers))

    return _attacked("Laplace noise by inversion, holes marked", batch)


def _without_holes() -> Verdict:
    def batch(value: float, count: int) -> NDArray[np.int64]:
        answers = on_a_grid(value, count)
        return with_holes_marked(answers, reachable_on_the_grid(answers))

    return _attacked("Laplace noise on a grid, holes marked", batch)


FLOAT_LAPLACE = Exhibit(
    name="float-laplace",
    title="Laplace noise as the logarithm of a float has holes",
    story=(
        "Every textbook draws Laplace noise as the logarithm of a uniform number. A computer has 2⁵³ uniform "
        "numbers, and their logarithms are fewer than the doubles in the same range: most doubles are never "
        "noise. Add the noise to 0 and the answer is one of these logarithms. Add it to 1 and the answer is "
        "usually none of them. An attacker who sees an answer recomputes the logarithms around it, finds none "
        "that fits, and knows that the value was not 0. One answer is enough, whatever ε was promised."
    ),
    sources=(
        "Mironov 2012, On significance of the least significant bits for differential privacy",
        "opendp/smartnoise-core#242",
        "IBM/differential-privacy-library#19",
        "OpenMined/PySyft#1953",
    ),
    broken=_porous,
    mended=_without_holes,
    ours=(
        "No float takes part in a decision about noise: integers are drawn with certified probabilities "
        "(discreet.noise, tests/noise/test_laplace_sampler.py), and an exact value is an integer "
        "(test_only_integers_are_taken in tests/mechanisms/test_exact.py)."
    ),
)


# -- precision-attack -------------------------------------------------------------------------------------------


def of_full_precision(value: float, count: int) -> Floats:
    """Return `value` plus real Laplace noise, each draw rounded to its nearest double: noise without holes.

    An integer of scale 2⁵² is the noise in units of 2⁻⁵², and a uniform number is its position inside the unit:
    the density is constant there to one part in 2⁵².
    """
    units = noise.discrete_laplace(2**52, count)
    within = noise.uniform_below(_UNIFORMS, count) / _UNIFORMS
    return value + np.where(units < 0, -(~units + within), units + within) / 2**52


def _added_in_floats() -> Verdict:
    return _attacked("perfect Laplace noise, added in floating point", of_full_precision)


def _added_on_a_grid() -> Verdict:
    return _attacked("Laplace noise, added on a grid", on_a_grid)


PRECISION_ATTACK = Exhibit(
    name="precision-attack",
    title="Even perfect noise leaks when it is added in floating point",
    story=(
        "Suppose that the noise itself has no holes. Near 0 doubles are very fine; near 1 they are 2⁻⁵³ apart or "
        "wider, and a sum is as coarse as the coarser of its two terms. So 0 plus a little noise keeps digits far "
        "below 2⁻⁵³, and 1 plus noise never has any. A quarter of the answers have such digits, and none of these "
        "came from 1. Some libraries drew more samples for each noise, against the holes. This does not help, and "
        "neither does adding before scaling: the last addition rounds."
    ),
    sources=(
        "Haney, Desfontaines, Hartman, Shrestha and Hay 2022, Precision-based attacks and interval refining",
        "IBM/differential-privacy-library#94",
        "opendp/opendp#414",
        "meta-pytorch/opacus#616",
    ),
    broken=_added_in_floats,
    mended=_added_on_a_grid,
    ours=(
        "The one place where value and noise meet adds two int64 that cannot overflow (mechanisms.exact.added, "
        "test_no_sum_with_noise_leaves_int64 in tests/mechanisms/test_exact.py); a float appears only afterwards, "
        "when the grid is divided out."
    ),
)


# -- scaled-after-rounding --------------------------------------------------------------------------------------

_SCALE = 4


def _counted(name: str, release: Callable[[int], int]) -> Verdict:
    """Enumerate the noise on a count of 41 and on one of 42."""
    return exact.attack(
        Subject(name=name, release=release, loss=privacy.DiscreteLaplace(_SCALE), pairs=[(41, 42)])
    )


def _multiplied() -> Verdict:
    return _counted("integer noise of scale 1, times 4", lambda count: count + _SCALE * noise.discrete_laplace(1))


def _drawn_to_scale() -> Verdict:
    return _counted("integer noise of scale 4", lambda count: count + noise.discrete_laplace(_SCALE))


SCALED_AFTER_ROUNDING = Exhibit(
    name="scaled-after-rounding",
    title="Noise that is rounded first and scaled afterwards reveals the value's last digit",
    story=(
        "A library has one good sampler, for noise of scale 1, and multiplies it to get every other scale. But "
        "the sampler's output lies on a grid, the integers or the doubles. Multiplying by four makes the grid "
        "four times as coarse, while the value stays where it is. The answer is then the value plus a multiple of "
        "four: its remainder is the value's remainder, without any noise. With doubles the grid is too fine to "
        "notice, and the same happens in the last bits."
    ),
    sources=(
        "opendp/opendp#345, mended in PR #346 by adding before scaling",
        "opendp/opendp#414, why that did not suffice",
    ),
    broken=_multiplied,
    mended=_drawn_to_scale,
    ours=(
        "Noise is drawn at its own scale, any rational, on the grid of the value: there is no scaling step "
        "(noise.discrete_laplace; the whole law is enumerated in tests/mechanisms/test_additive_exact.py)."
    ),
)

EXHIBITS = (FLOAT_LAPLACE, PRECISION_ATTACK, SCALED_AFTER_ROUNDING)
"""Exhibits about floating point, in the order of a visit."""
