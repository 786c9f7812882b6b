"""Check that a vault is opened with its own ledger: with another one, what was spent would be forgotten.

Claim. A vault is asked with the ledger that it was sealed with, or not at all. Its metadata have the hash of that
ledger's first entry, which holds a random number and the budget, so that no other ledger has it; the fingerprint
of the rows includes the hash, so that it cannot be removed from the metadata. An empty ledger in place of a lost
one would grant the whole budget again, to analysts who have spent it already.

An older copy of the same ledger begins with the same entry, and is accepted: restoring a backup must be possible.
What was spent since is then unknown to it. A curator who kept a head elsewhere sees that with
`verify(since=head)`; it cannot be seen from the ledger itself. Theory in docs/theory/ledger.md, tested in
tests/vault/storage/test_ledger_binding.py.
"""

from __future__ import annotations

from collections.abc import Callable

from discreet.errors import LedgerMissing, LedgerTampered, ParameterError
from discreet.ledger import Ledger
from discreet.schema.metadata import TableMetadata

_NEVER = "A new ledger would forget what was spent, so this vault is never used with one."


def own_ledger(opened: Callable[[], Ledger], metadata: TableMetadata, display_name: str) -> Ledger:
    """Open the ledger of a vault, if it is the one that the vault was sealed with.

    Args:
        opened: Opens the ledger that is there.
        metadata: The metadata of the vault.
        display_name: The name of the vault for messages.
    """
    try:
        ledger = opened()
    except LedgerMissing:
        raise LedgerMissing(
            f"The ledger of {display_name} is gone.", fix=f"Restore it from a backup. {_NEVER}"
        ) from None
    if _is_other(metadata, ledger):
        ledger.close()
        raise LedgerTampered(
            f"The ledger of {display_name} is not its own: the vault was sealed with one that begins with "
            f"{metadata.ledger[:12]}….",
            found=f"{ledger.first.hash[:12]}…",
            fix=f"Restore that ledger from a backup. {_NEVER}",
        )
    return ledger


def own_metadata(metadata: TableMetadata, ledger: Ledger, display_name: str) -> TableMetadata:
    """Return the metadata of an open vault, if they still belong to the vault of its ledger."""
    if _is_other(metadata, ledger):
        raise ParameterError(
            f"There is another vault at {display_name} now than when it was opened.", fix="Open it again."
        )
    return metadata


def _is_other(metadata: TableMetadata, ledger: Ledger) -> bool:
    # A vault that was sealed before the hash was kept has none in its fingerprint either.
    return metadata.ledger not in ("", ledger.first.hash)
