"""Choose a hypothesis of a finite class by its errors: one charge, one private choice.

On a sample the result is a `Choice`. On a vault it is a `SealedChoice`, which is recorded: the same call again is
free. All errors of all hypotheses are exact weighted sums, computed in few statements (`exact_sums`), and go into
an `Exact` that only the mechanism opens. Whatever is refused is refused by the schema and the class alone, before
the charge. The claim is that of `mechanism`. Theory: docs/theory/pac.md.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from discreet.errors import Fix, ParameterError
from discreet.kernel import Job, Ready, SealedTable, amount_of, strictest_budget
from discreet.kernel import spend as spend_on
from discreet.learn.finite.choice import Choice, SealedChoice
from discreet.learn.finite.classes import HypothesisClass
from discreet.learn.finite.mechanism import Choosing, Mechanism, mechanism_for
from discreet.learn.statistical_queries.exact_sums import EngineSums, ExactSums, SampleSums
from discreet.learn.statistical_queries.query import Condition, condition, written
from discreet.learn.statistical_queries.rules import errors
from discreet.learn.statistical_queries.sample import Sample
from discreet.ledger.charge import Charge, Standing
from discreet.ledger.costs import described
from discreet.mechanisms import Exact, Exponential, Sensitivity, tails
from discreet.noise.testing import test_bits as bits_in_use
from discreet.privacy.losses import Pure
from discreet.privacy.session import Session
from discreet.query import cache_key, ir
from discreet.rational import Rational, positive
from discreet.release import Estimate, Receipt
from discreet.release.label import Label, Noise
from discreet.schema.metadata import UNIT, TableMetadata

NOTE = (
    "The hypothesis was chosen by its errors on the sealed rows, which are not released. The bound on its excess "
    "errors is a promise of the mechanism, not a measurement."
)


def choose(
    table: Sample | SealedTable,
    hypotheses: HypothesisClass,
    *,
    label: Condition,
    epsilon: Rational | None = None,
    spend: str | None = None,
    mechanism: Choosing = "best",
    confidence: Rational = "0.95",
    session: Session | None = None,
) -> Choice:
    """Choose a hypothesis with few errors. On a vault the result is a `SealedChoice`, and the same call is free.

    Args:
        table: A sample, or the sealed rows of a vault with who pays.
        hypotheses: The class, made over the schema of the table.
        label: The condition that the positive label stands for; where it is false or missing the label is
            negative.
        epsilon: The guarantee of this choice alone; at the vault's δ, if it has one.
        spend: A share of the vault's budget instead, such as "5%".
        mechanism: "exponential", "permute and flip", or by default the one with the smaller bound.
        confidence: The confidence of the bound on the excess errors.
        session: The session that pays for a choice from a sample; by default one of its own, of this epsilon.

    >>> from discreet.learn import finite
    >>> from discreet.learn.statistical_queries import Sample
    >>> from discreet.schema import Boolean, Integer
    >>> columns = {"age": Integer(0, 99), "ill": Boolean()}
    >>> ages = list(range(100)) * 20
    >>> rows = Sample.of({"age": ages, "ill": [age >= 60 for age in ages]}, columns)
    >>> found = choose(rows, finite.stumps(columns, ["age"], cuts=9), label="ill", epsilon=1)
    >>> found.condition
    '"age" >= 60'
    >>> print(found)
    "age" >= 60: at most 5.21 errors more than the best of 20 stumps (95 %)
    """
    metadata = table.metadata
    _expect_schema(hypotheses, metadata)
    wanted = condition(metadata, label)
    trees = [errors(tree, wanted, whole=1) for tree in hypotheses.trees]
    if isinstance(table, SealedTable):
        if session is not None:
            raise ParameterError("A choice from a vault is charged to its ledger.", fix="Leave the session out.")
        return _sealed(table, hypotheses, label, trees, epsilon, spend, mechanism, confidence)
    if epsilon is None or spend is not None:
        raise ParameterError("A choice from a sample needs an epsilon.", fix=Fix("epsilon", 1))
    sums = SampleSums(table)
    prepared = sums.prepare(trees)
    chosen = mechanism_for(
        positive(epsilon, "epsilon"),
        True,
        weight=sums.weight,
        candidates=len(hypotheses),
        choosing=mechanism,
        confidence=confidence,
    )
    (session or Session(Pure(chosen.epsilon))).charge(chosen.loss)  # type: ignore[arg-type]
    index = int(chosen.release(scores(sums, prepared)))
    return Choice(
        condition=hypotheses.texts[index],
        hypotheses=len(hypotheses),
        kind=hypotheses.kind,
        excess=_excess(chosen, len(hypotheses), confidence),
        metadata=metadata,
    )


def scores(sums: ExactSums, prepared: Any) -> Exact:
    """Return minus the weighted errors of every hypothesis, sealed: none rises when a person joins."""
    wrong = sums.run(prepared)
    return Exact([-count for count in wrong], Sensitivity(each=sums.weight, monotonic="down"))


def _sealed(
    table: SealedTable,
    hypotheses: HypothesisClass,
    label: Condition,
    trees: Sequence[Any],
    epsilon: Rational | None,
    spend: str | None,
    mechanism: Choosing,
    confidence: Rational,
) -> SealedChoice:
    metadata = table.metadata
    balances = table.payer.balances()
    pure = strictest_budget(balances).pure
    amount = amount_of(balances, epsilon=epsilon, spend=spend)
    chosen = mechanism_for(
        amount,
        pure,
        weight=metadata.rows_per_person * UNIT,
        candidates=len(hypotheses),
        choosing=mechanism,
        confidence=confidence,
    )
    excess = _excess(chosen, len(hypotheses), confidence)
    price = f"{'epsilon' if pure else 'rho'} {amount}, {_name(chosen)}, confidence {excess.confidence}"
    text = f"best of {len(hypotheses)} {hypotheses.kind} ({hypotheses.digest}) for {written(label)} [{price}]"

    def prepare(ready: Ready) -> Job[SealedChoice]:
        sums = EngineSums(ready.engine, metadata)
        prepared = sums.prepare(trees)

        def run(charge: Charge) -> SealedChoice:
            index = int(chosen.release(scores(sums, prepared)))
            receipt = Receipt(charge.cost, tuple(described(chosen.loss)), charge.balances)
            return SealedChoice(
                condition=hypotheses.texts[index],
                hypotheses=len(hypotheses),
                kind=hypotheses.kind,
                excess=excess,
                metadata=metadata,
                label=_label(metadata, hypotheses, trees, chosen, receipt),
                test_bits=bits_in_use() is not None,
            )

        def write(found: SealedChoice) -> str | None:
            return None if found.test_bits else json.dumps(found.to_json(), ensure_ascii=False)

        return Job(chosen.loss, run=run, write=write)

    def read(standing: Standing) -> SealedChoice:
        found = SealedChoice.from_json(json.loads(standing.answer or ""))
        return replace(found, free=True, label=found.label.now(*standing.balances))

    return spend_on(table, [cache_key.text(metadata, text)], read=read, prepare=prepare)


def _excess(chosen: Mechanism, candidates: int, confidence: Rational) -> Estimate:
    """Return the bound on how many more errors the choice has than the best hypothesis, in rows."""
    bound = chosen.error(confidence, candidates=candidates) / UNIT
    return Estimate(
        "excess errors",
        [None],
        [0.0],
        [bound],
        note="more errors than the best hypothesis, in rows: a promise of the mechanism",
        kind="sum",
        test_bits=False,
        confidence=1 - tails.alpha(confidence),
    )


def _label(
    metadata: TableMetadata,
    hypotheses: HypothesisClass,
    trees: Sequence[Any],
    chosen: Mechanism,
    receipt: Receipt,
) -> Label:
    read = frozenset[str]().union(*(ir.columns_of(tree) for tree in trees))
    columns = {name: c for name, c in metadata.columns.items() if metadata.sealed_name(name) in read}
    return Label(
        table=metadata.name,
        person=metadata.person,
        rows_per_person=metadata.rows_per_person,
        columns=columns,
        noise=[
            Noise(
                on=f"the choice among {len(hypotheses):,} {hypotheses.kind} by their errors",
                law=_name(chosen),
                spread=float(chosen.scale) / UNIT,
                sensitivity=float(metadata.rows_per_person),
                loss="; ".join(described(chosen.loss)),
            )
        ],
        receipt=receipt,
        version=metadata.version,
        sealed_at=metadata.sealed_at,
        engine=metadata.engine,
        product="a hypothesis of a finite class",
        notes=[NOTE],
    )


def _name(chosen: Mechanism) -> str:
    return "the exponential mechanism" if isinstance(chosen, Exponential) else "permute-and-flip"


def _expect_schema(hypotheses: HypothesisClass, metadata: TableMetadata) -> None:
    if list(hypotheses.metadata.columns.items()) != list(metadata.columns.items()):
        raise ParameterError(
            "The class was made over other columns than those of the table.",
            found=", ".join(hypotheses.metadata.columns),
            fix="Make it over the table itself, such as stumps(table).",
        )
