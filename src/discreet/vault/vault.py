"""The vault: seal a table, ask it anything, never overspend.

    seal ─▶ ask: parse ─▶ plan ─▶ charge ─▶ execute ─▶ record ─▶ release

The order is the argument. A question is parsed and planned from public facts alone, so a refusal says nothing
about the rows and costs nothing. The charge is on the disk before the engine is asked, and the answer is recorded
before anyone sees it: a crash in between wastes budget and leaks none, and an answer that was seen is never drawn
again. The same question, at the same price, is answered from the record and is free. Ordering, having and limits
are done afterwards, on what was released.
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

        `path` is its directory, or its address: "postgresql://host/database#people". `memory` is what the embedded
        engine may use, such as "2GB"; what needs more fails, and stays charged. `spark` is the session, if not the
        active one, for rows that are in Spark.
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
        """Seal a table into a new vault with a budget. See `sealing.seal`, and `Ledger.create` for strict.

        `to` is a new directory, or an address, "postgresql://host/database#people", for rows that stay in that
        database. `rows` names a new table of the Spark catalogue for rows that stay in Spark.
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

        The rows of the old version stay, for questions that are on their way and oracles that are open. Nothing
        that is asked or opened later reads them, so they may then be deleted: the file `rows.duckdb` (then
        `rows-2.duckdb` …), or their table.
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
        from discreet.schema.identifiers import quote

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

        The same call again opens the one that is there, and costs nothing. `within` is how far off answers may be:
        a share of the rows ("0.01"), or from 1 on so many rows. About so many `queries` can be asked before good
        answers raise false alarms. `bins` coarsens columns of many levels. `start` says what is measured first:
        "pairs", "singles" or "nothing". `prior` is a public table, or the oracle of the time before. Two oracles
        of the same terms are told apart by `name`. `path` is where its state is kept, with the rows if unsaid.
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
        """Make a synthetic table over some columns, or over all that are not texts, on one charge.

        The same call again is free. `workload` lists the sets of columns whose marginals matter, all sets of three
        if unsaid. `prior` is a public table with the same columns. `bins` says how many bins a column has, or
        where they begin. `impossible` has conditions on two columns that nobody can meet, such as "age < 15 and
        married". With `persons` rows have ids, as many to an id as persons have rows. `rows` is how many rows come
        out, and `seed` which; neither costs anything.
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

    # -- what anyone may look at ------------------------------------------------------------------------------

    @property
    def metadata(self) -> TableMetadata:
        """What is public about the table."""
        return own_metadata(self._place.metadata(), self._ledger, self.place)

    @property
    def description(self) -> TableMetadata:
        """The same as `metadata`."""
        return self.metadata

    @property
    def ledger(self) -> Ledger:
        """Who spent what, and what is left."""
        return self._ledger

    @property
    def place(self) -> str:
        """Where it is, in words that hold no password."""
        return self._place.display_name

    def close(self) -> None:
        """Let go of the files."""
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
        from discreet.render.html import framed
        from discreet.schema import render

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
