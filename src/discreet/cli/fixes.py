"""Render errors for the command line: a fix becomes an option or a command.

    Fix("within", 200)                                                 --within 200
    Fix("bins", {"age": 64})                                           --bins age=64
    Fix("budget", Code("Budget(epsilon=3)"), call="ledger.amend")      discreet budget VAULT --amend --epsilon 3

A parameter that is not in the tables below becomes the option of the same name. A call that no command makes, or
an option that the failed command does not have, stays Python code.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Callable, Collection, Mapping
from typing import Any

from discreet.errors import Code, DiscreetError, Fix, render

_COMMANDS = {
    "Source": "",
    "collection.with_labels": "",
    "oracle.ask": "",
    "server.frequencies": "",
    "propose": "discreet propose SOURCE",
    "Vault.seal": "discreet seal SOURCE",
    "Vault.check": "discreet seal SOURCE --check",
    "vault.reseal": "discreet seal SOURCE --to VAULT --reseal",
    "vault.ask": "discreet ask VAULT QUESTION",
    "vault.preview": "discreet preview VAULT QUESTION",
    "vault.oracle": "discreet oracle VAULT",
    "vault.synthesize": "discreet synthesize VAULT",
    "vault.fit": "discreet fit VAULT",
    "table.compare": "discreet synthesize VAULT",
    "ledger.allot": "discreet budget VAULT --allot",
    "ledger.amend": "discreet budget VAULT --amend",
    "ledger.entries": "discreet ledger VAULT entries",
    "ledger.unfinished": "discreet ledger VAULT entries",
    "ledger.verify": "discreet ledger VAULT verify",
    "Collection.design": "discreet local design NAME",
    "Aggregator": "discreet local aggregate COLLECTION FILE --state FILE",
}
_RENAMED = {
    ("table.compare", "epsilon"): "compare",
    ("table.compare", "spend"): "compare",
    ("", "letters"): "alphabet",
    ("", "fraction"): "malicious",
    ("", "longitudinal"): "policy",
    ("", "shape"): "population",
}


def rendered(error: DiscreetError, vault: str = "VAULT", known: Collection[str] | None = None) -> str:
    """Return the text of an error, with its fixes as options and commands.

    Args:
        error: The error.
        vault: The vault of the failed command, as it may be shown.
        known: The options of the failed command; by default they are not checked.

    >>> from discreet.errors import ParameterError
    >>> print(rendered(ParameterError("The budget has no delta.", fix=Fix("delta", "1e-9"))))
    The budget has no delta. Try: --delta 1e-9.
    """
    return render(error, [option(fix, vault, known) if isinstance(fix, Fix) else fix for fix in error.fixes])


def option(fix: Fix, vault: str = "VAULT", known: Collection[str] | None = None) -> str:
    """Return a fix as an option of the failed command, or as another command.

    >>> option(Fix("within", 200, note="± 84"))
    '--within 200 (± 84)'
    >>> option(Fix("budget", Code('Budget(epsilon=3, delta="1e-9")'), call="ledger.amend"), "people.vault")
    'discreet budget people.vault --amend --epsilon 3 --delta 1e-9'
    >>> option(Fix("rows", None)), option(Fix("strict", True)), option(Fix("person", "user id"))
    ('leave out --rows', '--strict', "--person 'user id'")
    """
    call = fix.call.removeprefix("dp.")
    call = call.removeprefix("vault.") if call.startswith("vault.ledger.") else call
    if call and call not in _COMMANDS:
        return fix.python
    name = _RENAMED.get((call, fix.parameter), _RENAMED.get(("", fix.parameter), fix.parameter))
    if name == "path" and known is not None and "--path" not in known:
        name = "state"  # so the commands of streams call the file that keeps a state
    value = _value(fix.value)
    command = _COMMANDS.get(call, "").replace("VAULT", shlex.quote(vault))
    if name == "question" and "QUESTION" in command:
        text = command.replace("QUESTION", _quoted(value))
    else:
        text = " ".join(filter(None, (command, _SPECIAL.get(name, _plain)(name, value))))
    if known is not None and not command and not {*re.findall(r"--[a-z-]+", text)} <= {*known}:
        return fix.python
    return f"{text} ({fix.note})" if fix.note else text


def _value(value: Any) -> Any:
    """Return the value of a fix; that of a piece of code, if it is a literal."""
    if not isinstance(value, Code):
        return value
    try:
        return ast.literal_eval(value.text)
    except (ValueError, SyntaxError):
        return value


def _plain(name: str, value: Any) -> str:
    """Return a parameter as the option of the same name."""
    typed = f"--{name.replace('_', '-')}"
    if value is None:
        return f"leave out {typed}"
    if isinstance(value, bool):
        return typed if value else f"--no-{typed[2:]}"
    if isinstance(value, Mapping):
        return " ".join(f"{typed} {_quoted(f'{key}={_joined(each)}')}" for key, each in value.items())
    if isinstance(value, list | tuple) and any(isinstance(each, list | tuple) for each in value):
        return " ".join(f"{typed} {_quoted(_joined(each))}" for each in value)
    return f"{typed} {_quoted(_joined(value))}"


def _joined(value: Any) -> Any:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else value


def _quoted(value: Any) -> str:
    """Return a value as the shell reads it. A name or "…" that the user has to replace is not quoted."""
    text = str(value)
    if isinstance(value, Code) and text.isidentifier():
        return text.upper()
    return text if text in ("", "…") else shlex.quote(text)


def _budget(name: str, value: Any) -> str:
    """Return a budget as --epsilon and --delta, from the object or from the code that makes it."""
    if not isinstance(value, Code):
        delta = f" --delta {value.delta}" if getattr(value, "delta", 0) else ""
        return f"--epsilon {value.epsilon}{delta}" if hasattr(value, "epsilon") else f"--epsilon {_quoted(value)}"
    given = {"epsilon": "…"} | _arguments(value.text, ("epsilon", "delta"))
    return " ".join(f"--{part} {_quoted(given[part])}" for part in ("epsilon", "delta") if part in given)


def _alphabet(name: str, value: Any) -> str:
    given = _arguments(value.text, ("letters", "length")) if isinstance(value, Code) else {"letters": value}
    length = f" --length {given['length']}" if "length" in given else ""
    return f"--alphabet {_quoted(given.get('letters', '…'))}{length}"


def _arguments(code: str, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the arguments of a call by name; nothing if the code is not such a call.

    >>> _arguments('Budget(2, delta="1e-9")', ("epsilon", "delta"))
    {'epsilon': 2, 'delta': '1e-9'}
    """
    try:
        call = ast.parse(code, mode="eval").body
        if not isinstance(call, ast.Call):
            return {}
        given = dict(zip(names, map(ast.literal_eval, call.args), strict=False))
        return given | {each.arg: ast.literal_eval(each.value) for each in call.keywords if each.arg}
    except (ValueError, SyntaxError):
        return {}


