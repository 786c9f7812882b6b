"""Make what lasts, on one charge each: oracles, synthetic tables, models, holdouts and streams.

The same call again opens what was made before, and costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.kernel import SealedTable
from discreet.oracle.open import oracle as open_oracle
from discreet.oracle.open import plan_oracle
from discreet.rational import Rational
from discreet.stream.open import stream as open_stream
from discreet.synth.synthesize import synthesize

if TYPE_CHECKING:
    from discreet.learn.estimator import PrivateEstimator
    from discreet.oracle.oracle import Oracle
    from discreet.oracle.span.plan import OraclePlan
    from discreet.stream.factorisations.units import Unit
    from discreet.synth.synthetic import Synthetic
    from discreet.validity.metric import PerRow
    from discreet.validity.vault_holdout import VaultHoldout

Estimator = TypeVar("Estimator", bound="PrivateEstimator")


class Products:
    """The part of a vault that makes what lasts. A vault gives its newest rows with `table`."""

    def table(self) -> SealedTable:
        """Return the newest rows, with who pays."""
        raise NotImplementedError

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
        promise: str = "every",
        span: Rational | None = None,
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
            start: What is measured first: "span" by default; or "pairs", "singles" or "nothing" for a hypothesis
                that a threshold test checks.
            prior: A public table, or an earlier oracle over the same columns.
            name: Tells apart two oracles with the same parameters.
            path: The file of its state; beside the rows by default.
            promise: "every", the default: an interval holds however its question was chosen. "each": for questions
                that were chosen without looking at free answers of this oracle; many more are free.
            span: The share of the budget that is measured first; by default what the plan finds best, 0 for none.
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
            promise=promise,
            span=span,
        )

    def plan_oracle(
        self,
        columns: Sequence[str],
        *,
        epsilon: Rational | None = None,
        spend: str | None = None,
        within: Rational = "0.01",
        confidence: Rational = "0.95",
        queries: int = 10_000,
        bins: Mapping[str, int | Sequence[Any]] | None = None,
        promise: str = "every",
        span: Rational | None = None,
        rows: int | None = None,
    ) -> OraclePlan:
        """Return what an oracle with these parameters is expected to answer. It is free, and reads no row.

        Args:
            columns: The columns that it would answer questions about.
            epsilon: The guarantee of the oracle alone: it is (epsilon, δ)-DP at the vault's δ.
            spend: A share of the whole budget instead, such as "20%".
            within: The largest margin of error: a share of the rows ("0.01"), or from 1 on a number of rows.
            confidence: The probability that each interval holds; 0.95 by default.
            queries: About how many questions will be asked.
            bins: How many bins a column has, or where they begin.
            promise: What intervals promise: "every" by default, or "each".
            span: The share of the budget that is measured first; by default what the plan finds best, 0 for none.
            rows: About how many rows there are, if the margin is a share of them.
        """
        return plan_oracle(
            self.table(),
            columns,
            epsilon=epsilon,
            spend=spend,
            within=within,
            confidence=confidence,
            queries=queries,
            bins=bins,
            promise=promise,
            span=span,
            rows=rows,
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

    def fit(
        self,
        estimator: Estimator,
        *,
        target: str,
        features: Sequence[str] | None = None,
        epsilon: Rational | None = None,
        spend: str | None = None,
        progress: Callable[[str, float], None] | None = None,
    ) -> Estimator:
        """Fit a model on one charge, and return a fitted copy of the estimator. The same call again is free.

        Args:
            estimator: One of `discreet.learn`, such as `LogisticRegression()`.
            target: The column to predict.
            features: The columns to predict from; by default all others that are not strings.
            epsilon: The guarantee of this model alone: it is (epsilon, δ)-DP at the vault's δ.
            spend: A share of the whole budget instead, such as "20%".
            progress: Called with what is being done and the share that is done.
        """
        from discreet.learn.fit import fit

        price: dict[str, Any] = {"epsilon": epsilon, "spend": spend}
        return fit(self.table(), estimator, target=target, features=features, progress=progress, **price)

    def holdout(
        self,
        target: str,
        features: Sequence[str] | None = None,
        *,
        epsilon: Rational | None = None,
        spend: str | None = None,
        metric: str | PerRow = "accuracy",
        confidence: Rational = "0.95",
        queries: int = 100,
        greater_is_better: bool = True,
        name: str = "",
        path: str | Path | None = None,
    ) -> VaultHoldout:
        """Make a holdout that scores models again and again, on one charge.

        Args:
            target: The column that models predict.
            features: The columns that they predict from; by default all others that are not strings.
            epsilon: The guarantee of all answers together: (epsilon, δ)-DP at the vault's δ.
            spend: A share of the whole budget instead, such as "20%".
            metric: "accuracy", "error", or a function of true and predicted values: a number in [0, 1] a row.
            confidence: The probability that the intervals of all answers hold together.
            queries: The number of answers that share the charge.
            greater_is_better: Whether a better model has a larger metric.
            name: Tells apart two holdouts with the same parameters.
            path: The file of its journal; beside the rows by default.
        """
        from discreet.validity.open import holdout

        return holdout(
            self.table(),
            target,
            features,
            epsilon=epsilon,
            spend=spend,
            metric=metric,
            confidence=confidence,
            queries=queries,
            greater_is_better=greater_is_better,
            name=name,
            path=path,
        )

    def stream(
        self,
        name: str,
        *,
        epsilon: Rational | None = None,
        spend: str | None = None,
        horizon: int | None = None,
        keys: Sequence[str] | None = None,
        window: int | None = None,
        unit: Unit | None = None,
        pan_private: bool = False,
        confidence: Rational = "0.95",
        path: str | Path | None = None,
    ) -> Any:
        """Count events about the vault's persons as they arrive, on one charge.

        Args:
            name: The name of the stream; the same name and terms open the same stream.
            epsilon: The guarantee of everything that the stream shows, at the vault's δ.
            spend: A share of the whole budget instead, such as "5%".
            horizon: The number of ticks; None, the default, for a stream without end.
            keys: The keys of a histogram; none by default, for a single count.
            window: The ticks of a sliding window; none by default, for a running total.
            unit: What is protected; by default a person with as many events as the vault allows rows.
            pan_private: Whether the state is private at every moment; not by default.
            confidence: The confidence of each interval; 0.95 by default.
            path: The file of its state; beside the rows by default.
        """
        return open_stream(
            self.table(),
            name,
            epsilon=epsilon,
            spend=spend,
            horizon=horizon,
            keys=keys,
            window=window,
            unit=unit,
            pan_private=pan_private,
            confidence=confidence,
            path=path,
        )
