"""Define the records of accounts: roles and their verbs, people, tokens, grants, and who makes a request."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from discreet.errors import NotPermitted, ParameterError


class Role(StrEnum):
    """A role of an account."""

    CURATOR = "curator"
    ANALYST = "analyst"
    AUDITOR = "auditor"


VERBS: dict[str, frozenset[Role]] = {
    "describe": frozenset(Role),
    "preview": frozenset({Role.CURATOR, Role.ANALYST}),
    "ask": frozenset({Role.CURATOR, Role.ANALYST}),
    "job": frozenset({Role.CURATOR, Role.ANALYST}),
    "ledger": frozenset(Role),
    "audit": frozenset({Role.CURATOR, Role.AUDITOR}),
    "collect": frozenset({Role.CURATOR, Role.ANALYST}),
    "manage": frozenset({Role.CURATOR}),
}
"""What can be done, and which roles may do it. The scope of a token is some of these.

describe: see the public schema. preview: see a cost. ask: ask questions. job: train, synthesize, open oracles.
ledger: see balances and verify. audit: run audits. collect: local collections. manage: people, grants, budgets.
"""

EVERYWHERE = "*"
"""The scope of a token that is valid for all vaults of its owner."""

EXPECTED = "expected"
"""The subject of an account that waits for its first sign-in by the provider. A real one has a blank in it."""


@dataclass(frozen=True)
class User:
    """A person with an account."""

    name: str
    role: Role
    disabled: bool = False
    created: int = 0


@dataclass(frozen=True)
class Token:
    """What is known about a token. The token itself is shown once, and only its hash is stored.

    Args:
        id: A public name of the token.
        user: Its owner.
        label: What the owner calls it.
        verbs: What it may be used for.
        vaults: The vaults that it may be used with; "*" for all of its owner.
        created: When it was made, in seconds since 1970.
        expires: When it ends.
        last_used: When it was last used, to the minute; 0 if never.
        revoked: Whether it was revoked.
    """

    id: str
    user: str
    label: str
    verbs: frozenset[str]
    vaults: frozenset[str]
    created: int
    expires: int
    last_used: int = 0
    revoked: bool = False


@dataclass(frozen=True)
class Grant:
    """The right of an analyst to use a vault, given by a curator.

    Args:
        user: The analyst.
        vault: The name of the vault.
        purposes: The purposes that the analyst may name; empty for questions without a purpose only.
        by: The curator who granted it.
        since: When, in seconds since 1970.
    """

    user: str
    vault: str
    purposes: frozenset[str] = frozenset()
    by: str = ""
    since: int = 0


@dataclass(frozen=True)
class Invitation:
    """A one-time code with which a person makes an account. Only its hash is stored."""

    role: Role
    by: str
    expires: int
    used_by: str = ""


@dataclass(frozen=True)
class Actor:
    """Who makes a request, as the login shows: the only source of the analyst's name.

    Args:
        name: The account, and the analyst whom the ledger charges.
        role: The role of the account.
        verbs: The verbs of the role that the token is scoped to.
        vaults: The vaults that the token is scoped to; "*" for all.
        grants: The grants of the account, by vault. A curator or an auditor needs none.
        by: "token" or "session".
    """

    name: str
    role: Role
    verbs: frozenset[str]
    vaults: frozenset[str]
    grants: tuple[Grant, ...] = ()
    by: str = "token"

    def may_see(self, vault: str) -> bool:
        """Return whether the vault is there for this account at all."""
        scoped = EVERYWHERE in self.vaults or vault in self.vaults
        return scoped and (self.role is not Role.ANALYST or any(grant.vault == vault for grant in self.grants))

    def expect(self, verb: str, *, purpose: str | None = None, vault: str | None = None) -> None:
        """Refuse what the account may not do.

        Args:
            verb: One of `VERBS`.
            purpose: The purpose that the request names, if it names one.
            vault: The vault that is meant. Whether it may be seen was checked before (`Vaults.path`).
        """
        if verb not in self.verbs:
            raise NotPermitted(
                f'This login may not "{verb}".',
                found=", ".join(sorted(self.verbs)) or "no verb",
                fix="Ask the curator for the role, or make a token with this scope.",
            )
        if not self.may_name(purpose, vault):
            allowed = self._purposes(vault)
            raise NotPermitted(
                "The grant does not name this purpose.",
                found=purpose,
                fix=f"Use one of: {', '.join(sorted(allowed))}." if allowed else "Ask without a purpose.",
            )

    def may_name(self, purpose: str | None, vault: str | None) -> bool:
        """Return whether a request about a vault may name a purpose: its account pays, and is shown."""
        return purpose is None or self.role is not Role.ANALYST or purpose in self._purposes(vault)

    def _purposes(self, vault: str | None) -> set[str]:
        return {name for grant in self.grants if grant.vault == vault for name in grant.purposes}


def expect_whole_scope(actor: Actor) -> None:
    """Refuse to manage people with a token for some vaults: an account that it makes could use all of them."""
    if EVERYWHERE not in actor.vaults:
        raise NotPermitted(
            "This token is for some vaults, and people have accounts for all of them.",
            found=", ".join(sorted(actor.vaults)),
            fix="Use a token for all vaults, or grant this vault to people who have an account.",
        )


def expect_name(name: str) -> str:
    """Return the name of an account, or refuse one that could be mistaken for another.

    >>> expect_name("ana.b")
    'ana.b'
    """
    allowed = "abcdefghijklmnopqrstuvwxyz0123456789.-_@"
    if not (1 <= len(name) <= 64) or set(name) - set(allowed) or not name[0].isalnum():
        raise ParameterError(
            "The name of an account has 1 to 64 small letters, digits and . - _ @; the first is no sign.",
            found=name[:64],
        )
    return name
