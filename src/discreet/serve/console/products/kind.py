"""Describe a kind of product to its pages, read the forms that make one, and offer what can be afforded.

A form is flat: texts by name. A column that is ticked is `use-0`, `use-1` … with its name as value, so that a form
can be sent again, as it was, with another price.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from discreet.errors import ParameterError
from discreet.serve.accounts.secrets import new_id
from discreet.serve.api.bodies import Priced
from discreet.serve.problems import Problem

Form = Mapping[str, str]
Described = Mapping[str, Any]
Terms = TypeVar("Terms", bound=Priced)
_OFFERED = {"spend": "Spend {} of the budget", "epsilon": "Take ε = {}", "within": "Accept answers within {} rows"}


@dataclass(frozen=True)
class Kind:
    """A kind of product.

    Args:
        name: Its name in addresses and in the store.
        words: What people call it, with its article.
        heading: The heading of the page that makes it.
        verb: The verb of the workers that makes it.
        shown_by: The verb that tells about it.
        terms: Reads the parameters from a form; refuses what has no meaning.
        drawn: Turns what `shown_by` returned into values of the template.
        defaults: What the form says at first.
        plan: Reads the parameters of a plan before the charge, if there is one.
        files: The media types of its files, by name.
    """

    name: str
    words: str
    heading: str
    verb: str
    shown_by: str
    terms: Callable[[Form, Described], Priced]
    drawn: Callable[[dict[str, Any], Described], dict[str, Any]]
    defaults: Mapping[str, str] = field(default_factory=dict)
    plan: Callable[[Form, Described], Priced] | None = None
    files: Mapping[str, str] = field(default_factory=dict)


def columns_of(form: Form, described: Described) -> list[str]:
    """Return the columns that are ticked, in the order of the vault.

    >>> columns_of({"use-0": "age", "use-7": "no such"}, {"columns": [{"name": "age"}, {"name": "city"}]})
    ['age']
    """
    ticked = {value for name, value in form.items() if name.startswith("use-")}
    return [column["name"] for column in described["columns"] if column["name"] in ticked]


def read(kind: type[Terms], form: Form, **given: Any) -> Terms:
    """Return the parameters of a product: those that were given, and what it may cost."""
    by = form.get("by", "spend")
    amount = form.get(by, "").strip() if by in ("spend", "epsilon") else ""
    if not amount:
        raise ParameterError("Say what it may cost.", fix="Fill in a share of the budget.")
    price = f"{amount}%" if by == "spend" and not amount.endswith("%") else amount
    purpose = {"purpose": form["purpose"]} if form.get("purpose") else {}
    whole = {name: value for name, value in given.items() if value not in ("", None, [])}
    try:
        return msgspec.convert({**whole, by: price, **purpose}, kind)
    except msgspec.ValidationError as error:
        where = str(error).rpartition("$.")[2].strip("`[.] ") or by
        found = form.get(where, price)
        raise ParameterError(
            f"The field “{where}” cannot be read.", found=found[:64], fix="Write 10 or 0.5."
        ) from None


def number(form: Form, name: str) -> int | None:
    """Return a whole number of the form; None if the field is empty."""
    text = form.get(name, "").strip().replace(",", "")
    if not text:
        return None
    if not text.isdecimal() or len(text) > 9:
        raise ParameterError(f"The field “{name}” takes a whole number.", found=text[:40])
    return int(text)


@dataclass(frozen=True)
class Offer:
    """Something that can be afforded, one click away: the form again, with another amount."""

    words: str
    form: dict[str, str]


def offers(form: Form, problem: Problem | None) -> list[Offer]:
    """Return what could be made instead.

    >>> fixes = [{"parameter": "spend", "value": "6%", "call": None, "note": ""}]
    >>> refused = Problem("Forbidden", 403, "It needs 15 %.", "BudgetExceeded", fixes=fixes)
    >>> [(offer.words, offer.form["spend"]) for offer in offers({"spend": "15", "use-0": "age"}, refused)]
    [('Spend 6% of the budget', '6%')]
    """
    found = []
    for fix in [] if problem is None else problem.fixes:
        name, value = fix.get("parameter"), str(fix.get("value"))
        if name not in _OFFERED or fix.get("call"):
            continue
        changed = {**form, name: value, "key": new_id()}
        if name != "within":
            changed["by"] = name
        note = f" ({fix['note']})" if fix.get("note") else ""
        found.append(Offer(_OFFERED[name].format(value) + note, changed))
    return found
