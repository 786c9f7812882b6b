"""Define columns of labels: a declared list, true or false, and strings that are not declared.

A category's code is the index of its value. Values are compared character by character: a trailing space or
another capital letter makes another value, and a value that is not in the list is `other` or missing. Lists of
integers match numbers of every type (5, 5.0, "5"). A string has no codes: its values are private and stay in the
sealed rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines import nodes, sql_writer
from discreet.errors import Code, Fix, ParameterError
from discreet.schema import casts, validation
from discreet.schema.casts import Family, Step

if TYPE_CHECKING:
    from discreet.engines.nodes import Expression

Label = int | str


@validation.like('dp.Category(["red", "blue"])')
@dataclass(frozen=True)
class Category:
    """One of a list of values, strings or integers.

    Args:
        values: The list.
        other: The value for everything that is not in the list, at its end; such values are missing by default.
        missing: The value that stands for a missing one; NULL by default.

    >>> colour = Category(["red", "blue"], other="another")
    >>> colour.levels, colour.code("blue"), colour.values([0, 2])
    (3, 1, ['red', 'another'])
    """

    labels: tuple[Label, ...]
    other: Label | None = None
    missing: Label | None = None

    def __init__(self, values: Iterable[Label], *, other: Label | None = None, missing: Label | None = None):
        if isinstance(values, str):
            raise ParameterError(
                "A category needs a list of values.", found=repr(values), fix=Fix("values", [values])
            )
        labels = tuple(_label(value) for value in values)
        ending = None if other is None else _label(other)
        if ending is not None and ending not in labels:
            labels = (*labels, ending)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "other", ending)
        object.__setattr__(self, "missing", None if missing is None else _label(missing))
        self._check()

    def _check(self) -> None:
        if not self.labels:
            raise ParameterError(
                "A category needs at least one value.",
                fix=[
                    Fix("values", ["red", "blue"]),
                    "For strings that are not declared there is the text column.",
                ],
            )
        if len({type(label) for label in self.labels}) > 1:
            raise ParameterError(
                "A category holds strings or integers, not both.", fix="Write the integers as strings."
            )
        twice = [label for label in self._codes if self.labels.count(label) > 1] if self._repeats else []
        if twice:
            raise ParameterError(
                "A value of the category is listed twice.", found=repr(twice[0]), fix="Remove one of them."
            )
        if self.missing is not None and self.missing not in self._codes:
            raise ParameterError(
                "The value for missing ones is not in the list.",
                found=repr(self.missing),
                fix=[Fix("missing", self.labels[0]), "Or add it to the list."],
            )

    @property
    def _repeats(self) -> bool:
        return len(self._codes) < len(self.labels)

    @cached_property
    def _codes(self) -> dict[Label, int]:
        return {label: code for code, label in enumerate(self.labels)}

    @property
    def kind(self) -> str:
        """The kind of the column in a question."""
        return "category"

    @property
    def levels(self) -> int:
        """The number of codes, with that of `other`."""
        return len(self.labels)

    @property
    def scale(self) -> Fraction:
        """One: a code stands for itself."""
        return Fraction(1)

    @property
    def offset(self) -> Fraction:
        """Zero: a code stands for itself."""
        return Fraction(0)

    @property
    def filling(self) -> int | None:
        """The code of a missing value, if one was declared for it."""
        return None if self.missing is None else self._codes[self.missing]

    def code(self, literal: Any) -> int | None:
        """Return the code of a value, None if it is not in the list."""
        known = isinstance(literal, int | str | np.integer) and not isinstance(literal, bool)
        return self._codes.get(literal) if known else None

    def values(self, codes: NDArray[np.int64] | list[int]) -> list[Label]:
        """Return the values that codes stand for."""
        return [self.labels[int(code)] for code in codes]

    def steps(self, family: Family) -> tuple[Step, ...]:
        """Return the steps from a value of a source to its code."""
        if isinstance(self.labels[0], int) and family != "integer":
            as_number = partial(casts.as_double, family=family)
            return (as_number, partial(casts.as_text, family="float"), self._place)
        return (partial(casts.as_text, family=family), self._place)

    def encode(self, source: Expression, family: Family = "other") -> Expression:
        """Return the code of a source's value, as an expression."""
        return casts.taken(self.steps(family), source)

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return {"type": "category", "values": list(self.labels), "other": self.other, "missing": self.missing}

    def _place(self, value: Expression) -> Expression:
        code = sql_writer.function("DICTIONARY", value, *(sql_writer.text(str(label)) for label in self.labels))
        if self.other is not None:
            absent = nodes.IsNull(value)
            unseen = nodes.Coalesce((code, casts.literal(self._codes[self.other])))
            code = casts.choose([(absent, nodes.Null())], unseen)
        return casts.filled(code, self.filling)


