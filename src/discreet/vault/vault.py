"""Seal a table, ask it, open an oracle or a synthetic table over it, and never overspend: the facade.

    seal ─▶ ask: parse ─▶ plan ─▶ charge ─▶ execute ─▶ record ─▶ release

Whatever is asked of a vault takes one path (`discreet.kernel.spend`): a record is looked up first, a refusal costs
nothing, the charge is on the disk before the engine is asked, and the answer is recorded before it is seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.kernel import Payer, SealedTable
from discreet.ledger import Budget, Ledger
from discreet.query.preview import Preview
from discreet.rational import Rational, positive, rational
from discreet.release.release import Release
from discreet.render.html import framed
from discreet.schema import render
from discreet.schema.identifiers import quote
from discreet.schema.metadata import TableMetadata
from discreet.sealing import seal as sealing
from discreet.sealing.report import SealingReport, Seen
from discreet.vault import ask as asking
from discreet.vault import storage as place
from discreet.vault.products import Products
from discreet.vault.storage import engine_with_fingerprint, storage_at
from discreet.vault.storage.ledger_binding import own_metadata

if TYPE_CHECKING:
    from discreet.engines.engine import Engine
    from discreet.query.plan.calibration import Margins
    from discreet.sealing.backends.duckdb import Progress
    from discreet.sealing.learning import Declared


class Vault(Products):
    """A sealed table with its ledger.

    >>> import tempfile, pyarrow
    >>> import discreet as dp
    >>> visits = pyarrow.table({"who": list(range(1000)), "age": [20 + i % 60 for i in range(1000)]})
    >>> folder = tempfile.TemporaryDirectory()
    >>> vault = Vault.seal(
    ...     visits, to=f"{folder.name}/visits.vault", person="who",
    ...     columns={"age": dp.Integer(0, 110)}, budget=dp.Budget(epsilon=2),
    ... )
    >>> release = vault.ask("select count(*) from visits where age >= 65", epsilon="0.5")
    >>> abs(release.value - 240) < 60, round(release.error, 2)
    (True, 5.99)
    >>> vault.ledger.balance().remaining
    Fraction(3, 2)
    >>> vault.close(); folder.cleanup()
    """

    def __init__(
        self,
        path: str | Path,
        *,
        analyst: str | None = None,
        purpose: str | None = None,
        memory: str | None = None,
        spark: Any = None,
    ):
        """Open a vault, as an analyst and for a purpose if these have accounts of their own.

        Args:
            path: The directory of the vault, or its address: "postgresql://host/database#people".
            analyst: The analyst whose account is charged as well; none by default.
            purpose: The purpose whose account is charged as well; none by default.
            memory: The memory that the embedded engine may use, such as "2GB". A question that needs more fails,
                and stays charged.
            spark: The Spark session for rows in Spark; the active one by default.
        """
        self._place = storage_at(path, memory=memory, spark=spark)
        self._ledger = self._place.ledger()
        self._analyst, self._purpose = analyst, purpose
        self._engines: dict[str, Engine] = {}
        self._sealing_report: SealingReport | None = None

    @classmethod
    def seal(
        cls,
        source: Any,
        *,
        to: str | Path,
        budget: Budget,
        columns: Declared,
        person: str | None,
        rows_per_person: int = 1,
        name: str | None = None,
        tables: Sequence[Any] = (),
        lookups: Mapping[str, Any] | None = None,
        strict: bool = False,
        rows: str | None = None,
        memory: str | None = None,
        progress: Progress | None = None,
        anyway: bool = False,
    ) -> Vault:
        """Seal a table into a new vault with a budget.

        Args:
            source: A file, a table or frame in memory, or a `Source`.
            to: A new directory; or an address, "postgresql://host/database#people", for rows that stay there.
            budget: What everything that is ever asked may spend.
            columns: The type and the bounds of each column that is kept. Bounds that no one knows are learned, for
                a part of the budget: `dp.Real.learned(lo=0, step="0.01")`.
            person: The column that names the person of a row; None if every row is a person of its own.
            rows_per_person: How many rows of a person count in full; 1 by default.
            name: The name of the table in SQL; by default that of the source.
            tables: Further sources that are joined by the person.
            lookups: Public tables that are joined by a column, by the name of that column.
            strict: Whether every charge must name an analyst with a budget; False by default.
            rows: A new table of the Spark catalogue, for rows that stay in Spark.
            memory: The memory that sealing may use, such as "2GB".
            progress: Called with what is being done and the share that is done.
            anyway: Whether to seal even if more than half of a column is unreadable; False by default.
        """
        seen = Seen(anyway)
        place.seal(
            source,
            to=to,
            budget=budget,
            strict=strict,
            rows=rows,
            memory=memory,
            name=name,
            person=person,
            columns=columns,
            rows_per_person=rows_per_person,
            tables=tables,
            lookups=lookups,
            progress=progress,
            judge=seen,
        )
        made = cls(to)
        made._sealing_report = seen.report
        return made

    @staticmethod
    def check(
        source: Any,
        *,
        columns: Declared,
        person: str | None,
        rows_per_person: int = 1,
        tables: Sequence[Any] = (),
        lookups: Mapping[str, Any] | None = None,
        memory: str | None = None,
        progress: Progress | None = None,
    ) -> SealingReport:
        """Read a source as `seal` would, and report what it would make of it. Nothing is kept.

        The report is private: it counts rows and quotes some of them. It is for the curator's screen alone.

        Args:
            source: A file, a table or frame in memory, or a `Source`.
            columns: The type and the bounds of each column that is kept.
            person: The column that names the person of a row; None if every row is a person of its own.
            rows_per_person: How many rows of a person count in full; 1 by default.
            tables: Further sources that are joined by the person.
            lookups: Public tables that are joined by a column, by the name of that column.
            memory: The memory that it may use, such as "2GB".
            progress: Called with what is being done and the share that is done.

        >>> import pyarrow
        >>> import discreet as dp
        >>> rows = pyarrow.table({"paid": ["71,86", "5,00"]})
        >>> Vault.check(rows, person=None, columns={"paid": dp.Real(0, 100, "0.01")}).columns["paid"].unreadable
        2
        """
        return sealing.check(
            source,
            columns=columns,
            person=person,
            rows_per_person=rows_per_person,
            tables=tables,
            lookups=lookups,
            memory=memory,
            progress=progress,
        )

    @property
    def sealing_report(self) -> SealingReport | None:
        """The private report of the sealing or resealing that this object made; None if it only opened the vault.

        It counts rows and quotes some of them, for the curator's screen alone. It is stored nowhere.
        """
        return self._sealing_report

    def reseal(self, source: Any, *, anyway: bool = False, **changes: Any) -> None:
        """Give the vault a new version of its rows, under the same ledger.

        The rows of the old version stay, for questions that are running and oracles that are open. Later questions
        do not read them, so the curator may delete them then: the file `rows.duckdb` (then `rows-2.duckdb` …), or
        their table.

        Args:
            source: The new rows.
            anyway: Whether to seal even if more than half of a column is unreadable; False by default.
            changes: `columns` and `rows_per_person`, if they change; `tables`, `lookups`, `progress` as of `seal`.
        """
        seen = Seen(anyway)
        self._place.reseal(source, judge=seen, **changes)
        self._sealing_report = seen.report

    def ask(
        self,
        question: Any,
        *,
        epsilon: Rational | None = None,
        spend: str | None = None,
        within: Margins | None = None,
        confidence: Rational = "0.95",
        keys_delta: Rational | None = None,
    ) -> Release:
        """Answer a question and charge it.

        Give one of `epsilon`, `spend` and `within`. The same question is free once its answer is recorded; two
        analysts who ask it at the same moment may both be charged.

        Args:
            question: SQL, or a question made with `dp.select`.
            epsilon: The guarantee of this release alone: it is (epsilon, δ)-DP at the vault's δ.
            spend: A share of the whole budget, such as "5%".
            within: The largest margin of error: `within=200`, one for each number by name, or `within="5%"` of the
                answer. A relative margin doubles the cost until the margin is met; `epsilon` then caps the total.
                If the cap or the budget is reached first, you get the last answer, with a note.
            confidence: The probability that each interval holds; 0.95 by default.
            keys_delta: The δ of partition selection, for keys that are strings; by default a hundredth of what the
                budget has for it.
        """
        # Here, so that a float is warned of at the line of the caller.
        epsilon = None if epsilon is None else positive(epsilon, "epsilon")
        keys_delta = None if keys_delta is None else rational(keys_delta, "keys_delta")
        return asking.ask(self.table(), question, asking.terms(epsilon, spend, within, confidence, keys_delta))

    def preview(
        self,
        question: Any,
        *,
        epsilon: Rational | None = None,
        spend: str | None = None,
        within: Margins | None = None,
        confidence: Rational = "0.95",
        keys_delta: Rational | None = None,
    ) -> Preview:
        """Say what a question would cost and how accurate its answer would be. No row is read, nothing is charged.

        The parameters are those of `ask`.
        """
        epsilon = None if epsilon is None else positive(epsilon, "epsilon")
        keys_delta = None if keys_delta is None else rational(keys_delta, "keys_delta")
        return asking.preview(self.table(), question, asking.terms(epsilon, spend, within, confidence, keys_delta))

    def over_bound(
        self,
        *,
        epsilon: Rational | None = None,
        spend: str | None = None,
        within: Margins | None = None,
        confidence: Rational = "0.95",
    ) -> Release:
        """Estimate how many persons have more rows than count in full. It is charged like any other question.

        What they add is scaled down, which no interval shows. With `where over_bound()` anything is asked of them.
        """
        epsilon = None if epsilon is None else positive(epsilon, "epsilon")
        described = self.metadata
        counted = "*" if described.person is None else f"distinct {quote(described.person)}"
        text = f"select count({counted}) as over_bound from {quote(described.name)} where over_bound()"
        return self.ask(text, epsilon=epsilon, spend=spend, within=within, confidence=confidence)

    # -- public facts ------------------------------------------------------------------------------

    @property
    def metadata(self) -> TableMetadata:
        """The public facts about the table: its name, columns, bounds and version."""
        return own_metadata(self._place.metadata(), self._ledger, self.place)

    @property
    def description(self) -> TableMetadata:
        """The same as `metadata`."""
        return self.metadata

    @property
    def ledger(self) -> Ledger:
        """The ledger: charges by account, and what is left."""
        return self._ledger

    @property
    def place(self) -> str:
        """The path or address of the vault, without a password."""
        return self._place.display_name

    def close(self) -> None:
        """Close the files and connections."""
        for engine in self._engines.values():
            engine.close()
        self._engines.clear()
        self._ledger.close()

    def __enter__(self) -> Vault:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Vault({self.place!r})"

    def __str__(self) -> str:
        return f"{self.metadata}\n\n{self._ledger}"

    def _repr_html_(self) -> str:
        return framed(render.page(self.metadata) + self._ledger.as_html())

    def for_account(self, *, analyst: str | None = None, purpose: str | None = None) -> Vault:
        """Return this vault as another account opens it. Both share files and connections: close one of them.

        Args:
            analyst: The analyst whose account is charged as well; none by default.
            purpose: The purpose whose account is charged as well; none by default.
        """
        made = copy(self)
        made._analyst, made._purpose = analyst, purpose
        return made

    def table(self) -> SealedTable:
        """Return the newest rows as oracles, synthetic tables and models take them, with who pays."""
        return SealedTable(
            self.metadata,
            Payer(self._ledger, self._analyst, self._purpose),
            self.place,
            folder=getattr(self._place, "path", None),
            open_engine=self._engine,
            newest_metadata=lambda: self.metadata,
        )

    def _engine(self, metadata: TableMetadata) -> Engine:
        # By its fingerprint, not by its number: a vault put back from a copy may give one number to two versions.
        fingerprint = metadata.fingerprint
        if fingerprint not in self._engines:
            self._engines[fingerprint] = engine_with_fingerprint(self._place, metadata)
        return self._engines[fingerprint]
