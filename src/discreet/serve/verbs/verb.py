"""Define what all verbs of workers share: the table of a verb, its result, and rows that cannot be charged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from discreet.errors import NotFound

if TYPE_CHECKING:  # the server reads the table of verbs too, and opens no vault
    from discreet.kernel import SealedTable
    from discreet.vault.vault import Vault

Tell: TypeAlias = Callable[[str, float], None]
"""Tell the server how far a job is: a few public words, and the share that is done."""


@dataclass(frozen=True)
class Result:
    """What a verb returns: JSON, and whether its time depends on public facts alone."""

    body: dict[str, Any]
    public: bool = False


Run: TypeAlias = Callable[["Vault", Mapping[str, Any], Tell], Result]


@dataclass(frozen=True)
class Verb:
    """One thing that a worker does with a vault.

    Args:
        run: Does it. Gets the vault, the arguments from the request, and a function that tells progress.
        resumable: Whether it may be started again for the same key after a crash: the kernel makes that free.
        public: Whether it reads public facts alone, never rows. Such verbs have workers of their own, so that
            their time does not show how busy those are that read rows; they leave at once.
        upload: Whether it is public in time and reads the table that the curator who asks has uploaded. It leaves
            at once and is stored nowhere. A worker of its own carries it out: neither questions nor previews wait
            for a table that takes long.
        job: Whether it may take long: the client gets an address at once, and workers for jobs carry it out.
        recorded: Looks for a recorded result, from public facts alone; None if there is none yet.
    """

    run: Run
    resumable: bool = False
    public: bool = False
    upload: bool = False
    job: bool = False
    recorded: Callable[[Vault, Mapping[str, Any]], Result | None] | None = None


def recorded_only(vault: Vault) -> SealedTable:
    """Return the rows of a vault for what was paid before: whatever would be charged now is refused."""
    from discreet.kernel import Payer

    class Recorded(Payer):
        """An account that pays for nothing more."""

        def reserve(self, *_: Any, **__: Any) -> Any:
            raise NotFound(
                "The vault has other rows now than when this was made, and nothing is charged by itself.",
                fix="Make it again: it is charged as a new one.",
            )

    table = vault.table()
    payer = table.payer
    return replace(table, payer=Recorded(payer.ledger, payer.analyst, payer.purpose))


def given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that were given: None means the default of Python's method."""
    return {name: value for name, value in arguments.items() if value is not None}
