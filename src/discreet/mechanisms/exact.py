"""Seal an exact value until a mechanism opens it.

An `Exact` carries an integer or a vector of integers together with its sensitivity. It has no repr, no length, no
iteration, no comparison, no pickle and no copy, so that logging, printing or a debugger's summary shows nothing.
Whether it is admitted depends on its declared sensitivity and shape, never on what it holds. What a mechanism may
refuse it refuses before it opens the value. The seal does not hold against an attacker who reads the memory: a
crash reporter that saves local variables, for example at an interrupt, sees the value that a mechanism has open.
An `ExactByKey` seals the names of its entries too, where their presence is itself a fact about a person.

Integers only: sums of integers are exact in any order, so a sensitivity is a theorem and not a hope about
rounding. Values are clamped to ±(2⁶² − 1). The clamp brings no two values further apart, so the sensitivity
holds, and no value raises an exception that an attacker could see. Noise lies within ±2⁶² (`noise.api`), so every
sum of the two is an int64.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NoReturn, SupportsIndex, TypeAlias, TypeVar, final, overload

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.errors import Code, Fix, ParameterError, SensitivityExceeded
from discreet.mechanisms.sensitivity import Sensitivity

LIMIT = 2**62 - 1
"""Exact values lie within ±LIMIT: the difference of two, and the sum with noise within ±2⁶², are int64."""

Integers: TypeAlias = NDArray[np.int64]
"""The content of an exact value; zero-dimensional for a single integer."""

Result = TypeVar("Result")

_QUANTISE = "Quantise first: math.floor(value / step), or int(flag)."


class _Sealed:
    """Show nothing: no repr, length, iteration, comparison, pickle or copy."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<exact value, sealed>"

    def __sealed(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("An exact value is sealed. Only a mechanism opens it: mechanism.release(exact).")

    __bool__ = __len__ = __iter__ = __contains__ = __getitem__ = __array__ = __sealed
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __sealed
    __copy__ = __deepcopy__ = __getstate__ = __reduce__ = __reduce_ex__ = __sealed


@final
class Exact(_Sealed):
    """An integer or a vector of integers that only a mechanism can open, with its sensitivity.

    A plain integer as sensitivity means that one person changes one entry, by at most so much.

    >>> from discreet.mechanisms import Laplace
    >>> ages = Exact([12, 31, 20], sensitivity=1)
    >>> ages
    <exact value, sealed>
    >>> noisy = Laplace.for_epsilon(1).release(ages)
    """

    __slots__ = ("__sensitivity", "__values")

    def __init__(
        self, values: SupportsIndex | Sequence[int] | NDArray[np.integer], sensitivity: Sensitivity | int
    ):
        self.__values = _clamped(values)
        self.__sensitivity = Sensitivity.of(sensitivity).among(self.__values.size)

    @property
    def sensitivity(self) -> Sensitivity:
        """A bound on how much one person can change it."""
        return self.__sensitivity

    @property
    def size(self) -> int | None:
        """The number of entries of a vector; None for a single integer."""
        return self.__values.size if self.__values.ndim else None

    def __dir__(self) -> list[str]:
        return ["sensitivity", "size"]  # what inspectors walk through


@final
class ExactByKey(_Sealed):
    """An integer for each key that occurs. Which keys occur, and how many, is sealed like the integers.

    A key that does not occur counts as 0. The sensitivity bounds how many keys one person changes, with those that
    occur only because of this person, and by how much.

    >>> ExactByKey({"Oslo": 900, "Foula": 1}, Sensitivity(entries=1, each=1))
    <exact value, sealed>
    """

    __slots__ = ("__counts", "__sensitivity")

    def __init__(self, counts: Mapping[Any, int], sensitivity: Sensitivity | int):
        self.__counts = {key: _clamped_integer(count) for key, count in counts.items()}
        self.__sensitivity = Sensitivity.of(sensitivity)

    @property
    def sensitivity(self) -> Sensitivity:
        """A bound on how much one person can change it."""
        return self.__sensitivity

    def __dir__(self) -> list[str]:
        return ["sensitivity"]  # what inspectors walk through


@overload
def opened(exact: Exact) -> Integers: ...
@overload
def opened(exact: ExactByKey) -> dict[Hashable, int]: ...
def opened(exact: Exact | ExactByKey) -> Integers | dict[Hashable, int]:
    """Return what is inside.

    For two callers only: a mechanism, after `admit`, and the recorder of `audit.replay`, for made-up rows.
    """
    if isinstance(exact, ExactByKey):
        return dict(exact._ExactByKey__counts)  # type: ignore[attr-defined]
    values: Integers = exact._Exact__values  # type: ignore[attr-defined]
    return values


def added(exact: Exact, drawn: int | Integers) -> int | Integers:
    """Return exact value + noise: the one place where the two meet. |noise| ≤ 2⁶², so no sum leaves int64.

    >>> added(Exact(40, sensitivity=1), 2)
    42
    """
    total: int | Integers = unboxed(opened(exact) + drawn)
    return total


def unboxed(result: np.generic | NDArray[Any]) -> Any:
    """Return a single result as a Python number; vectors, and whatever was made from test bits, as they are.

    >>> unboxed(np.int64(3))
    3
    """
    return result if isinstance(result, noise.TestNoise) or result.ndim else result.item()


def with_mark(result: Result, *, of: object) -> Result:
    """Return `result` with the mark of the noise that decided it, if that was made from test bits.

    >>> with_mark(3, of=17)
    3
    """
    if isinstance(of, noise.TestNoise):
        return np.asarray(result).view(noise.TestNoise)  # type: ignore[return-value]
    return result


def admit(
    exact: Exact | ExactByKey,
    *,
    vector: bool | None = None,
    monotonic: bool = False,
    by_key: bool = False,
    **limits: int,
) -> None:
    """Refuse an exact value that the mechanism was not built for, by what is declared about it.

    Args:
        exact: The exact value. It is not opened.
        vector: Whether it must be a vector; None, the default, takes both.
        monotonic: Whether its direction must be declared; not by default.
        by_key: Whether it must be an `ExactByKey`; not by default.
        limits: The largest sensitivity in each norm, such as l1=2.

    >>> admit(Exact(7, sensitivity=3), l1=2)
    Traceback (most recent call last):
    discreet.errors.SensitivityExceeded: One person can change this exact value by 3 (l1); the mechanism
    was built for 2. Build the mechanism for 3, or bound what one person contributes.
    """
    if not isinstance(exact, ExactByKey if by_key else Exact):
        raise ParameterError(
            f"A mechanism releases an {'ExactByKey' if by_key else 'Exact'}.",
            found=type(exact).__name__,
            fix=Fix("exact", Code('ExactByKey({"Oslo": 9}, 1)' if by_key else "Exact(1234, sensitivity=1)")),
        )
    if vector is not None and isinstance(exact, Exact) and vector != (exact.size is not None):
        found, wanted = ("one integer", "a vector") if vector else ("a vector", "one integer")
        raise ParameterError(f"This mechanism takes {wanted}.", found=found)
    for name, limit in limits.items():
        declared = getattr(exact.sensitivity, name)
        if declared is None or declared > limit:
            raise SensitivityExceeded(
                f"One person can change this exact value by {declared} ({name}); the mechanism was built for "
                f"{limit}.",
                fix=f"Build the mechanism for {declared}, or bound what one person contributes.",
            )
    if monotonic and not exact.sensitivity.monotonic:
        raise SensitivityExceeded(
            "The mechanism was built for scores that all move the same way; this exact value does not declare it.",
            fix=[
                Fix(
                    "sensitivity",
                    Code(f'Sensitivity(each={exact.sensitivity.each}, monotonic="up")'),
                    note="if it is true",
                ),
                Fix("monotonic", False),
            ],
        )


def _clamped(values: object) -> Integers:
    """Return the integers as a read-only int64 array of our own, judged by type and shape alone."""
    if isinstance(values, np.ndarray | np.integer):
        array = _clamped_array(values)
    elif isinstance(values, list | tuple | range):
        array = np.array([_clamped_integer(value) for value in values], dtype=np.int64)
    else:
        array = np.array(_clamped_integer(values), dtype=np.int64)
    if array.ndim > 1 or not array.size:
        raise ParameterError(
            "An exact value must be an integer or a vector of at least one integer.",
            found=f"shape {array.shape}",
        )
    array.flags.writeable = False
    return array


def _clamped_array(values: NDArray[Any] | np.integer) -> Integers:
    if isinstance(values, np.ma.MaskedArray):
        raise _made_of("a masked array", "Choose what a missing entry counts as: values.filled(0).")
    if values.dtype.kind not in "iu":
        fix = _QUANTISE if values.dtype.kind in "fcb" else "Convert first: values.astype(np.int64)."
        raise _made_of(str(values.dtype), fix)
    type_limits = np.iinfo(values.dtype)
    inside = np.clip(values, max(-LIMIT, type_limits.min), min(LIMIT, type_limits.max))
    return np.array(inside, dtype=np.int64)


def _clamped_integer(value: object) -> int:
    found = type(value).__name__
    if isinstance(value, str | bytes):
        raise _made_of(found, "Read the number first: int(text).")
    if isinstance(value, Iterable):  # a numpy array too, whatever its shape
        raise _made_of(found, "Give one flat list, or a numpy array of one dimension.")
    if isinstance(value, bool | np.bool_) or not hasattr(value, "__index__"):
        raise _made_of(found, _QUANTISE)
    return max(-LIMIT, min(LIMIT, operator.index(value)))


def _made_of(found: str, fix: str) -> ParameterError:
    return ParameterError("An exact value must be made of integers.", found=found, fix=fix)