def _columns(name: str, value: Any) -> str:
    """Return columns as a list of names, or as the schema file that declares them."""
    return _plain(name, value) if isinstance(value, list | tuple) else "--schema FILE"


def _domain(name: str, value: Any) -> str:
    if value is None:
        return "leave out --values, --labels and --size"
    return f"--size {value}" if isinstance(value, int) else _plain("values", value)


def _person(name: str, value: Any) -> str:
    return "--each-row" if value is None else _plain(name, value)


def _window(name: str, value: Any) -> str:
    first, last = value if isinstance(value, list | tuple) and len(value) == 2 else ("DAY", "DAY")
    return f"--from {first} --to {last}"


_SPECIAL: dict[str, Callable[[str, Any], str]] = {
    "alphabet": _alphabet,
    "budget": _budget,
    "candidates": lambda name, value: "leave out --candidates" if value is None else "--candidates FILE",
    "columns": _columns,
    "domain": _domain,
    "labels": lambda name, value: "leave out --labels" if value is None else "--labels FILE",
    "lookups": lambda name, value: "--lookup COLUMN=SOURCE",
    "person": _person,
    "question": lambda name, value: _quoted(value),
    "rename": lambda name, value: "rename the column in the source",
    "source": lambda name, value: "",
    "tables": lambda name, value: "--also SOURCE",
    "window": _window,
}
