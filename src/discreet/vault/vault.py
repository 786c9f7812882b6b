"""Seal a table, ask it, open an oracle or a synthetic table over it, and never overspend: the facade.

    seal ─▶ ask: parse ─▶ plan ─▶ charge ─▶ execute ─▶ record ─▶ release

Whatever is asked of a vault takes one path (`discreet.kernel.spend`): a record is looked up first, a refusal costs
nothing, the charge is on the disk before the engine is asked, and the answer is recorded before the analyst sees
it. A crash in between wastes budget and leaks none, and an answer that was seen is never drawn again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.kernel import Payer, SealedTable
from discreet.ledger import Budget, Ledger
from discreet.oracle.open import oracle as open_oracle
from discreet.query.preview import Preview
from discreet.rational import Rational, positive, rational
from discreet.release.release import Release
from discreet.render.html import framed
from discreet.schema import render
from discreet.schema.identifiers import quote
from discreet.schema.metadata import TableMetadata
from discreet.synth.synthesize import synthesize
from discreet.vault import ask as asking
from discreet.vault import storage as place
from discreet.vault.storage import engine_with_fingerprint, storage_at
from discreet.vault.storage.ledger_binding import own_metadata

if TYPE_CHECKING:
    from discreet.engines.engine import Engine
    from discreet.oracle.oracle import Oracle
    from discreet.query.plan.calibration import Widths
    from discreet.schema import Column
    from discreet.sealing.backends.duckdb import Progress
    from discreet.synth.synthetic import Synthetic


class Vault:
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

    @classmethod
    def seal(
        cls,
        source: Any,
        *,
        to: str | Path,
        budget: Budget,
        columns: Mapping[str, Column],
        person: str | None,
        rows_per_person: int = 1,
        name: str | None = None,
        tables: Sequence[Any] = (),
        lookups: Mapping[str, Any] | None = None,
        strict: bool = False,
        rows: str | None = None,
        memory: str | None = None,
        progress: Progress | None = None,
    ) -> Vault:
        """Seal a table into a new vault with a budget.

        Args:
            source: A file, a table or frame in memory, or a `Source`.
            to: A new directory; or an address, "postgresql://host/database#people", for rows that stay there.
            budget: What everything that is ever asked may spend.
            columns: The type and the bounds of each column that is kept.
            person: The column that names the person of a row; None if every row is a person of its own.
            rows_per_person: How many rows of a person count in full; 1 by default.
            name: The name of the table in SQL; by default that of the source.
            tables: Further sources that are joined by the person.
            lookups: Public tables that are joined by a column, by the name of that column.
            strict: Whether every charge must name an analyst with a budget; False by default.
            rows: A new table of the Spark catalogue, for rows that stay in Spark.
            memory: The memory that sealing may use, such as "2GB".
            progress: Called with what is being done and the share that is done.
        """
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
        )
        return cls(to)

    def reseal(self, source: Any, **changes: Any) -> None:
        """Give the vault a new version of its rows, under the same ledger.

        The rows of the old version stay, for questions that are running and oracles that are open. Later questions
        do not read them, so the curator may delete them then: the file `rows.duckdb` (then `rows-2.duckdb` …), or
        their table.
        """
        self._place.reseal(source, **changes)

    # -- asking -----------------------------------------------------------------------------------------------

    def ask(
        self,
        question: Any,
        *,
        epsilon: Rational | None = None,
        spend: str | None = None,
        within: Widths | None = None,
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
        within: Widths | None = None,
        confidence: Rational = "0.95",
        keys_delta: Rational | None = None,
    ) -> Preview:
        """Say what a question would cost and how accurate its answer would be. No row is read, nothing is charged.

        The parameters are those of `ask`.
        """
        # Here, so that a float is warned of at the line of the caller.
        epsilon = None if epsilon is None else positive(epsilon, "epsilon")
        keys_delta = None if keys_delta is None else rational(keys_delta, "keys_delta")
        return asking.preview(self.table(), question, asking.terms(epsilon, spend, within, confidence, keys_delta))

    def over_bound(
        self,
        *,
        epsilon: Rational | None = None,
        spend: str | None = None,
        within: Widths | None = None,
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

    # -- many questions, and rows -----------------------------------------------------------------------------

    def oracle(
        self,
        columns: Sequence[str],
        *,
        epsilon: Rational | None = None,
        spend: str | None = None,
        within: Rational = "0.01",
        confidence: Rational = "0.95",
        queries: int = 10_000,
        bins: Mapping[str, int | Sequence[Any]] | None = None,
        start: str | None = None,
        prior: Any = None,
        name: str = "",
        path: str | Path | None = None,
    ) -> Oracle:
        """Make an oracle over some columns: thousands of adaptive questions on one charge, most of them free.

        The same call again opens the same oracle, and costs nothing.

        Args:
            columns: The columns that it answers questions about.
            epsilon: The guarantee of the oracle alone: it is (epsilon, δ)-DP at the vault's δ.
            spend: A share of the whole budget instead, such as "20%".
            within: The largest margin of error: a share of the rows ("0.01"), or from 1 on a number of rows.
            confidence: The probability that each interval holds; 0.95 by default.
            queries: About how many questions can be asked before good answers raise false alarms.
            bins: How many bins a column has, or where they begin.
            start: What is measured first: "pairs", "singles" or "nothing".
            prior: A public table, or an earlier oracle over the same columns.
            name: Tells apart two oracles with the same parameters.
            path: The file of its state; beside the rows by default.
        """
        return open_oracle(
            self.table(),
            columns,
            epsilon=epsilon,
            spend=spend,
            within=within,
            confidence=confidence,
            queries=queries,
            bins=bins,
            start=start,
            prior=prior,
            name=name,
            path=path,
        )

    def synthesize(
        self,
        columns: Sequence[str] | None = None,
        *,
        epsilon: Rational | None = None,
        spend: str | None = None,
        rows: int | None = None,
        workload: Any = None,
        prior: Any = None,
        bins: Mapping[str, int | Sequence[Any]] | None = None,
        impossible: Sequence[str] = (),
        persons: bool = False,
        seed: int = 0,
        progress: Callable[[str, float], None] | None = None,
    ) -> Synthetic:
        """Make a synthetic table on one charge. The same call again is free.

        Args:
            columns: The columns of the synthetic table; by default all that are not strings.
            epsilon: The guarantee of the table alone: it is (epsilon, δ)-DP at the vault's δ.
            spend: A share of the whole budget instead, such as "20%".
            rows: How many rows come out; by default about as many as the vault has. It costs nothing.
            workload: The sets of columns whose marginals matter; by default all sets of three.
            prior: A public table with the same columns.
            bins: How many bins a column has, or where they begin.
            impossible: Conditions on two columns that no row can meet, such as "age < 15 and married".
            persons: Whether rows have ids, as many rows to an id as persons have.
            seed: Which rows are drawn. It costs nothing.
            progress: Called with what is being done and the share that is done.
        """
        return synthesize(
            self.table(),
            columns,
            epsilon=epsilon,
            spend=spend,
            rows=rows,
            workload=workload,
            prior=prior,
            bins=bins,
            impossible=impossible,
            persons=persons,
            seed=seed,
            progress=progress,
        )

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
        return framed(render.page(self.metadata) + self._ledger._repr_html_())

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
