"""Check the parameters of a column's declaration, and show an example if they do not fit."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import wraps
from typing import Any, TypeVar

Kind = TypeVar("Kind")


def like(example: str) -> Callable[[type[Kind]], type[Kind]]:
    """Decorate a kind of column: a declaration with wrong parameters is refused with an example."""

    def shown(kind: type[Kind]) -> type[Kind]:
        made: Callable[..., None] = kind.__init__

        @wraps(made)
        def declared(self: Kind, *given: Any, **named: Any) -> None:
            if wrong := misfit(kind, given, named):
                raise TypeError(f"{kind.__name__}: {wrong}. Declare it like {example}.")
            made(self, *given, **named)

        kind.__init__ = declared  # type: ignore[method-assign, assignment]
        return kind

    return shown


def shown(column: Any) -> str:
    """Return the declaration of a column, without the parameters after `missing` that are not given."""
    names = [field.name for field in fields(column)]
    usual = names.index("missing") + 1
    kept = [name for i, name in enumerate(names) if i < usual or getattr(column, name) is not None]
    return f"{type(column).__name__}({', '.join(f'{name}={getattr(column, name)!r}' for name in kept)})"


def given(column: Any, *names: str) -> dict[str, Any]:
    """Return those parameters of a column that are given."""
    return {name: getattr(column, name) for name in names if getattr(column, name) is not None}


def misfit(kind: type, given: Sequence[Any], named: Mapping[str, Any]) -> str:
    """Return which parameters of a kind are missing, unknown or too many; an empty text if they fit.

    >>> from discreet.schema import Real
    >>> misfit(Real, [0, 1], {})
    'step is missing'
    """
    parameters = inspect.signature(kind).parameters.values()
    unknown = sorted(named.keys() - {parameter.name for parameter in parameters})
    if unknown:
        return f"{', '.join(map(repr, unknown))} is not a parameter"
    by_place = [p.name for p in parameters if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    if len(given) > len(by_place):
        # The cost of learned bounds is written by sealing, not by a curator.
        others = ", ".join(f"{p.name}=…" for p in parameters if p.name not in (*by_place, "bounds_cost"))
        return f"{given[len(by_place)]!r} is one value too many{f' (name it: {others})' if others else ''}"
    if twice := sorted(set(by_place[: len(given)]) & named.keys()):
        return f"{', '.join(twice)} is given twice"
    filled = {*by_place[: len(given)], *named}
    absent = [p.name for p in parameters if p.default is inspect.Parameter.empty and p.name not in filled]
    if absent:
        return f"{', '.join(absent)} is missing"
    return ""
