"""Define a verb of the workers: what it gets, what it returns, and the price of a question among its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:  # the server reads the table of verbs too, and opens no vault
    from discreet.vault.vault import Vault

Tell: TypeAlias = Callable[[str, float], None]
"""Tell the server how far a job is: a few public words, and the share that is done."""


@dataclass(frozen=True)
class Result:
    """What a task returns: JSON, and whether its time depends on public facts alone."""

    body: dict[str, Any]
    public: bool = False


@dataclass(frozen=True)
class Verb:
    """One thing that a worker does with a vault.

    Args:
        run: Does it. Gets the vault, the arguments from the request, and a function that tells progress.
        resumable: Whether it may be started again for the same key after a crash.
    """

    run: Callable[[Vault, Mapping[str, Any], Tell], Result]
    resumable: bool = False


def price_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a question may cost, as `Vault.ask` takes it."""
    names = ("epsilon", "spend", "within", "confidence", "keys_delta")
    return {name: arguments[name] for name in names if arguments.get(name) is not None}
