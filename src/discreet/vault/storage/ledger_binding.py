"""A vault and its ledger belong together: with any other, what was spent is forgotten.

Claim. A vault is asked with the ledger that it was sealed with, or not at all. Its description has the hash of
that ledger's first entry, which holds a random number and the budget, so that no other ledger has it; the mark of
the rows has it too, so that it cannot be left out of the description. An empty ledger in place of a lost one would
grant the whole budget again, to people who have spent it already.

An older copy of the same ledger begins with the same entry, and is accepted: restoring a backup must be possible.
What was spent since is then unknown to it. Whoever kept a head elsewhere sees that with `verify(since=head)`; from
inside nobody can. Theory in docs/theory/ledger.md, tested in tests/vault/storage/test_ledger_binding.py.
"""

from __future__ import annotations

from collections.abc import Callable

from discreet.errors import LedgerMissing, LedgerTampered, ParameterError
from discreet.ledger import Ledger
from discreet.schema.metadata import TableMetadata

_NEVER = "A new one would forget what was spent, so this vault is never asked with one."


def own(opened: Callable[[], Ledger], metadata: TableMetadata, words: str) -> Ledger:
    """Open the ledger of a vault, called so in words, if it is the one that the vault was sealed with."""
    try:
        ledger = opened()
    except LedgerMissing:
        raise LedgerMissing(f"the ledger of {words} is gone. Restore it from a backup. {_NEVER}") from None
    if _other(metadata, ledger):
        ledger.close()
        raise LedgerTampered(
            f"the ledger of {words} is not its own: it begins with {ledger.first.hash[:12]}…, and the vault "
            f"was sealed with one that begins with {metadata.ledger[:12]}…. Restore that one from a backup. "
            f"{_NEVER}"
        )
    return ledger


def belonging(metadata: TableMetadata, ledger: Ledger, words: str) -> TableMetadata:
    """Return the description of a vault that is open, if it is still that of the ledger's vault."""
    if _other(metadata, ledger):
        raise ParameterError(f"another vault is at {words} now than when it was opened. Open it again.")
    return metadata


def _other(metadata: TableMetadata, ledger: Ledger) -> bool:
    # One that was sealed before ledgers were noted has none in its mark either.
    return metadata.ledger not in ("", ledger.first.hash)
