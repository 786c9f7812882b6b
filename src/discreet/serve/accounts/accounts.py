"""Keep people, tokens, sessions, invitations and grants.

Claims.

* A token, the key of a session and the code of an invitation have 256 random bits that the server draws. Only
  their hashes are stored. A key that a browser brings along is never adopted.
* Everything ends: tokens and invitations at their date, sessions when idle or too old, all of them when the
  account is disabled. What is revoked is refused with the next request.
* A new password or a disabled account ends the sessions of the account.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from discreet.errors import NotFound, NotPermitted, NotSignedIn, ParameterError
from discreet.serve.accounts import passwords
from discreet.serve.accounts.database import Database, Run
from discreet.serve.accounts.records import (
    EVERYWHERE,
    EXPECTED,
    VERBS,
    Actor,
    Grant,
    Invitation,
    Role,
    Token,
    User,
    expect_name,
)
from discreet.serve.accounts.secrets import digest, new_id, new_key, new_token

DAY = 24 * 3600
_SEEN = 60  # seconds between two notes of a use, so that not every request writes


class Accounts:
    """The accounts of a service.

    Args:
        database: The store.
        session_idle: A session ends after so many seconds without a request.
        session_longest: A session ends after so many seconds in any case.
        clock: Seconds since 1970; the system clock by default.
    """

    def __init__(
        self,
        database: Database,
        *,
        session_idle: int = 3600,
        session_longest: int = 12 * 3600,
        clock: Callable[[], float] = time.time,
    ):
        """Take the store and the limits."""
        self.database = database
        self._idle, self._longest, self._clock = session_idle, session_longest, clock

    def now(self) -> int:
        """Return the whole seconds since 1970."""
        return int(self._clock())

    # -- people -----------------------------------------------------------------------------------------------

    def first_run(self) -> str | None:
        """Make the first curator if there is no account yet, and return a token that is shown once."""
        with self.database.write() as run:
            if run("SELECT 1 FROM users LIMIT 1"):
                return None
            _add(run, "curator", Role.CURATOR, "", self.now())
            return _add_token(
                run, "curator", "first run", set(VERBS), {EVERYWHERE}, self.now(), self.now() + 30 * DAY
            )

    def add(self, name: str, role: Role, password: str = "", *, provider: bool = False) -> User:
        """Make an account; without a password only tokens or a provider let it in.

        Args:
            name: Its name.
            role: What it may do.
            password: Its password; none by default.
            provider: Whether the first person whom the provider calls by this name gets the account.
        """
        hashed = passwords.hashed(password) if password else ""
        with self.database.write() as run:
            _add(run, expect_name(name), role, hashed, self.now(), EXPECTED if provider else "")
        return User(name, role, created=self.now())

    def users(self) -> list[User]:
        """Return all accounts, by name."""
        with self.database.read() as run:
            rows = run("SELECT name, role, disabled, created FROM users ORDER BY name")
        return [User(name, Role(role), bool(disabled), created) for name, role, disabled, created in rows]

    def find(self, name: str) -> User:
        """Return an account, or refuse a name that none has."""
        with self.database.read() as run:
            return _expect_user(run, name)

    def set_password(self, name: str, password: str) -> None:
        """Give an account a new password, and end its sessions."""
        hashed = passwords.hashed(password)
        with self.database.write() as run:
            _expect_user(run, name)
            run("UPDATE users SET password = ? WHERE name = ?", hashed, name)
            run("DELETE FROM sessions WHERE owner = ?", name)

    def change_password(self, name: str, old: str, new: str) -> None:
        """Give an account a new password, if the old one is right or there was none."""
        with self.database.read() as run:
            rows = run("SELECT password FROM users WHERE name = ?", name)
        if rows and rows[0][0] and not passwords.matches(rows[0][0], old):
            raise NotPermitted("The old password is wrong.", fix="Try again, or ask the curator.")
        self.set_password(name, new)

    def disable(self, name: str, *, disabled: bool = True) -> None:
        """Close an account, or open it again. Its sessions end; its tokens are refused while it is closed."""
        with self.database.write() as run:
            _expect_user(run, name)
            run("UPDATE users SET disabled = ? WHERE name = ?", int(disabled), name)
            run("DELETE FROM sessions WHERE owner = ?", name)

    # -- sessions ---------------------------------------------------------------------------------------------

    def sign_in(self, name: str, password: str) -> str:
        """Check a password and begin a session. Return the key for the cookie."""
        with self.database.read() as run:
            rows = run("SELECT password FROM users WHERE name = ? AND disabled = 0", name)
        if not passwords.matches(rows[0][0] if rows else "", password):
            raise NotSignedIn("The name or the password is wrong.", fix="Try again, or ask the curator.")
        return self.begin_session(name)

    def sign_in_with_token(self, token: str) -> str:
        """Begin a session of the owner of a token that has the whole scope, such as that of the first run."""
        try:
            actor = self.by_token(token)
        except NotSignedIn:
            raise NotSignedIn(
                "There is no such token.",
                fix="Copy all of it, from dsc_ to the end. Or sign in with your name and password.",
            ) from None
        if actor.verbs != _verbs(actor.role) or EVERYWHERE not in actor.vaults:
            raise NotPermitted("A session needs a token with the whole scope.", fix="Sign in with a password.")
        return self.begin_session(actor.name)

    def begin_session(self, name: str) -> str:
        """Begin a session of an account that was authenticated. Return the key for the cookie."""
        key = new_key()
        with self.database.write() as run:
            _expect_user(run, name)
            run(
                "DELETE FROM sessions WHERE begun < ? OR seen < ?",
                self.now() - self._longest,
                self.now() - self._idle,
            )
            run("INSERT INTO sessions VALUES (?, ?, ?, ?)", digest(key), name, self.now(), self.now())
        return key

    def end_session(self, key: str) -> None:
        """End a session; nothing happens if it is not there."""
        with self.database.write() as run:
            run("DELETE FROM sessions WHERE hash = ?", digest(key))

    def by_session(self, key: str) -> Actor:
        """Return who has the session."""
        with self.database.read() as run:
            rows = run(
                "SELECT u.name, u.role, s.begun, s.seen FROM sessions s JOIN users u ON u.name = s.owner"
                " WHERE s.hash = ? AND u.disabled = 0",
                digest(key),
            )
            grants = _grants(run, rows[0][0]) if rows else ()
        now = self.now()
        if not rows or now >= rows[0][2] + self._longest or now >= rows[0][3] + self._idle:
            raise NotSignedIn("You are not signed in, or the session has ended.", fix="Sign in again.")
        name, role, _, seen = rows[0]
        if now - seen >= _SEEN:
            with self.database.write() as run:
                run("UPDATE sessions SET seen = ? WHERE hash = ?", now, digest(key))
        return Actor(name, Role(role), _verbs(Role(role)), frozenset({EVERYWHERE}), grants, "session")

    # -- tokens -----------------------------------------------------------------------------------------------

    def new_token(
        self,
        owner: str,
        *,
        label: str = "",
        verbs: Iterable[str] | None = None,
        vaults: Iterable[str] = (EVERYWHERE,),
        days: int = 90,
    ) -> str:
        """Make a token, and return it: it is shown once.

        Args:
            owner: The account that it stands for.
            label: What the owner calls it.
            verbs: What it may be used for; all that the role may do by default.
            vaults: The vaults that it may be used with; all of its owner by default.
            days: It ends after so many days.
        """
        with self.database.write() as run:
            allowed = _verbs(_expect_user(run, owner).role)
            wanted = set(allowed if verbs is None else verbs)
            if unknown := wanted - allowed:
                raise ParameterError(
                    "The role of the account does not have this verb.",
                    found=sorted(unknown)[0],
                    fix=f"Take some of: {', '.join(sorted(allowed))}.",
                )
            now = self.now()
            return _add_token(run, owner, label, wanted, set(vaults), now, now + days * DAY)

    def tokens(self, owner: str) -> list[Token]:
        """Return the tokens of an account, the newest first."""
        with self.database.read() as run:
            rows = run(
                "SELECT id, owner, label, verbs, vaults, created, expires, used, revoked FROM tokens"
                " WHERE owner = ? ORDER BY created DESC, id",
                owner,
            )
        return [
            Token(id_, who, label, _names(verbs), _names(vaults), created, expires, used, bool(revoked))
            for id_, who, label, verbs, vaults, created, expires, used, revoked in rows
        ]

    def revoke_token(self, owner: str, token_id: str) -> None:
        """Revoke a token of an account, for good."""
        with self.database.write() as run:
            if not run("SELECT 1 FROM tokens WHERE id = ? AND owner = ?", token_id, owner):
                raise NotFound("There is no such token.", found=token_id[:64])
            run("UPDATE tokens SET revoked = 1 WHERE id = ?", token_id)

    def by_token(self, token: str) -> Actor:
        """Return whom a token stands for. An unknown one is not signed in; a known one that ended is refused."""
        with self.database.read() as run:
            rows = run(
                "SELECT u.name, u.role, u.disabled, t.verbs, t.vaults, t.expires, t.used, t.revoked, t.id"
                " FROM tokens t JOIN users u ON u.name = t.owner WHERE t.hash = ?",
                digest(token),
            )
            grants = _grants(run, rows[0][0]) if rows else ()
        if not rows:
            raise NotSignedIn("There is no such token.", fix="Send: Authorization: Bearer TOKEN.")
        name, role, disabled, verbs, vaults, expires, used, revoked, id_ = rows[0]
        if disabled or revoked or self.now() >= expires:
            what = "was revoked" if revoked else "has expired" if not disabled else "belongs to a closed account"
            raise NotPermitted(
                f"This token {what}. Nothing was charged.", fix="Make a new one, or ask the curator."
            )
        if self.now() - used >= _SEEN:
            with self.database.write() as run:
                run("UPDATE tokens SET used = ? WHERE id = ?", self.now(), id_)
        scope = _names(verbs) & _verbs(Role(role))
        return Actor(name, Role(role), scope, _names(vaults), grants, "token")

    # -- invitations ------------------------------------------------------------------------------------------

    def invite(self, role: Role, *, by: str, days: int = 7) -> str:
        """Return a one-time code with which a person makes an account: it is shown once."""
        code = new_key()
        with self.database.write() as run:
            run(
                "INSERT INTO invitations VALUES (?, ?, ?, ?, ?)",
                digest(code),
                role,
                by,
                self.now() + days * DAY,
                "",
            )
        return code

    def invitation(self, code: str) -> Invitation:
        """Return an invitation that can still be used."""
        with self.database.read() as run:
            return self._invitation(run, code)

    def accept(self, code: str, name: str, password: str, *, subject: str = "") -> User:
        """Make an account with an invitation, which is used up.

        Args:
            code: The invitation.
            name: The name of the account.
            password: Its password; empty if a provider signs the person in.
            subject: Whom the provider signed in; none by default.
        """
        hashed = "" if subject and not password else passwords.hashed(password)
        with self.database.write() as run:
            found = self._invitation(run, code)
            _add(run, expect_name(name), found.role, hashed, self.now(), subject)
            run("UPDATE invitations SET used_by = ? WHERE hash = ?", name, digest(code))
        return User(name, found.role, created=self.now())

    def _invitation(self, run: Run, code: str) -> Invitation:
        rows = run("SELECT role, maker, expires, used_by FROM invitations WHERE hash = ?", digest(code))
        if not rows or rows[0][3] or self.now() >= rows[0][2]:
            raise NotFound("This invitation is unknown, used or too old.", fix="Ask the curator for a new one.")
        role, by, expires, used = rows[0]
        return Invitation(Role(role), by, expires, used)

    # -- grants -----------------------------------------------------------------------------------------------

    def grant(self, user: str, vault: str, *, by: str, purposes: Iterable[str] = ()) -> Grant:
        """Let an analyst use a vault, or change the purposes that the analyst may name."""
        named = frozenset(purposes)
        with self.database.write() as run:
            _expect_user(run, user)
            run("DELETE FROM grants WHERE owner = ? AND vault = ?", user, vault)
            run("INSERT INTO grants VALUES (?, ?, ?, ?, ?)", user, vault, "\n".join(sorted(named)), by, self.now())
        return Grant(user, vault, named, by, self.now())

    def withdraw(self, user: str, vault: str) -> None:
        """Take a grant back. What was spent stays spent."""
        with self.database.write() as run:
            run("DELETE FROM grants WHERE owner = ? AND vault = ?", user, vault)

    def withdraw_all(self, vault: str) -> None:
        """Take all grants of a name back, before a new vault gets it: they were for the rows of an older one."""
        with self.database.write() as run:
            run("DELETE FROM grants WHERE vault = ?", vault)

    def grants(self, user: str | None = None) -> list[Grant]:
        """Return the grants of an account, or all of them."""
        with self.database.read() as run:
            names = [user] if user is not None else [row[0] for row in run("SELECT DISTINCT owner FROM grants")]
            return [grant for name in sorted(names) for grant in _grants(run, name)]

    def close(self) -> None:
        """Close idle connections."""
        self.database.close()


def _verbs(role: Role) -> frozenset[str]:
    return frozenset(verb for verb, roles in VERBS.items() if role in roles)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _add(run: Run, name: str, role: Role, password: str, now: int, subject: str = "") -> None:
    if run("SELECT 1 FROM users WHERE name = ?", name):
        raise ParameterError("There is already an account with this name.", found=name, fix="Choose another name.")
    run("INSERT INTO users VALUES (?, ?, ?, ?, ?, ?)", name, str(role), password, subject, 0, now)


def _expect_user(run: Run, name: str) -> User:
    rows = run("SELECT name, role, disabled, created FROM users WHERE name = ?", name)
    if not rows:
        raise NotFound("There is no account with this name.", found=name[:64])
    return User(rows[0][0], Role(rows[0][1]), bool(rows[0][2]), rows[0][3])


def _add_token(
    run: Run, owner: str, label: str, verbs: set[str], vaults: set[str], created: int, expires: int
) -> str:
    token, scope, where = new_token(), " ".join(sorted(verbs)), " ".join(sorted(vaults))
    values = (new_id(), digest(token), owner, label, scope, where, created, expires, 0, 0)
    run("INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", *values)
    return token


def _grants(run: Run, name: str) -> tuple[Grant, ...]:
    rows = run("SELECT owner, vault, purposes, maker, since FROM grants WHERE owner = ? ORDER BY vault", name)
    return tuple(
        Grant(who, vault, frozenset(filter(None, purposes.split("\n"))), by, since)
        for who, vault, purposes, by, since in rows
    )
