"""Make the data of the demo: the persons of an invented city, and their trips.

The data are plausible: ages and incomes depend on the district, and a few persons travel very much. They have the
faults of real tables: missing incomes, an age of 999, a mode of transport that the schema does not list. Arrays
are given to Arrow as buffers, because `pyarrow.array` would import pandas first, which takes longer than all the
rest.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet import noise

if TYPE_CHECKING:
    import pyarrow

DISTRICTS = ("Altstadt", "Harbour", "Hillside", "Lindenau", "Meadows", "Northgate", "Riverside", "Westend")
MODES = ("bicycle", "bus", "car", "on foot", "tram")
FIRST, LAST = date(2025, 1, 1), date(2025, 12, 31)
_PEOPLE = (9, 14, 11, 16, 8, 19, 13, 10)  # per cent
_PAY = (38, 27, 52, 29, 33, 26, 41, 36)  # thousands a year, about
_WAYS = (17, 21, 30, 20, 11, 1)  # per cent; the schema does not list the last one
_BAKERIES = ("Kringle", "Old Mill", "Semmel", "The Crust", "Three Ears", "Zopf")


def city(persons: int = 100_000) -> pyarrow.Table:
    """Return the trips of a number of persons: user_id, age, district, income, day, mode, minutes, bakery.

    >>> city(10).column_names
    ['user_id', 'age', 'district', 'income', 'day', 'mode', 'minutes', 'bakery']
    """
    import pyarrow as pa

    where = _choice(_PEOPLE, persons)
    age = np.clip(18 + _uniform(60, persons) + 4 * (where % 3) - 12 * (_uniform(4, persons) == 0), 0, 105)
    age = np.where(_uniform(5_000, persons) == 0, 999, age)
    pay = np.array(_PAY)[where] * np.exp(_normal(persons) * 0.45 - 0.1) * (0.6 + np.minimum(age, 65) / 100)
    trips = 1 + np.floor(np.exp(_normal(persons) * 0.9 + 0.9)).astype(np.int64)  # a few travel very much
    who = np.repeat(np.arange(persons), trips)
    rows = len(who)
    day = (FIRST - date(1970, 1, 1)).days + _uniform((LAST - FIRST).days + 1, rows)
    minutes = np.clip(np.exp(_normal(rows) * 0.6 + 2.9), 1, 600)
    bakery = np.where(_uniform(10_000, rows) == 0, len(_BAKERIES), _uniform(len(_BAKERIES), rows))
    columns = {
        "user_id": _column(pa.int64(), who),
        "age": _column(pa.int64(), age[who]),
        "district": _named(DISTRICTS, where[who]),
        "income": _column(pa.float64(), (1000 * pay).round()[who], missing=(_uniform(40, persons) == 0)[who]),
        "day": _column(pa.date32(), day),
        "mode": _named((*MODES, "e-scooter"), _choice(_WAYS, rows)),
        "minutes": _column(pa.float64(), minutes.round(1)),
        "bakery": _named((*_BAKERIES, "Grandmother's kitchen"), bakery, missing=_uniform(3, rows) > 0),
    }
    return pa.Table.from_arrays([*columns.values()], [*columns])


def _uniform(n: int, size: int) -> NDArray[np.int64]:
    return noise.uniform_below(n, size)


def _normal(size: int) -> NDArray[np.float64]:
    return noise.discrete_gaussian(10**8, size) / 10**4


def _choice(per_cent: tuple[int, ...], size: int) -> NDArray[Any]:
    return np.searchsorted(np.cumsum(per_cent), _uniform(100, size), side="right")


def _column(
    kind: pyarrow.DataType, values: NDArray[Any], missing: NDArray[np.bool_] | None = None
) -> pyarrow.Array:
    import pyarrow as pa

    numbers = np.ascontiguousarray(values, kind.to_pandas_dtype() if kind != pa.date32() else np.int32)
    valid = None if missing is None else pa.py_buffer(np.packbits(~missing, bitorder="little"))
    return pa.Array.from_buffers(kind, len(numbers), [valid, pa.py_buffer(numbers)])


def _named(names: tuple[str, ...], codes: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> pyarrow.Array:
    import pyarrow as pa

    texts = [name.encode() for name in names]
    ends = np.cumsum([0, *map(len, texts)]).astype(np.int32)
    listed = pa.Array.from_buffers(
        pa.string(), len(names), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(texts))]
    )
    return pa.DictionaryArray.from_arrays(_column(pa.int8(), codes, missing), listed).dictionary_decode()
