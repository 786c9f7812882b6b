"""Read the settings of the service from a TOML file and from the environment.

The order is: defaults, then the file, then variables `DISCREET_SERVE_…`, then what the command line gives. A
setting that is not known is refused, so that a misspelt limit does not go unnoticed.

    # discreet.toml                                  # environment
    port = 8470                                      DISCREET_SERVE_PORT=8470
    quantum = 0.25                                   DISCREET_SERVE_QUANTUM=0.25
    [vaults]                                         (file only)
    people = "postgresql://db/health#people"
    [oidc]                                           DISCREET_SERVE_OIDC_CLIENT_SECRET=…
    issuer = "https://login.example"                 DISCREET_SERVE_OIDC_CLIENT_SECRET_FILE=…
    client_id = "discreet"
    address = "https://vaults.example"
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from discreet.errors import Fix, ParameterError

PREFIX = "DISCREET_SERVE_"
_POSITIVE = (
    *("workers", "public_workers", "job_workers", "quantum", "deadline", "body_limit"),
    *("upload_limit", "upload_unpacked", "upload_memory", "upload_seconds"),
    *("requests_per_minute", "logins_per_minute", "door_questions_per_minute"),
    *("connections", "head_seconds", "body_seconds", "slowest_body", "stall_seconds", "idle_seconds"),
    *("door_connections", "door_connections_per_account", "door_sign_in_seconds", "door_idle"),
)


@dataclass(frozen=True)
class Oidc:
    """The provider that signs people in (OpenID Connect). It says who a person is, and gives no right.

    Args:
        issuer: The address of the provider, exactly as its tokens name it.
        client_id: The name that the provider knows the service by.
        address: The public address of the service, such as "https://vaults.example". The redirect URI that the
            provider must know is this with "/login/oidc/callback" behind it. No header of a request changes it.
        client_secret: The secret that goes with the name; empty for a public client.
        client_secret_file: A file that holds the secret instead. It is read with every sign-in.
        claim: The claim of the ID token that is the name of a new account; "preferred_username" by default.
        label: What the button of the sign-in page calls the provider; its host by default.
    """

    issuer: str
    client_id: str
    address: str
    client_secret: str = field(default="", repr=False)
    client_secret_file: str = ""
    claim: str = "preferred_username"
    label: str = ""

    def __post_init__(self) -> None:
        for name in ("issuer", "address"):
            if not safe_address(getattr(self, name)):
                raise ParameterError(
                    f"The setting oidc.{name} must be an https address; http is for this machine only.",
                    found=getattr(self, name),
                )
        if not self.client_id or not self.claim:
            raise ParameterError("The settings oidc.client_id and oidc.claim must not be empty.")
        if self.client_secret and self.client_secret_file:
            raise ParameterError("Give oidc.client_secret or oidc.client_secret_file, and not both.")
        self.secret()

    @property
    def redirect(self) -> str:
        """The address that the provider sends people back to: the same for every request."""
        return f"{self.address.rstrip('/')}/login/oidc/callback"

    @property
    def shown(self) -> str:
        """The name of the provider for people."""
        return self.label or urlsplit(self.issuer).hostname or ""

    def secret(self) -> str:
        """Return the secret, from its file if there is one."""
        if not self.client_secret_file:
            return self.client_secret
        try:
            return Path(self.client_secret_file).read_text().strip()
        except (OSError, ValueError):
            raise ParameterError(
                "The file of oidc.client_secret_file cannot be read.",
                found=self.client_secret_file,
                fix="Make it readable for the user that runs the service, and for no other.",
            ) from None


def safe_address(address: str) -> bool:
    """Return whether an address is https, or http on this machine.

    >>> safe_address("https://login.example"), safe_address("http://login.example"), safe_address("http://[::1]:80")
    (True, False, True)
    """
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
    except ValueError:
        return False
    plain = not (parts.query or parts.fragment or parts.username)
    return plain and bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and loopback(host)))


def loopback(host: str) -> bool:
    """Return whether a host is this machine."""
    return host in ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class Settings:
    """What the operator of the service decides. All of it is public but passwords and secrets.

    Args:
        folder: The directory that holds the vaults.
        host: The address to listen at; this machine only by default.
        port: The port; 0 lets the system choose one.
        accounts: A file of SQLite, or the address of a schema of PostgreSQL; `accounts.sqlite` in the folder by
            default.
        vaults: Vaults outside of the folder, by name: a path, or the address of a PostgreSQL schema.
        workers: How many processes compute from rows.
        public_workers: How many processes answer from public facts: previews, recorded answers, ledgers.
        job_workers: How many processes carry out jobs: synthetic tables, models, audits.
        quantum: Answers that were computed from rows leave this many seconds after the request, or twice, four
            times … as many. At least four times the slowest plain question under load.
        deadline: After so many seconds a question goes on by itself, and the client gets 202 and an address.
        body_limit: The most bytes of a request.
        upload_limit: The most bytes of a table that the curator uploads.
        upload_unpacked: The most bytes of its rows once they are unpacked: 8 for each value, and those of texts. A
            file of a few kB can unpack to terabytes.
        upload_memory: The most bytes of memory that reading a table takes; one of the folder `tables` as well.
        upload_seconds: Reading a table ends after so many seconds; one of the folder `tables` as well.
        requests_per_minute: The most requests of one account.
        logins_per_minute: The most attempts to sign in from one address, and of one browser that the owner of a
            name has signed in with before. Other browsers have three times as many for a name, all together.
        connections: The most open connections of HTTP.
        connections_per_address: The most of one address (of IPv6: of one network of 64 bits), over HTTP and before
            sign-in at the door; 0 for no limit. Behind a proxy (`behind_tls`) it holds for the door alone.
        head_seconds: A client has so many seconds for TLS, and as many for the head of a request.
        body_seconds: A client has so many seconds for the body of a request, and more if it is long:
        slowest_body: one second more for so many bytes that have arrived.
        stall_seconds: A client that takes no byte of a reply for so many seconds is disconnected, at the door too.
        idle_seconds: A connection ends after so many seconds without a request.
        session_idle: A session ends after so many seconds without a request.
        session_longest: A session ends after so many seconds in any case.
        keep_replies: How many seconds the reply to an idempotency key is kept.
        tls_certificate: The file of the certificate; with it the service speaks TLS.
        tls_key: The file of its key.
        behind_tls: Whether a proxy in front of the service speaks TLS: cookies are `Secure` then.
        door_port: The port for clients of PostgreSQL; 0 lets the system choose one, -1 opens no such door.
        door_host: The address that this door listens at; `host` by default.
        door_certificate: The file of the certificate of this door; one is made at the first run by default.
        door_key: The file of its key.
        door_spend: The share of the budget that a question at this door may cost unless the connection says
            otherwise, such as "0.5%"; none by default, so that each connection must say.
        door_connections: The most open connections of this door; at most half of them have not signed in.
        door_connections_per_account: The most of one account.
        door_sign_in_seconds: A client has so many seconds to sign in, TLS included, and later to finish a message
            that it began.
        door_idle: A connection of this door ends after so many seconds without a message.
        door_questions_per_minute: The most fresh questions of one account at this door; recorded ones are free.
        flight_port: The port for clients of Flight SQL, such as ADBC; 0 lets the system choose one, -1 opens no
            such door. All settings `door_…` but the port hold for it as well.
        oidc: The provider that signs people in; none by default.
    """

    folder: Path
    host: str = "127.0.0.1"
    port: int = 8470
    accounts: str = field(default="", repr=False)
    vaults: Mapping[str, str] = field(default_factory=dict, repr=False)
    workers: int = 2
    public_workers: int = 1
    job_workers: int = 1
    quantum: float = 0.25
    deadline: float = 8.0
    body_limit: int = 64 * 1024
    upload_limit: int = 256 * 1024 * 1024
    upload_unpacked: int = 8 * 1024**3
    upload_memory: int = 4 * 1024**3
    upload_seconds: float = 1800.0
    requests_per_minute: int = 6000
    logins_per_minute: int = 10
    connections: int = 1000
    connections_per_address: int = 100
    head_seconds: float = 10.0
    body_seconds: float = 20.0
    slowest_body: int = 4096
    stall_seconds: float = 30.0
    idle_seconds: int = 30
    session_idle: int = 3600
    session_longest: int = 12 * 3600
    keep_replies: int = 24 * 3600
    tls_certificate: str = ""
    tls_key: str = ""
    behind_tls: bool = False
    door_port: int = -1
    door_host: str = ""
    door_certificate: str = ""
    door_key: str = ""
    door_spend: str = ""
    door_connections: int = 256
    door_connections_per_account: int = 32
    door_sign_in_seconds: float = 10.0
    door_idle: float = 8 * 3600.0
    door_questions_per_minute: int = 30
    flight_port: int = -1
    oidc: Oidc | None = None

    def __post_init__(self) -> None:
        for name in _POSITIVE:
            if not getattr(self, name) > 0:
                raise ParameterError(f"The setting {name} must be positive.", found=getattr(self, name))
        if self.deadline < self.quantum:
            raise ParameterError(
                "The deadline must be at least one quantum.",
                found=self.deadline,
                fix=Fix("deadline", self.quantum),
            )
        pairs = ((self.tls_certificate, self.tls_key), (self.door_certificate, self.door_key))
        if any(bool(certificate) != bool(key) for certificate, key in pairs):
            raise ParameterError("TLS needs a certificate and its key: give both, or neither.")

    @property
    def accounts_place(self) -> str:
        """The path or address of the accounts."""
        return self.accounts or str(self.folder / "accounts.sqlite")

    @property
    def secure(self) -> bool:
        """Whether browsers reach the service by TLS."""
        return bool(self.tls_certificate) or self.behind_tls

    @classmethod
    def read(
        cls,
        folder: str | Path,
        *,
        config: str | Path | None = None,
        environment: Mapping[str, str] | None = None,
        **given: Any,
    ) -> Settings:
        """Read the settings: defaults, file, environment, and what is given.

        Args:
            folder: The directory that holds the vaults.
            config: The TOML file; none by default.
            environment: The variables; those of the process by default.
            given: Settings that come last; None means not given.

        >>> Settings.read("vaults", environment={"DISCREET_SERVE_PORT": "9000"}, workers=None).port
        9000
        """
        variables = os.environ if environment is None else environment
        values: dict[str, Any] = {} if config is None else _file(Path(config))
        for name, text in variables.items():
            if name.startswith(PREFIX):
                _set(values, name.removeprefix(PREFIX).lower(), text)
        values.update({name: value for name, value in given.items() if value is not None})
        known = {one.name for one in fields(cls)} - {"folder"}
        if unknown := sorted(values.keys() - known):
            raise ParameterError(
                "There is no such setting of the service.",
                found=unknown[0],
                fix=f"There are: {', '.join(sorted(known))}.",
            )
        if values.get("oidc") is not None and not isinstance(values["oidc"], Oidc):
            values["oidc"] = _oidc(values["oidc"])
        return cls(folder=Path(folder), **{name: _typed(cls, name, value) for name, value in values.items()})


def _file(path: Path) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise ParameterError(f"The settings at {path} cannot be read: {error.strerror}.") from None
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(f"The settings at {path} are not TOML: {error}.") from None


def _set(values: dict[str, Any], name: str, text: str) -> None:
    if name.startswith("oidc_"):
        values["oidc"] = {**values.get("oidc", {}), name.removeprefix("oidc_"): text}
    else:
        values[name] = text


def _oidc(values: Mapping[str, Any]) -> Oidc:
    try:
        return Oidc(**values)
    except TypeError:
        raise ParameterError(
            "The section oidc needs issuer, client_id and address.",
            found=", ".join(sorted(values)),
            fix=f"It may have: {', '.join(one.name for one in fields(Oidc))}.",
        ) from None


def _typed(cls: type[Settings], name: str, value: Any) -> Any:
    """Return a value as the type of its setting: the environment has texts only."""
    default = getattr(cls, name, None)
    try:
        if isinstance(default, bool):
            if str(value).lower() not in ("true", "false", "1", "0"):
                raise ValueError(name)
            return str(value).lower() in ("true", "1")
        if isinstance(default, int | float):
            return type(default)(value)
    except (TypeError, ValueError):
        raise ParameterError(f"The setting {name} has a value of another type.", found=value) from None
    return value
