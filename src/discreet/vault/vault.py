"""The vault: seal a table, ask it anything, never overspend.

    seal ─▶ ask: parse ─▶ plan ─▶ charge ─▶ execute ─▶ record ─▶ release

The order is the argument. A question is parsed and planned from public facts alone, so a refusal says nothing
about the rows and costs nothing. The charge is on the disk before the engine is asked, and the answer is recorded
before anyone sees it: a crash in between wastes budget and leaks none, and an answer that was seen is never drawn
again. The same question, at the same price, is answered from the record and is free. Ordering, having and limits
are done afterwards, on what was released.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import BudgetExceeded, ParameterError
from discreet.ledger import Budget, Ledger, cost
from discreet.ledger.charge import Standing
from discreet.ledger.costs import described
from discreet.query import cache_key
from discreet.query.answer.label import label
from discreet.query.answer.presenting import presented
from discreet.query.plan import relative_accuracy as widths
from discreet.query.plan.plan import Plan, plan
from discreet.query.preview import Preview
from discreet.query.question import Question
from discreet.rational import Rational, positive, rational
from discreet.release.receipt import Receipt
from discreet.release.release import Release, columns
from discreet.schema.metadata import TableMetadata
from discreet.vault import storage as place
from discreet.vault.storage import at, marked
from discreet.vault.storage.ledger_binding import belonging

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
        self._place = at(path, memory=memory, spark=spark)
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
        within: Widths | None = None,
        confidence: Rational = "0.95",
        delta: Rational | None = None,
    ) -> Release:
        """Answer a question in SQL, or one made with `dp.select`, and charge it.

        Say what to spend (`epsilon="0.1"`) or how wide the answer may be: `within=200`, or `within="5%"`, which is
        found step by step, each twice as dear as the one before. They cost no more than `epsilon`, if that is said
        too. Where it ends first, or the budget, the last step is the answer, and notes how far it came.

        The same question is free once its answer is recorded. Two who ask it at the same moment may both pay.
        """
        epsilon = None if epsilon is None else positive(epsilon, "epsilon")  # here: a float is warned of once,
        delta = None if delta is None else rational(delta, "delta")  # at the line of whoever asks
        # Read once for the whole question: what is planned for one version must not run on the rows of another.
        metadata = self.metadata
        query = cache_key.parsed(question, metadata)
        if isinstance(within, str) and within.strip().endswith("%"):
            if delta is not None:
                raise ParameterError(f'within="{within}" is for questions without keys, which need no delta.')
            return self._step_by_step(query, metadata, within, confidence, epsilon)
        text, standing, made = self._planned(query, metadata, epsilon, within, confidence, delta)
        return presented(query, self._released(made, metadata, text, standing))

    def preview(
        self,
        question: Any,
        *,
        epsilon: Rational | None = None,
        within: Widths | None = None,
        confidence: Rational = "0.95",
        delta: Rational | None = None,
    ) -> Preview:
        """Say what a question would cost and how wide its answer would be. Nothing is asked of the rows."""
        epsilon = None if epsilon is None else positive(epsilon, "epsilon")
        delta = None if delta is None else rational(delta, "delta")
        from discreet.engines.statement import Rows
        from discreet.query.answer.execute import prepare

        metadata = self.metadata
        query = cache_key.parsed(question, metadata)
        _, standing, made = self._planned(query, metadata, epsilon, within, confidence, delta)
        prepare(made, Rows("rows", metadata.engine, metadata.limits))  # refuses what ask would refuse
        return Preview(
            question=query.text,
            expected=made.expected,
            plan=made.words,
            cost=cost(made.losses),
            affordable=self._ledger.can_afford(made.losses, analyst=self._analyst, purpose=self._purpose),
            recorded=standing.answer is not None,
            unit=standing.balances[0].unit,
        )

    def _planned(
        self,
        query: Question,
        metadata: TableMetadata,
        epsilon: Rational | None,
        within: Widths | None,
        confidence: Rational,
        delta: Rational | None,
    ) -> tuple[str, Standing, Plan]:
        """What the ledger calls a question, what it knows of it, and how it would be answered."""
        text = cache_key.text(metadata, cache_key.price(query, epsilon, within, confidence, delta))
        standing = self._standing(text)
        terms = {"epsilon": epsilon, "within": within, "confidence": confidence, "delta": delta}
        return text, standing, plan(query, metadata, budget=self._budget(standing), **terms)  # type: ignore[arg-type]

    def over_bound(
        self,
        *,
        epsilon: Rational | None = None,
        within: Widths | None = None,
        confidence: Rational = "0.95",
    ) -> Release:
        """Estimate how many persons have more rows than count in full. It is charged like any other question.

        What they add is scaled down, which no interval shows. With `where over_bound()` anything is asked of them.
        """
        from discreet.query.builder import name

        epsilon = None if epsilon is None else positive(epsilon, "epsilon")
        described = self.metadata
        counted = "*" if described.person is None else f"distinct {name(described.person)}"
        text = f"select count({counted}) as over_bound from {name(described.name)} where over_bound()"
        return self.ask(text, epsilon=epsilon, within=within, confidence=confidence)

    def _step_by_step(
        self, query: Question, metadata: TableMetadata, within: str, confidence: Rational, most: Rational | None
    ) -> Release:
        """Spend a little, look, and spend twice as much until the answer is good enough or the budget ends."""
        price = cache_key.price(query, None, within, confidence, None)
        budget = self._budget(self._standing(price))
        plans = widths.doubling(query, metadata, within=within, confidence=confidence, budget=budget, most=most)
        steps: list[Release] = []
        why = "no larger epsilon is tried" if most is None else "epsilon allows no further step"
        for made in plans:
            text = cache_key.text(metadata, f"{price} step {len(steps)}")
            try:
                steps.append(self._released(made, metadata, text, self._standing(text)))
            except BudgetExceeded:
                if not steps:
                    raise
                why = "the budget does not reach further"
                break
            if widths.reached(widths.judged(steps[-1]), within):
                return widths.billed(presented(query, steps[-1]), steps)
        last = widths.short(presented(query, steps[-1]), widths.judged(steps[-1]), within, why)
        return widths.billed(last, steps)

    def _released(self, made: Plan, metadata: TableMetadata, text: str, standing: Standing) -> Release:
        """Charge, ask the engine, record: the one path of a number. What was recorded is free."""
        if standing.answer is not None:
            return Release.from_json(json.loads(standing.answer)).again(*standing.balances)
        from discreet.query.answer.execute import execute, prepare

        engine = self._engine(metadata)
        prepared = prepare(made, engine.rows)  # what cannot be asked is refused here, and is free
        charge = self._ledger.reserve(made.losses, question=text, analyst=self._analyst, purpose=self._purpose)
        estimates = execute(prepared, engine)
        bill = Receipt(cost=charge.cost, losses=tuple(described(made.losses)), balances=charge.balances)
        keys, answers = columns(made.question, estimates)
        release = Release(
            question=made.question.text,
            keys=keys,
            aggregates=tuple(answers),
            label=label(made, metadata, bill),
            confidence=made.confidence,
            plan=made.words,
        )
        if not release.test_bits:  # what was made from test bits is nobody's answer
            self._ledger.record(charge, json.dumps(release.as_json(), ensure_ascii=False))
        return release

    # -- many questions, and rows -----------------------------------------------------------------------------

    def oracle(
        self,
        columns: Sequence[str],
        *,
        epsilon: Rational,
        delta: Rational | None = None,
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
        return _above("oracle.open").oracle(  # type: ignore[no-any-return]
            self,
            columns,
            epsilon=epsilon,
            delta=delta,
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
        epsilon: Rational,
        delta: Rational | None = None,
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
        return _above("synth.synthesize").synthesize(  # type: ignore[no-any-return]
            self,
            columns,
            epsilon=epsilon,
            delta=delta,
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
        return belonging(self._place.metadata(), self._ledger, self.place)

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
        return self._place.words

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
        from discreet.release import render as show
        from discreet.schema import render

        return show.framed(render.page(self.metadata) + self._ledger._repr_html_())

    def _standing(self, text: str) -> Standing:
        return self._ledger.standing(text, analyst=self._analyst, purpose=self._purpose)

    def _budget(self, standing: Standing) -> Budget:
        """That of the strictest account that pays: one without δ pays for pure noise only, whatever it is of."""
        if standing.balances[0].budget is None:
            raise ParameterError(f"The ledger of {self.place} has no budget.")
        budgets = [balance.budget for balance in standing.balances if balance.budget is not None]
        return min(budgets, key=lambda budget: (budget.delta, budget.epsilon))

    def _engine(self, metadata: TableMetadata) -> Engine:
        # By its mark, not by its number: a vault put back from a copy may give one number to two versions.
        mark = metadata.fingerprint
        if mark not in self._engines:
            self._engines[mark] = marked(self._place, metadata)
        return self._engines[mark]


def _above(module: str) -> Any:
    """A layer that stands on the vault. It is a method here for whoever looks for it, and no dependency."""
    return importlib.import_module(f"discreet.{module}")
