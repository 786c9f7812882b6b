"""Define whom a provider signed in, how a sign-in fails, and what the pages need of a provider.

This module imports no library of the provider, which a service without one does not need.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from discreet.serve.accounts import Login


@dataclass(frozen=True)
class Identity:
    """Whom the provider signed in: issuer and subject, and the name that it reports."""

    subject: str
    name: str


class SignsIn(Protocol):
    """A provider, as the pages see it: `provider.Provider`."""

    def address_for(self, state: str, login: Login) -> str:
        """Return the address at the provider that a person is sent to."""
        ...

    def identity_of(self, code: str, issuer: str | None, login: Login) -> Identity:
        """Exchange a code for an ID token, and return whom it is about."""
        ...


class SignInFailed(Exception):
    """A sign-in that did not succeed. Its reason is a constant word, for the log."""

    def __init__(self, reason: str):
        """Take the reason."""
        super().__init__(reason)
        self.reason = reason


class ProviderFailed(SignInFailed):
    """A provider that cannot be reached, or is not what the settings say."""


class TokenRefused(SignInFailed):
    """A reply of the provider that proves nothing."""


class UnknownKey(TokenRefused):
    """A token whose key is not among those that are known: the provider may have changed its keys."""
