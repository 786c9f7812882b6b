"""Name an account: the whole vault, an analyst, or a purpose."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from discreet.errors import Fix, ParameterError
from discreet.rational import shown

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
            raise ParameterError(
                "An account belongs to an analyst or to a purpose, not to both.", fix="Make two accounts."
            )
        object.__setattr__(self, "analyst", _name(self.analyst, "analyst"))
        object.__setattr__(self, "purpose", _name(self.purpose, "purpose"))

    @property
    def role(self) -> str:
        """The kind of account: "vault", "analyst" or "purpose"."""
        return "analyst" if self.analyst is not None else "vault" if self.purpose is None else "purpose"

    @property
    def name(self) -> str | None:
        """The name of the analyst or of the purpose; None for the whole vault."""
        return self.analyst if self.purpose is None else self.purpose

    def __str__(self) -> str:
        return "the whole vault" if self.role == "vault" else f'{self.role} "{self.name}"'


def _name(value: str | None, role: str) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise ParameterError(f"The {role} must be a name.", found=shown(value), fix=Fix(role, "ana"))
    name = unicodedata.normalize("NFC", value)
    if not name or name != name.strip() or not name.isprintable() or len(name) > _LONGEST:
        raise ParameterError(
            f"The {role} must be a name of 1 to {_LONGEST} printable characters, without blanks at its ends.",
            found=repr(value[:50]),
            fix=Fix(role, "ana"),
        )
    return name
