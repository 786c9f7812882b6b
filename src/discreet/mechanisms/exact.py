"""The exact value: sealed until a mechanism opens it.

An `Exact` carries an integer or a vector of integers together with its sensitivity. It has no repr, no length, no
iteration, no comparison, no pickle and no copy, so that logging, printing or a debugger's summary shows nothing.
Whether it is admitted depends on its declared sensitivity and shape, never on what it holds.

Integers only: sums of integers are exact in any order, so a sensitivity is a theorem and not a hope about
rounding. Values are clamped to ±(2⁶² − 1). The clamp moves no two values further apart, so the sensitivity
stands, and no value makes an exception that an onlooker could see. Tested in tests/mechanisms/test_exact.py.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NoReturn, SupportsIndex, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from discreet import noise
from discreet.errors import ParameterError, SensitivityExceeded
from discreet.mechanisms.sensitivity import Sensitivity

LIMIT = 2**62 - 1
"""Exact values lie within ±LIMIT, so that the difference of two of them is still an int64."""

_END = 2**63 - 1

Integers: TypeAlias = NDArray[np.int64]
"""What an exact value holds once open; zero-dimensional for a single integer."""

_QUANTISE = "Quantise first: write math.floor(value / step), or int(flag)."


@final
class Exact:
    """An integer or a vector of integers that only a mechanism can open, with its sensitivity.

    A plain integer as sensitivity says that one person moves one entry, by at most so much.

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
        """How far one person can move it."""
        return self.__sensitivity

    @property
    def size(self) -> int | None:
        """How many entries the vector has; None for a single integer."""
        return self.__values.size if self.__values.ndim else None

    def __repr__(self) -> str:
        return "<exact value, sealed>"

    def __dir__(self) -> list[str]:
        return ["sensitivity", "size"]  # what inspectors walk through

    def __sealed(self, *_: object) -> NoReturn:
        raise TypeError("An exact value is sealed. Only a mechanism opens it: write mechanism.release(exact).")

    __bool__ = __len__ = __iter__ = __contains__ = __getitem__ = __array__ = __sealed
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __sealed
    __copy__ = __deepcopy__ = __getstate__ = __reduce__ = __reduce_ex__ = __sealed


def _open(exact: Exact) -> Integers:
    """Return what is inside. For mechanisms only, and after `admit`."""
    values: Integers = exact._Exact__values  # type: ignore[attr-defined]
    return values


def added(exact: Exact, drawn: int | Integers) -> int | Integers:
    """Return exact value + noise: the one place where the two meet. A sum that leaves int64 stays at its end.

    Staying there is a function of the true sum alone, so it gives nothing away.

    >>> added(Exact(40, sensitivity=1), 2)
    42
    """
    values = _open(exact)
    fitting = np.clip(drawn, -_END - np.minimum(values, 0), _END - np.maximum(values, 0))
    total: int | Integers = unboxed(fitting + values)
    return total


def unboxed(result: np.generic | NDArray[Any]) -> Any:
    """Return a single result as a Python number; vectors, and whatever was made from test bits, as they are.

    >>> unboxed(np.int64(3))
    3
    """
    return result if isinstance(result, noise.TestNoise) or result.ndim else result.item()


def marked(result: int, drawn: object) -> int:
    """Return `result` with the mark of the noise that decided it, if that was made from test bits.

    >>> marked(3, drawn=17)
    3
    """
    if isinstance(drawn, noise.TestNoise):
        return np.asarray(result).view(noise.TestNoise)  # type: ignore[return-value]
    return int(result)


def admit(exact: Exact, *, vector: bool | None = None, monotonic: bool = False, **limits: int) -> None:
    """Refuse an exact value that the mechanism was not built for, by what is declared about it.

    >>> admit(Exact(7, sensitivity=3), l1=2)
    Traceback (most recent call last):
    discreet.errors.SensitivityExceeded: One person can move this exact value by 3 (l1), and the mechanism
    was built for 2. Build it for 3, or bound what one person contributes.
    """
    if not isinstance(exact, Exact):
        raise ParameterError(f"A mechanism releases an Exact(values, sensitivity), not {type(exact).__name__}.")
    if vector is not None and vector != (exact.size is not None):
        found, wanted = ("one integer", "a vector") if vector else ("a vector", "one integer")
        raise ParameterError(f"This takes {wanted}, and the exact value is {found}.")
    for name, limit in limits.items():
        moved = getattr(exact.sensitivity, name)
        if moved is None or moved > limit:
            raise SensitivityExceeded(
                f"One person can move this exact value by {moved} ({name}), and the mechanism was built for "
                f"{limit}. Build it for {moved}, or bound what one person contributes."
            )
    if monotonic and not exact.sensitivity.monotonic:
        raise SensitivityExceeded(
            "The mechanism was built for scores that all move the same way, and this exact value does not say so. "
            "Write Sensitivity(each=…, monotonic=True) if it is true, or build the mechanism with monotonic=False."
        )


def _clamped(values: object) -> Integers:
    """Return the integers as a read-only int64 array of our own, judged by type and shape alone."""
    if isinstance(values, np.ndarray | np.integer):
        if values.dtype.kind not in "iu":
            raise ParameterError(f"An exact value is made of integers, not of {values.dtype}. {_QUANTISE}")
        inside = np.clip(values, max(-LIMIT, np.iinfo(values.dtype).min), min(LIMIT, np.iinfo(values.dtype).max))
        array = np.array(inside, dtype=np.int64)
    elif isinstance(values, list | tuple):
        array = np.array([_clamped_integer(value) for value in values], dtype=np.int64)
    else:
        array = np.array(_clamped_integer(values), dtype=np.int64)
    if array.ndim > 1 or not array.size:
        raise ParameterError(
            f"An exact value is an integer or a vector of at least one, not of shape {array.shape}."
        )
    array.flags.writeable = False
    return array


def _clamped_integer(value: object) -> int:
    if isinstance(value, bool | np.bool_) or not hasattr(value, "__index__"):
        raise ParameterError(f"An exact value is made of integers, not of {type(value).__name__}. {_QUANTISE}")
    return max(-LIMIT, min(LIMIT, operator.index(value)))
