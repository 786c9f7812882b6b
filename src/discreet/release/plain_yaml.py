"""YAML out of maps, lists, texts and numbers: the part of the language that all of its readers agree on.

No tags, no anchors, no folded text. A text stands bare only if no reader takes it for anything else; a text of
several lines is a literal block where it can be, and everything else is in double quotes with what is not
printable escaped. Numbers with an exponent have a point and a sign, without which YAML 1.1 reads them as texts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from discreet.errors import ParameterError

_BARE = re.compile(r"[A-Za-z][A-Za-z0-9_]*( [A-Za-z0-9_]+)*")
_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"}
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}


def written(value: Mapping[str, Any]) -> str:
    """Return a map as a document.

    >>> print(written({"name": "Cities", "delta": 1e-9, "tags": ["no", "a: b"], "text": "one\\ntwo"}), end="")
    name: Cities
    delta: 1.0e-09
    tags:
      - "no"
      - "a: b"
    text: |-
      one
      two
    """
    return "".join(f"{line}\n" for line in _map(value, ""))


def _map(value: Mapping[str, Any], indent: str) -> list[str]:
    lines = []
    for name, content in value.items():
        lines += _entry(f"{indent}{_text(name)}:", content, indent)
    return lines


def _entry(head: str, content: Any, indent: str) -> list[str]:
    match content:
        case Mapping():
            return [head, *_map(content, indent + "  ")] if content else [f"{head} {{}}"]
        case str():
            return _block(head, content, indent) if _literal(content) else [f"{head} {_text(content)}"]
        case bool() | int() | float() | None:
            return [f"{head} {_number(content)}"]
        case Sequence():
            items = [line for item in content for line in _entry(f"{indent}  -", item, indent + "  ")]
            return [head, *items] if items else [f"{head} []"]
    raise ParameterError(f"{content!r} has no plain form in YAML.")


def _literal(text: str) -> bool:
    lines = text.split("\n")
    tidy = all(line.isprintable() and line == line.strip() for line in lines)
    return len(lines) > 1 and tidy and bool(lines[0]) and bool(lines[-1])


def _block(head: str, text: str, indent: str) -> list[str]:
    return [f"{head} |-", *(f"{indent}  {line}" if line else "" for line in text.split("\n"))]


def _text(text: str) -> str:
    if _BARE.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return '"' + "".join(_SHORT.get(c) or (c if c.isprintable() else _escape(c)) for c in text) + '"'


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"


def _number(value: float | None) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        raise ParameterError(f"{value!r} has no plain form in YAML.")
    digits, e, exponent = repr(value).partition("e")
    if not e:
        return digits
    return f"{digits if '.' in digits else digits + '.0'}e{exponent if exponent[0] in '+-' else '+' + exponent}"
