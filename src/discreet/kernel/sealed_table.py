"""Hold what a release needs of a vault: public metadata, the engine with its rows, and who pays.

Queries, oracles, synthetic tables and models take a `SealedTable` instead of a vault. The engine is opened when it
is first needed, and its rows are those that the metadata describes: they carry its fingerprint, which is compared
when they are opened.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.kernel.payer import Payer
from discreet.schema.metadata import TableMetadata

if TYPE_CHECKING:
    from discreet.engines.engine import Engine


@dataclass(frozen=True)
class SealedTable:
    """One version of the rows of a vault, and who pays for what is asked of them.

    Args:
        metadata: Everything that is public about the rows.
        payer: The ledger and the accounts that are charged.
        display_name: What to call the vault in messages. It holds no password.
        folder: The directory that holds the vault's files; None if the vault is in a database.
        open_engine: Opens the engine with the rows of this metadata, or returns the one that is open.
        newest_metadata: Reads the metadata of the newest rows of the vault.
    """

    metadata: TableMetadata
    payer: Payer
    display_name: str
    folder: Path | None = None
    open_engine: Callable[[TableMetadata], Engine] = field(kw_only=True, repr=False)
    newest_metadata: Callable[[], TableMetadata] = field(kw_only=True, repr=False)

    def engine(self) -> Engine:
        """Return the engine that holds the rows."""
        return self.open_engine(self.metadata)

    def is_newest(self) -> bool:
        """Return whether the vault still has these rows, and was not sealed again since."""
        return self.newest_metadata().fingerprint == self.metadata.fingerprint
