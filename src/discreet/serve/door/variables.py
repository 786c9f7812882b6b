"""Hold the settings of a connection: what a question may cost, and what drivers set and show.

    SET discreet.epsilon = '0.1'         or spend = '1%', or within = '200': a new one replaces the others
    SET discreet.purpose = 'research'    confidence and keys_delta likewise
    SHOW discreet.notices                what the last answer cost, for clients that see no notices
    SET discreet.intervals = off         leave out the columns x_low and x_high
    RESET discreet.epsilon               back to what the connection began with

A connection may begin with them: options='-c discreet.epsilon=0.1'. Settings of PostgreSQL that drivers send, such
as `extra_float_digits`, are taken and have no effect.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from discreet.serve.door.refusals import SETTINGS, UNKNOWN_SETTING, WRONG_VALUE, Refusal
from discreet.serve.door.results import Column, Result

VERSION = "14.0"
PREFIX = "discreet."
_PRICES = ("epsilon", "spend", "within")
_OWN = (*SETTINGS, "intervals")
_NOTICES = "discreet.notices"
_LONGEST = 200
_MOST = 200
_FIXED = {
    "server_version": VERSION,
    "server_version_num": "140000",
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "is_superuser": "off",
    "integer_datetimes": "on",
    "standard_conforming_strings": "on",
    "in_hot_standby": "off",
    "default_transaction_read_only": "off",
}
SHOWN = {
    "DateStyle": "ISO, MDY",
    "TimeZone": "UTC",
    "IntervalStyle": "postgres",
    "application_name": "",
    "search_path": "public",
    "transaction_isolation": "read committed",
    "default_transaction_isolation": "read committed",
    "transaction_read_only": "off",
    "max_identifier_length": "63",
    "lc_collate": "C",
    "lc_monetary": "C",
    "statement_timeout": "0",
    "extra_float_digits": "1",
    "bytea_output": "hex",
}
"""Settings of PostgreSQL that clients may change without effect, and what they show at first."""

REPORTED = (
    *("server_version", "server_encoding", "client_encoding", "is_superuser", "integer_datetimes", "DateStyle"),
    *("standard_conforming_strings", "TimeZone", "IntervalStyle", "application_name", "in_hot_standby"),
    "default_transaction_read_only",
)
"""The settings that a client is told when it signs in."""


class Variables:
    """The settings of one connection.

    Args:
        start: What the client said when it connected: `options`, `application_name` …
        spend: The share of the budget that a question may cost if nothing is set; empty for none.
    """

    def __init__(self, start: Mapping[str, str], spend: str = "") -> None:
        """Take what the connection begins with."""
        self._values: dict[str, str] = {}
        self._first: dict[str, str] = {}
        self.notices = ""
        if spend:
            self.set("discreet.spend", spend)
        given = {**options(start.get("options", "")), **{k: v for k, v in start.items() if k not in _STARTING}}
        for name, value in given.items():
            self.set(name, value)
        self._first = dict(self._values)

    def set(self, name: str, value: str) -> None:
        """Give a setting a value."""
        name = name.lower()
        if name.startswith(PREFIX):
            own = name.removeprefix(PREFIX)
            if own not in _OWN:
                raise Refusal(
                    f"There is no setting {name[:_LONGEST]}.",
                    UNKNOWN_SETTING,
                    f"There are {', '.join(PREFIX + one for one in _OWN)}.",
                )
            if own == "intervals" and value.lower() not in _TRUTH:
                raise Refusal("discreet.intervals is on or off.", WRONG_VALUE)
            if own in _PRICES:
                for other in _PRICES:
                    self._values.pop(PREFIX + other, None)
        if len(value) > _LONGEST or len(self._values) >= _MOST:
            raise Refusal("This value is too long, or there are too many settings.", WRONG_VALUE)
        if name == "client_encoding" and value.replace("-", "").strip("'").lower() not in ("utf8", "unicode"):
            raise Refusal("The door speaks UTF-8.", WRONG_VALUE, "SET client_encoding = 'UTF8'.")
        self._values[name] = value

    def reset(self, name: str) -> None:
        """Give a setting the value that the connection began with."""
        if name.lower() == "all":
            self._values = dict(self._first)
            return
        self._values.pop(name.lower(), None)
        if name.lower().removeprefix(PREFIX) in _PRICES:
            for other in _PRICES:
                self._values.pop(PREFIX + other, None)
        self._values.update({key: value for key, value in self._first.items() if key == name.lower()})

    def get(self, name: str) -> str:
        """Return the value of a setting; empty if it is not set."""
        folded = name.lower()
        if folded == _NOTICES:
            return self.notices
        defaults = {key.lower(): value for key, value in {**SHOWN, **_FIXED}.items()}
        fixed = {key.lower() for key in _FIXED}
        return defaults[folded] if folded in fixed else self._values.get(folded, defaults.get(folded, ""))

    def having(self, given: Mapping[str, str]) -> Variables:
        """Return these settings with others in their place, for one statement."""
        made = Variables({})
        made._values, made.notices = dict(self._values), self.notices
        for name, value in given.items():
            made.set(name, value)
        return made

    @property
    def own(self) -> dict[str, str]:
        """The settings about questions, by their full names."""
        return {name: value for name, value in self._values.items() if name.startswith(PREFIX)}

    def all(self) -> dict[str, str]:
        """Return all settings that can be shown."""
        own = {PREFIX + name: "" for name in _OWN}
        return {name: self.get(name) for name in sorted({*SHOWN, *_FIXED, *own, *self._values}, key=str.lower)}

    @property
    def price(self) -> dict[str, Any]:
        """What a question may cost, as arguments of `ask`; empty if nothing is set."""
        found: dict[str, Any] = {}
        for name in ("epsilon", "spend", "within", "confidence", "keys_delta"):
            value = re.sub(r"\s*percent$", "%", self._values.get(PREFIX + name, ""))
            if value:
                found[name] = _number(value) if name == "within" else value
        return found if any(name in found for name in _PRICES) else {}

    @property
    def purpose(self) -> str | None:
        """The purpose that is charged as well."""
        return self._values.get(PREFIX + "purpose") or None

    @property
    def intervals(self) -> bool:
        """Whether results have the columns x_low and x_high."""
        return _TRUTH[self._values.get(PREFIX + "intervals", "on").lower()]


_TRUTH = {"on": True, "true": True, "1": True, "yes": True, "off": False, "false": False, "0": False, "no": False}
_STARTING = {"user", "database", "options", "replication"}


def options(text: str) -> dict[str, str]:
    """Return the settings of the start-up option `-c name=value`, which libpq and JDBC send.

    >>> options("-c discreet.epsilon=0.1 --discreet.purpose=research -csearch_path=public")
    {'discreet.epsilon': '0.1', 'discreet.purpose': 'research', 'search_path': 'public'}
    """
    try:
        words = shlex.split(text, posix=True)
    except ValueError:
        raise Refusal("The options of the connection are not understood.", WRONG_VALUE, fatal=True) from None
    joined = re.sub(r"(^|\0)-c\0?", "\0--", "\0".join(words)).split("\0")
    pairs = [word.removeprefix("--").partition("=") for word in joined if word]
    return {name.replace("-", "_"): value for name, sign, value in pairs if sign}


def command(variables: Variables, words: Sequence[str]) -> Result:
    """Carry out SET, RESET or SHOW."""
    verb, rest = words[0].lower(), list(words[1:])
    if verb == "show":
        return _show(variables, rest)
    if verb == "reset":
        variables.reset("".join(rest))
        return Result(tag="RESET")
    if rest and rest[0].lower() in ("session", "local") and len(rest) > 2 and rest[1] not in ("=",):
        rest = rest[1:]
    lowered = [word.lower() for word in rest]
    if lowered[:1] in (["characteristics"], ["transaction"], ["constraints"], ["role"], ["authorization"]):
        return Result(tag="SET")
    if lowered[:2] == ["time", "zone"]:
        rest = ["timezone", "=", *rest[2:]]
        lowered = [word.lower() for word in rest]
    at = next((i for i, word in enumerate(lowered) if word in ("=", "to")), None)
    if at is None or at + 1 >= len(rest):
        raise Refusal("SET needs a name and a value.", "42601", "SET discreet.epsilon = '0.1'.")
    name, value = "".join(rest[:at]), "".join(rest[at + 1 :])
    if value.lower() == "default":
        variables.reset(name)
    else:
        variables.set(name, value)
    watched = {one.lower(): one for one in REPORTED}
    status = (watched[name.lower()], variables.get(name)) if name.lower() in watched else None
    return Result(tag="SET", status=status)


def _show(variables: Variables, rest: Sequence[str]) -> Result:
    name = "".join(rest).lower() if "." in rest else "_".join(rest).lower()
    if name == "all":
        columns = [Column("name"), Column("setting"), Column("description")]
        return Result(columns, [(key, value, "") for key, value in variables.all().items()], "SHOW")
    name = {"transaction_isolation_level": "transaction_isolation", "time_zone": "timezone"}.get(name, name)
    return Result([Column(name)], [(variables.get(name),)], "SHOW")


def _number(value: str) -> float | str:
    """Return a margin: a number of units, or a share such as 5%."""
    try:
        return float(value)
    except ValueError:
        return value