def _label(value: Any) -> Label:
    if isinstance(value, str):
        if "\0" in value or _unwritable(value):
            raise ParameterError(
                "A value of the category cannot be written in UTF-8.", found=repr(value), fix="Take another value."
            )
        return value
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ParameterError(
            "A category holds strings or integers.",
            found=repr(value),
            fix="For yes and no declare a boolean column.",
        )
    if abs(int(value)) >= casts.EXACT:
        raise ParameterError(
            "An integer of the category is too large: 2^53 is the limit.", found=value, fix="Write it as a string."
        )
    return int(value)


def _unwritable(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return True
    return False


@validation.like("dp.Boolean()")
@dataclass(frozen=True)
class Boolean:
    """True or false. Strings such as "yes" and "false" are read, and the numbers 0 and 1.

    >>> Boolean().levels, Boolean().code(True), Boolean().values([0, 1])
    (2, 1, [False, True])
    """

    missing: bool | None = None

    def __post_init__(self) -> None:
        if self.missing not in (None, True, False):
            raise ParameterError(
                "The value for missing ones must be true or false.",
                found=repr(self.missing),
                fix=Fix("missing", Code("False")),
            )

    @property
    def kind(self) -> str:
        """The kind of the column in a question."""
        return "boolean"

    @property
    def levels(self) -> int:
        """Two: false and true."""
        return 2

    @property
    def scale(self) -> Fraction:
        """One: a code stands for itself."""
        return Fraction(1)

    @property
    def offset(self) -> Fraction:
        """Zero: a code stands for itself."""
        return Fraction(0)

    @property
    def filling(self) -> int | None:
        """The code of a missing value, if one was declared for it."""
        return None if self.missing is None else int(self.missing)

    def code(self, literal: Any) -> int | None:
        """Return 1 for true and 0 for false, None for anything else."""
        return int(literal) if isinstance(literal, bool | np.bool_) else None

    def values(self, codes: NDArray[np.int64] | list[int]) -> list[bool]:
        """Return the truth values that codes stand for."""
        return [bool(code) for code in codes]

    def steps(self, family: Family) -> tuple[Step, ...]:
        """Return the steps from a value of a source to its code."""
        if family == "boolean":
            return (self._as_code,)
        if family in ("integer", "float", "decimal"):
            return (partial(casts.as_double, family=family), self._from_number)
        return (partial(casts.as_text, family=family), self._from_text)

    def encode(self, source: Expression, family: Family = "other") -> Expression:
        """Return the code of a source's value, as an expression."""
        return casts.taken(self.steps(family), source)

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return {"type": "boolean", "missing": self.missing}

    def _as_code(self, value: Expression) -> Expression:
        return casts.filled(self._truth(value), self.filling)

    def _truth(self, value: Expression) -> Expression:
        untrue = nodes.Not(value)
        return casts.choose([(value, casts.literal(1)), (untrue, casts.literal(0))], nodes.Null())

    def _number(self, value: Expression) -> Expression:
        return casts.choose(
            [(nodes.Compare("=", value, casts.literal(float(n))), casts.literal(n)) for n in (0, 1)],
            nodes.Null(),
        )

    def _from_number(self, value: Expression) -> Expression:
        return casts.filled(self._number(value), self.filling)

    def _from_text(self, value: Expression) -> Expression:
        said = self._truth(sql_writer.cast(value, "BOOLEAN", gently=True, of="text"))
        number = self._number(sql_writer.cast(value, "DOUBLE", gently=True, of="text"))
        code = nodes.Coalesce((said, number))
        return casts.filled(code, self.filling)


@validation.like("dp.Text()")
@dataclass(frozen=True)
class Text:
    """Any string. Its values are not declared: to group by it, partition selection spends budget to find them.

    >>> Text().levels is None, Text().code("x") is None
    (True, True)
    """

    @property
    def kind(self) -> str:
        """The kind of the column in a question."""
        return "text"

    @property
    def levels(self) -> None:
        """None: the domain is open."""

    @property
    def scale(self) -> Fraction:
        """One, as for every label."""
        return Fraction(1)

    @property
    def offset(self) -> Fraction:
        """Zero, as for every label."""
        return Fraction(0)

    @property
    def filling(self) -> None:
        """None: a missing string stays missing."""

    def code(self, literal: Any) -> None:
        """Return None: a string has no code."""

    def values(self, codes: NDArray[np.int64] | list[int]) -> list[Any]:
        """Refuse: a string has no codes."""
        raise ParameterError("A string column has no codes: its keys come back as they are.")

    def steps(self, family: Family) -> tuple[Step, ...]:
        """Return the steps from a value of a source to its string."""
        return (partial(casts.as_text, family=family),)

    def encode(self, source: Expression, family: Family = "other") -> Expression:
        """Return a source's value as a string, as an expression."""
        return casts.taken(self.steps(family), source)

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` reads."""
        return {"type": "text"}
