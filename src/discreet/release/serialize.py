"""Write a release as JSON and read it back: plain numbers and texts under a stated version, every part checked.

    {"schema": "discreet release 2", "question": …, "columns": […],
     "keys": [{"name": "city", "column": "city", "type": "text", "values": […]}],
     "aggregates": [{"name": "count(*)", "column": "count", "values": […], "low": […], "high": […], …}],
     "receipt": {"unit": "epsilon", "spent": {"exact": "1/10", "value": 0.1}, "left": …, "share": 0.05, …},
     "label": {…}, …}

Reading runs no code, trusts no length or type, and either returns a release equal to the one that was written or
raises ParameterError. Exact amounts are fractions, "p/q". Other numbers are integers where they are whole, else
doubles in the shortest form that reads back to the same bits; infinite ends are the texts "inf" and "-inf".
`bounds` are the least and the largest number that is possible, and `unknown` says of each number whether its
interval is as wide, and its value null. Records without them are older, or have none. `column` and `receipt` are
for programs, and are not read back: they follow from the rest. Version 1, which had neither, is still read.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from discreet.errors import DiscreetError, ParameterError
from discreet.ledger.account import Account
from discreet.ledger.balance import Balance, read_cost, written_cost
from discreet.ledger.balance import read as read_balance
from discreet.ledger.balance import written as written_balance
from discreet.ledger.budget import Budget
from discreet.release import frames
from discreet.release.estimate import CONFIDENCE, Estimate
from discreet.release.label import Label, Noise
from discreet.release.receipt import Promise, Receipt
from discreet.release.released import expect_schema
from discreet.schema import from_json

if TYPE_CHECKING:
    from discreet.release.release import Release

SCHEMA = "discreet release 2"
"""The version of the files that are written."""

READABLE = (SCHEMA, "discreet release 1")
"""The versions of the files that are read."""

_WHOLE = 2**53  # up to here a double holds every integer
_LONG = 100  # numbers, from which a column is written at once
_RESTORE = "Restore it from a backup."
_DAMAGE = (
    *(TypeError, ValueError, AttributeError, IndexError, OverflowError, ZeroDivisionError),
    DiscreetError,
)
_FRACTION = re.compile(r"-?[0-9]{1,1000}(/[0-9]{1,1000})?")
_TYPES: dict[str, Callable[[Any], Any]] = {
    "boolean": lambda value: of_type(bool, value),
    "integer": lambda value: integer(value),
    "real": lambda value: float(of_type((int, float), value)),
    "text": lambda value: of_type(str, value),
    "date": lambda value: date.fromisoformat(of_type(str, value)),
    "datetime": lambda value: datetime.fromisoformat(of_type(str, value)),
    "null": lambda value: of_type(type(None), value),
}


def save(release: Release, path: str | os.PathLike[str]) -> None:
    """Write a release to a file, completely or not at all."""
    target = Path(path)
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    text = json.dumps(written(release), ensure_ascii=False, allow_nan=False, indent=1)
    try:
        draft.write_text(text + "\n", encoding="utf-8")
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)


def load(path: str | os.PathLike[str]) -> Any:
    """Return the JSON of the file of a release."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError) as wrong:
        raise ParameterError(
            f"{os.fspath(path)} is not the file of a release.", found=str(wrong), fix=_RESTORE
        ) from None


def written(release: Release) -> dict[str, Any]:
    """Return a release as JSON."""
    return {
        "schema": SCHEMA,
        "question": release.question,
        "at": release.at,
        "free": release.free,
        "confidence": str(release.confidence),
        "columns": list(release.columns),
        "keys": [_written_key(name, release) for name in release.keys],
        "aggregates": [_written_answer(answer, release) for answer in release.aggregates],
        "receipt": release.receipt.in_numbers(),
        "plan": release.plan,
        "label": written_label(release.label),
    }


