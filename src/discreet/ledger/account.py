"""Who spends: the whole vault, an analyst, or a purpose."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import dataclass

from discreet.errors import ParameterError

_LONGEST = 200  # characters of a name


@dataclass(frozen=True)
class Account:
    """The whole vault, or one analyst, or one purpose. Names are compared in Unicode's composed form (NFC).

    >>> print(Account(), Account(analyst="ana"), Account(purpose="yearly report"), sep=", ")
    the whole vault, analyst "ana", purpose "yearly report"
    """

    analyst: str | None = None
    purpose: str | None = None

    def __post_init__(self) -> None:
        if self.analyst is not None and self.purpose is not None:
            raise ParameterError("An account belongs to an analyst or to a purpose, not to both: make two.")
        object.__setattr__(self, "analyst", _name(self.analyst, "analyst"))
        object.__setattr__(self, "purpose", _name(self.purpose, "purpose"))

    @property
    def role(self) -> str:
        """What kind of account it is: "vault", "analyst" or "purpose"."""
        return "analyst" if self.analyst is not None else "vault" if self.purpose is None else "purpose"

    @property
    def arguments(self) -> str:
        """The account as one writes it in a call."""
        name = self.analyst if self.purpose is None else self.purpose
        return "" if name is None else f"{self.role}={json.dumps(name, ensure_ascii=False)}"

    def __str__(self) -> str:
        return "the whole vault" if self.role == "vault" else f'{self.role} "{self.analyst or self.purpose}"'


def _name(value: str | None, role: str) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise ParameterError(f'{role} is a name, such as {role}="ana", not {value!r}.')
    name = unicodedata.normalize("NFC", value)
    if not name or name != name.strip() or not name.isprintable() or len(name) > _LONGEST:
        raise ParameterError(
            f"{role}={value[:50]!r} is no name: write one of 1 to {_LONGEST} printable characters, "
            "without blanks at its ends."
        )
    return name
