"""Fill the label of an answer from its plan, without data."""

from __future__ import annotations

import math
from collections.abc import Iterator

from discreet.ledger.costs import described
from discreet.mechanisms import Laplace
from discreet.query import ir
from discreet.query.plan import explain
from discreet.query.plan.plan import Plan
from discreet.query.question import Question
from discreet.release.label import Label, Noise
from discreet.release.receipt import Receipt
from discreet.schema import Column
from discreet.schema.metadata import UNIT, TableMetadata


def label(plan: Plan, metadata: TableMetadata, bill: Receipt) -> Label:
    """Return the label of the release of a plan."""
    question = plan.question
    return Label(
        table=metadata.name,
        person=metadata.person,
        rows_per_person=metadata.rows_per_person,
        columns=_used(question, metadata),
        noise=tuple(_noise(plan)),
        receipt=bill,
        groups=None if not question.keys else question.groups or 0,
        version=metadata.version,
        sealed_at=metadata.sealed_at,
        engine=metadata.engine,
        notes=tuple(aggregate.note for aggregate in question.aggregates if aggregate.note),
    )


def _used(question: Question, metadata: TableMetadata) -> dict[str, Column]:
    """The columns that take part, by the names that the sealed rows give them."""
    trees = [key.code for key in question.keys]
    trees += [term.code for aggregate in question.aggregates for term in aggregate.terms]
    trees += [question.where] if question.where is not None else []
    named = {name for tree in trees for name in ir.columns_of(tree)}
    return {name: column for name, column in metadata.columns.items() if metadata.sealed_name(name) in named}


def _noise(plan: Plan) -> Iterator[Noise]:
    rows = plan.setting.rows_per_person
    if plan.selection:
        mechanism = plan.selection.mechanism
        yield Noise(
            on="which values of string keys occur, by the persons who share them",
            law="discrete Gaussian noise and a threshold",
            spread=math.sqrt(mechanism.variance) / UNIT,
            sensitivity=1,
            loss="; ".join(described(list(plan.selection.losses))),
        )
    for query, noise in plan.noises.items():
        unit = abs(float(query.unit)) / UNIT
        laplace = isinstance(noise, Laplace)
        wide = float(noise.scale) if isinstance(noise, Laplace) else math.sqrt(noise.variance)
        moves = query.sensitivity(rows, plan.setting.groups).l1 or 0
        yield Noise(
            on=query.description,
            law="discrete Laplace noise" if laplace else "discrete Gaussian noise",
            spread=wide * unit,
            sensitivity=moves * unit,
            loss="; ".join(described(noise.loss)),
        )
    for ranking in plan.rankings:
        which = f"the {explain.ranks(ranking)} quantile{'s' if len(ranking.values) > 1 else ''}"
        yield Noise(
            on=which,
            law=f"{type(ranking.values[0]).__name__} among {ranking.cells:,} candidates",
            loss="; ".join(described([value.loss for value in ranking.values])),
        )
        noise = ranking.noise
        wide = float(noise.scale) if isinstance(noise, Laplace) else math.sqrt(noise.variance)
        yield Noise(
            on=f"the rows of each bin of a tree, for the intervals of {which}",
            law="discrete Laplace noise" if isinstance(noise, Laplace) else "discrete Gaussian noise",
            spread=wide / UNIT,
            sensitivity=(ranking.tree.sensitivity(ranking.weight).l1 or 0) / UNIT,
            loss="; ".join(described(noise.loss)),
        )