def read(record: Any, kind: type[Release]) -> Release:
    """Return the release that was written as JSON. The class is given, because it imports this module."""
    expect_schema(record, *READABLE)
    with reading("release"):
        return kind(
            question=of_type(str, record["question"]),
            at=of_type(str, record["at"]),
            free=of_type(bool, record["free"]),
            confidence=fraction(record["confidence"]),
            columns=tuple(of_type(str, name) for name in list_in(record["columns"])),
            keys=dict(map(_read_key, list_in(record["keys"]))),
            aggregates=tuple(map(read_estimate, list_in(record["aggregates"]))),
            plan=of_type(str, record["plan"]),
            label=read_label(of_type(dict, record["label"])),
        )


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turn whatever a damaged record raises into one error. `what` names the result, such as "release"."""
    try:
        yield
    except KeyError as missing:
        raise ParameterError(f"The {what} lacks {missing}.", fix=_RESTORE) from None
    except _DAMAGE as wrong:
        raise ParameterError(f"The {what} is damaged.", found=str(wrong), fix=_RESTORE) from None


# -- keys and numbers -------------------------------------------------------------------------------------------


def _written_key(name: str, release: Release) -> dict[str, Any]:
    values = release.keys[name]
    type_ = frames.kind(name, values)
    times = type_ in ("date", "datetime")
    return {
        "name": name,
        "column": release.identifiers[name],
        "type": type_,
        "values": [value.isoformat() if times and value is not None else value for value in values],
    }


def _read_key(record: dict[str, Any]) -> tuple[str, tuple[Any, ...]]:
    read_one = _TYPES[record["type"]]
    values = list_in(record["values"])
    return of_type(str, record["name"]), tuple(None if value is None else read_one(value) for value in values)


def _written_answer(answer: Estimate, release: Release) -> dict[str, Any]:
    return {
        "name": answer.name,
        "column": release.identifiers[answer.name],
        **_written_numbers(answer),
    }


def written_estimate(answer: Estimate) -> dict[str, Any]:
    """Return an estimate as JSON, with its confidence."""
    return {"name": answer.name, "confidence": str(answer.confidence), **_written_numbers(answer)}


def _written_numbers(answer: Estimate) -> dict[str, Any]:
    return {
        "kind": answer.kind,
        "axis": answer.axis,
        "basis": answer.basis,
        "note": answer.note,
        "test_bits": answer.test_bits,
        "values": _written_column(answer.values),
        "low": _written_column(answer.low),
        "high": _written_column(answer.high),
        **_written_bounds(answer),
    }


def _written_bounds(answer: Estimate) -> dict[str, Any]:
    """Return the bounds of what is possible, and a flag for each number: whether it is unknown within them."""
    if answer.bounds is None:
        return {}
    return {"bounds": [_written_number(end) for end in answer.bounds], "unknown": list(answer.unknown)}


def read_estimate(record: dict[str, Any]) -> Estimate:
    """Return the estimate that was written as JSON. A record without a confidence has that of its release."""
    texts = {name: of_type(str, record[name]) for name in ("name", "kind", "axis", "note")}
    texts["basis"] = of_type(str, record.get("basis", "noise"))  # version 1 knew no other
    values, low, high = ([_number(number) for number in list_in(record[end])] for end in ("values", "low", "high"))
    confidence = fraction(record["confidence"]) if "confidence" in record else CONFIDENCE
    test_bits = of_type(bool, record["test_bits"])
    bounds = _read_bounds(record.get("bounds"))
    return Estimate(
        **texts, values=values, low=low, high=high, test_bits=test_bits, confidence=confidence, bounds=bounds
    )


def _read_bounds(record: Any) -> tuple[float, float] | None:
    if record is None:
        return None
    least, most = (float(of_type((int, float), end)) for end in list_in(record))
    return least, most


def _written_column(numbers: Sequence[float | None]) -> list[float | str | None]:
    """Return numbers for JSON; a long column of known ones at once, because an answer may have many groups."""
    if len(numbers) < _LONG or set(map(type, numbers)) != {float}:
        return [_written_number(number) for number in numbers]
    column = np.array(numbers, np.float64)
    if not np.isfinite(column).all():
        return [_written_number(number) for number in numbers]
    whole = (np.trunc(column) == column) & (np.abs(column) <= _WHOLE) & ((column != 0) | ~np.signbit(column))
    written = column.astype(np.object_)
    written[whole] = column[whole].astype(np.int64)
    return cast(list[float | str | None], written.tolist())


def _written_number(number: float | None) -> float | str | None:
    """Return a number for JSON: whole numbers as integers, except −0.0, whose sign an integer does not have."""
    if number is None:
        return None
    if not math.isfinite(number):
        return str(number)
    whole = number == int(number) and abs(number) <= _WHOLE and (number != 0 or math.copysign(1, number) > 0)
    return int(number) if whole else number


def _number(value: Any) -> float | None:
    if value is None:
        return None
    if value in ("inf", "-inf"):
        return float(value)
    number = float(of_type((int, float), value))
    if not math.isfinite(number):
        raise ValueError(f"{value!r} is not a number")
    return number


# -- labels -----------------------------------------------------------------------------------------------------


def written_label(label: Label) -> dict[str, Any]:
    """Return a label as JSON."""
    return {
        "table": label.table,
        "version": label.version,
        "sealed_at": label.sealed_at,
        "engine": label.engine,
        "library": label.library,
        "product": label.product,
        "person": label.person,
        "rows_per_person": label.rows_per_person,
        "groups": label.groups,
        "columns": {name: column.as_json() for name, column in label.columns.items()},
        "noise": [_written_noise(part) for part in label.noise],
        "notes": list(label.notes),
        "receipt": written_receipt(label.receipt),
        **({"model": label.model} if label.local else {}),
        **({"arithmetic": label.arithmetic} if label.arithmetic else {}),
    }


def written_receipt(receipt: Receipt) -> dict[str, Any]:
    """Return a receipt as JSON: its parts, which `read_receipt` reads. `Receipt.in_numbers` is for programs."""
    lifetime = receipt.lifetime
    return {
        "cost": written_cost(receipt.cost),
        "losses": list(receipt.losses),
        "balances": [
            {"analyst": b.account.analyst, "purpose": b.account.purpose, **written_balance(b)}
            for b in receipt.balances
        ],
        **({} if lifetime is None else {"lifetime": [str(lifetime.epsilon), str(lifetime.delta)]}),
        **({} if receipt.proven is None else {"proven": [str(amount) for amount in receipt.proven]}),
    }


def read_label(record: dict[str, Any]) -> Label:
    """Return the label that was written as JSON.

    Version 1 wrote "cost" for the receipt, and "moves" for the sensitivity.
    """
    texts = ("table", "sealed_at", "engine", "library", "product")
    person, groups = record["person"], record["groups"]
    return Label(
        **{name: of_type(str, record[name]) for name in texts},
        version=integer(record["version"]),
        person=None if person is None else of_type(str, person),
        rows_per_person=integer(record["rows_per_person"]),
        groups=None if groups is None else integer(groups),
        columns={
            name: from_json(of_type(dict, column)) for name, column in of_type(dict, record["columns"]).items()
        },
        noise=tuple(map(_read_noise, list_in(record["noise"]))),
        notes=tuple(of_type(str, note) for note in list_in(record["notes"])),
        receipt=read_receipt(of_type(dict, record["cost"] if "cost" in record else record["receipt"])),
        model="local" if record.get("model") == "local" else "central",
        arithmetic=of_type(str, record.get("arithmetic", "")),
    )


def _written_noise(noise: Noise) -> dict[str, Any]:
    numbers = {"spread": _written_number(noise.spread), "sensitivity": _written_number(noise.sensitivity)}
    return {"on": noise.on, "law": noise.law, "loss": noise.loss, **numbers}


def _read_noise(record: dict[str, Any]) -> Noise:
    texts = {name: of_type(str, record[name]) for name in ("on", "law", "loss")}
    sensitivity = record["moves"] if "moves" in record else record["sensitivity"]
    return Noise(**texts, spread=_number(record["spread"]), sensitivity=_number(sensitivity))


def read_receipt(record: dict[str, Any]) -> Receipt:
    """Return the receipt that was written as JSON."""
    lifetime = None if record.get("lifetime") is None else Budget(*map(fraction, list_in(record["lifetime"])))
    return Receipt(
        cost=read_cost(_amounts(record["cost"])),
        losses=tuple(of_type(str, loss) for loss in list_in(record["losses"])),
        balances=tuple(map(_read_account, list_in(record["balances"]))),
        lifetime=lifetime,
        proven=_read_promise(record.get("proven")),
    )


def _read_promise(record: Any) -> Promise | None:
    """Return the proven guarantee. Records without it are older, or need none."""
    if record is None:
        return None
    epsilon, delta = (fraction(amount) for amount in list_in(record))
    if epsilon < 0 or not 0 <= delta <= 1:  # δ = 1 promises nothing, which may be said
        raise ValueError("a guarantee below zero")
    return Promise(epsilon, delta)


def _read_account(record: dict[str, Any]) -> Balance:
    account = Account(record["analyst"], record["purpose"])
    budget = None if record["budget"] is None else _amounts(record["budget"])
    charges = integer(record["charges"])
    return read_balance(account, {"budget": budget, "spent": _amounts(record["spent"]), "charges": charges})


# -- parts ------------------------------------------------------------------------------------------------------


def _amounts(record: Any) -> dict[str, Any]:
    amounts = {name: None if text is None else str(fraction(text)) for name, text in of_type(dict, record).items()}
    return {name: amounts.get(name) for name in ("epsilon", "rho", "delta")}


def fraction(text: Any) -> Fraction:
    """Return the fraction that a text states, such as "1/10"."""
    if not _FRACTION.fullmatch(of_type(str, text)):
        raise ValueError(f"{_quoted(text)} is not a fraction")
    return Fraction(text)


def integer(value: Any) -> int:
    """Return the value, if it is a whole number."""
    if isinstance(value, bool):
        raise ValueError(f"{value!r} is not a whole number")
    whole: int = of_type(int, value)
    return whole


def list_in(value: Any) -> list[Any]:
    """Return the value, if it is a list."""
    items: list[Any] = of_type(list, value)
    return items


def of_type(kinds: type | tuple[type, ...], value: Any) -> Any:
    """Return the value, if it has one of these types. A truth value is not a number."""
    if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
        raise ValueError(f"{_quoted(value)} is not {_type_name(kinds)}")
    return value


def _type_name(kinds: type | tuple[type, ...]) -> str:
    listed = kinds if isinstance(kinds, tuple) else (kinds,)
    return " or ".join(kind.__name__ for kind in listed)


def _quoted(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
