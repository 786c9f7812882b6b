"""Parse the address of a PostgreSQL server: libpq's own format, and after a "#" the schema.

The displayed form of an address (`words`) never holds a password: it shows the parts that locate the server, by
name, and no others. An address in which a password could be taken for another part, because it holds a character
that should have been written as %40, is refused, and nothing of it is quoted. libpq itself would look for a host
called "rest-of-the-password@host", and show that name.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from urllib.parse import SplitResult, quote, unquote, urlsplit

from discreet.errors import ParameterError

_SCHEMES = ("postgresql://", "postgres://")
# Texts that only look like an address: of another driver, after a blank, or in libpq's key-value form.
_NEARLY = re.compile(
    r"postgres\w*(\+\w+)?:/|://[^/]*@|\bpass\w*\s*=|\b(host|hostaddr|port|dbname|user)\s*=\s*\S+\s+\w+\s*=",
    re.IGNORECASE,
)
_EXAMPLE = 'Write it as "postgresql://user:password@host/database#people".'
_SHOWN = (
    "user",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "service",
)  # these locate the server
_SECRET = re.compile(r"pass|secret|token|key")  # in the names of parameters whose values are never shown
_LONGEST = 63  # bytes of a name: PostgreSQL cuts off the rest, and two names would become one

# libpq waits for ever for a server that does not answer; and what Arrow takes for UTF-8 must be, whatever the
# server and the environment prefer.
_UNLESS_GIVEN = {"connect_timeout": "10", "fallback_application_name": "discreet"}
_ALWAYS = {"client_encoding": "UTF8"}


def is_address(text: object) -> bool:
    """Return whether this is the address of a PostgreSQL server, and not a path.

    >>> is_address("postgresql://db.example/health#people"), is_address("people.vault")
    (True, False)
    """
    return isinstance(text, str) and text.lower().startswith(_SCHEMES)


def is_nearly_address(text: object) -> bool:
    """Return whether this was meant to be the address of a database, and is not written as one.

    >>> is_nearly_address("jdbc:postgresql://db/health"), is_nearly_address("data/user=7/people.vault")
    (True, False)
    """
    return isinstance(text, str | os.PathLike) and not is_address(text) and bool(_NEARLY.search(os.fsdecode(text)))


def check_path(text: object) -> None:
    """Refuse a malformed address that would be taken for a path. It is not quoted, as it may hold a password."""
    if is_nearly_address(text):
        raise ParameterError("This looks like the address of a database, but is not written as one.", fix=_EXAMPLE)


@dataclass(frozen=True)
class Address:
    """The address of a schema in a database.

    >>> address = Address.of("postgresql://ana:secret@db.example:5433/health?sslmode=require#people")
    >>> address
    postgresql://ana@db.example:5433/health#people
    >>> address.schema
    'people'
    """

    uri: str
    """For the driver: with the password, without the schema."""
    words: str
    """For people: without a password."""
    fragment: str | None = None
    """The text after the "#", if there is any."""
    secrets: frozenset[str] = field(default=frozenset(), compare=False)
    """The texts that must not be shown in a message."""

    @classmethod
    def of(cls, text: str) -> Address:
        """Read an address."""
        if not is_address(text):
            raise ParameterError("This is not the address of a PostgreSQL server.", fix=_EXAMPLE)
        place, _, fragment = text.partition("#")
        parts, schema = _parts(place), _schema(fragment)
        user, _, password = parts.netloc.rpartition("@")[0].partition(":")
        where = f"{user}@{_hosts(parts)}" if user else _hosts(parts)
        pairs = [(key, value) for key, _, value in _pairs(parts)]
        shown = "&".join(f"{key}={value}" for key, value in pairs if key in _SHOWN)
        words = f"postgresql://{where}{parts.path}{'?' if shown else ''}{shown}"
        hidden = [password, *(value for key, value in pairs if _SECRET.search(key))]
        return cls(
            uri=f"postgresql://{parts.netloc}{parts.path}?{_settings(pairs)}",
            words=words if schema is None else f"{words}#{quote(schema, safe='')}",
            fragment=schema,
            secrets=frozenset(filter(None, (*hidden, *map(unquote, hidden)))),
        )

    @property
    def schema(self) -> str:
        """The schema. An address that names none is refused."""
        if self.fragment is None:
            raise ParameterError("The address does not name a schema.", found=self, fix=f'Write "{self}#people".')
        return self.fragment

    def hide(self, text: str) -> str:
        """Return a text without the secrets of this address.

        >>> Address.of("postgresql://ana:tiger@db/health").hide('no host called "tiger@db"')
        'no host called "…@db"'
        """
        for secret in sorted(self.secrets, key=len, reverse=True):
            text = text.replace(secret, "…")
        return text

    def __repr__(self) -> str:
        return self.words

    __str__ = __repr__


def identifier(*names: str) -> str:
    """Return a name as SQL writes it, several as the parts of one.

    >>> print(identifier("people", 'the "best" ones'))
    "people"."the ""best"" ones"
    """
    for name in names:
        if not name or "\0" in name:
            raise ParameterError(
                "A PostgreSQL name must not be empty, and must not contain a NUL character.", found=repr(name)
            )
        if len(name.encode("utf-8", "surrogatepass")) > _LONGEST:
            raise ParameterError(f"A PostgreSQL name has at most {_LONGEST} bytes.", found=repr(name))
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)


def _parts(place: str) -> SplitResult:
    """Split an address, if every character in it has one meaning only."""
    try:
        parts = urlsplit(place)
    except ValueError:  # which quotes what it could not read
        parts = None
    if parts is not None and _clear(place, parts):
        return parts
    raise ParameterError(
        "This address cannot be read.",
        fix=[
            "In a user, a password and a database, write the characters @ : / ? # % and blanks as "
            "%40 %3A %2F %3F %23 %25 %20.",
            _EXAMPLE,
        ],
    )


def _clear(place: str, parts: SplitResult) -> bool:
    who = parts.netloc.rpartition("@")[0]
    return (
        re.search(r"[\s\x00-\x1f\x7f]|%00|%(?![0-9A-Fa-f]{2})", place) is None
        and "@" not in who + parts.path + parts.query
        and all(re.fullmatch(r"(\[[^\[\]]*\]|[^:\[\]]*)(:\d*)?", host) for host in _hosts(parts).split(","))
        and all(re.fullmatch(r"[a-z_]+", key) and equals for key, equals, _ in _pairs(parts))
    )


def _hosts(parts: SplitResult) -> str:
    return parts.netloc.rpartition("@")[2]


def _pairs(parts: SplitResult) -> list[tuple[str, str, str]]:
    return [pair.partition("=") for pair in parts.query.split("&") if pair]


def _settings(pairs: list[tuple[str, str]]) -> str:
    return "&".join(f"{key}={value}" for key, value in {**_UNLESS_GIVEN, **dict(pairs), **_ALWAYS}.items())


def _schema(fragment: str) -> str | None:
    if re.fullmatch(r"(%[0-9A-Fa-f]{2}|[^\s@:/?#%])*", fragment) is None:
        raise ParameterError(
            "The text after # is not the name of a schema.",
            fix=[
                "In a password, write # as %23.",
                "In the name of a schema, write @ : / ? # % as %40 %3A %2F %3F %23 %25.",
                _EXAMPLE,
            ],
        )
    name = unquote(fragment)
    if name:
        identifier(name)
    return name or None
