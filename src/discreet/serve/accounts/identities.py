"""Keep sign-ins by a provider that are under way, and find the account of a person whom the provider signed in.

Claims.

* A sign-in belongs to the browser that began it: its state is worth nothing without the key in the browser's
  cookie. Both are drawn here, only their hashes are stored, and a state is used up when it is first seen.
* A person is known by issuer and subject, which a provider never gives to another person. The name that a provider
  reports can be changed and reused, so it opens an account only once, and only if a curator made the account for
  that (`expect`). An account with a password or a token is not taken over by a name.
* The provider gives no right: an account exists, or an invitation makes it with the role of the invitation.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field

from discreet.errors import NotFound, NotPermitted, NotSignedIn
from discreet.serve.accounts.accounts import Accounts
from discreet.serve.accounts.records import EXPECTED, User
from discreet.serve.accounts.secrets import digest, new_key

LASTS = 600  # seconds from the button to the way back


@dataclass(frozen=True)
class Login:
    """A sign-in that is under way.

    Args:
        nonce: The number that the ID token must repeat.
        verifier: The secret of PKCE.
        account: The account that is to be linked, by the person who is signed in to it; empty for a sign-in.
        subject: Whom the provider signed in, while an invitation is awaited; empty before.
        name: The name that the provider reports, while an invitation is awaited.
    """

    nonce: str = field(default="", repr=False)
    verifier: str = field(default="", repr=False)
    account: str = ""
    subject: str = ""
    name: str = ""


class Identities:
    """The identities of people at the provider, and the sign-ins that are under way.

    Args:
        accounts: The accounts of the service.
    """

    def __init__(self, accounts: Accounts):
        """Take the accounts."""
        self._accounts, self._database = accounts, accounts.database

    # -- sign-ins that are under way ----------------------------------------------------------------------------

    def begin(self, login: Login) -> tuple[str, str]:
        """Store a sign-in, and return its state, for the provider, and its key, for the cookie of the browser."""
        state, key = new_key(), new_key()
        now = self._accounts.now()
        values = (login.nonce, login.verifier, login.account, login.subject, login.name, now + LASTS)
        with self._database.write() as run:
            run("DELETE FROM logins WHERE expires <= ?", now)
            run("INSERT INTO logins VALUES (?, ?, ?, ?, ?, ?, ?, ?)", digest(state), digest(key), *values)
        return state, key

    def take(self, state: str, key: str) -> Login:
        """Return a sign-in to the browser that began it, once."""
        with self._database.write() as run:
            rows = run(
                "SELECT browser, nonce, verifier, account, subject, name, expires FROM logins WHERE hash = ?",
                digest(state),
            )
            run("DELETE FROM logins WHERE hash = ?", digest(state))
        if not rows or not hmac.compare_digest(rows[0][0], digest(key)) or self._accounts.now() >= rows[0][6]:
            raise NotSignedIn(
                "This sign-in was not begun in this browser, was used before, or took too long.",
                fix="Begin again, and finish within ten minutes.",
            )
        return Login(*rows[0][1:6])

    # -- whose account it is --------------------------------------------------------------------------------------

    def expect(self, name: str) -> None:
        """Let the first person whom the provider calls by this name have the account; forget an earlier one."""
        with self._database.write() as run:
            if not run("SELECT 1 FROM users WHERE name = ?", name):
                raise NotFound("There is no account with this name.", found=name[:64])
            run("UPDATE users SET subject = ? WHERE name = ?", EXPECTED, name)
            run("DELETE FROM sessions WHERE owner = ?", name)

    def account_of(self, subject: str, name: str) -> str | None:
        """Return the account of a person; None if an invitation has to make one.

        Args:
            subject: Issuer and subject, with a blank between them.
            name: The name that the provider reports; it counts for an account that expects its first sign-in.
        """
        with self._database.write() as run:
            found = run("SELECT name, disabled FROM users WHERE subject = ?", subject)
            if not found:
                found = run(
                    "SELECT name, disabled FROM users WHERE name = ? AND subject = ? AND disabled = 0",
                    name,
                    EXPECTED,
                )
                if not found:
                    return None
                run("UPDATE users SET subject = ? WHERE name = ?", subject, name)
        if found[0][1]:
            raise NotPermitted("This account is closed.", fix="Ask the curator.")
        return str(found[0][0])

    def link(self, account: str, subject: str) -> None:
        """Link an account with a person, who is signed in to both."""
        with self._database.write() as run:
            others = run("SELECT name FROM users WHERE subject = ? AND name <> ?", subject, account)
            if others:
                raise NotPermitted(
                    "This person of the provider has another account here.", fix="Sign in to that one instead."
                )
            run("UPDATE users SET subject = ? WHERE name = ? AND disabled = 0", subject, account)

    def accept(self, code: str, login: Login) -> User:
        """Make the account of a person whom the provider signed in, with the role of an invitation."""
        return self._accounts.accept(code, login.name, "", subject=login.subject)
