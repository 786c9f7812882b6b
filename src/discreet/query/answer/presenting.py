"""A release as it was asked for: columns renamed, rows ordered and cut. It is post-processing, and costs nothing.

One release serves every order, limit and name of the same question (`discreet.query.answer.postprocess`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from discreet.query.answer import postprocess
from discreet.query.question import Question
from discreet.release.release import Release


def presented(query: Question, release: Release) -> Release:
    """Rename, order and cut: what is done to a release after it was made."""
    table: dict[str, Sequence[Any]] = dict(
        zip((key.name for key in query.keys), release.keys.values(), strict=True)
    )
    pairs = list(zip(query.aggregates, release.aggregates, strict=True))
    same = [*table] == [*release.keys] and all((a.name, a.note) == (b.name, b.note) for a, b in pairs)
    if same and query.after == postprocess.After() and query.columns == release.columns:
        return release
    table |= {aggregate.name: answer.values for aggregate, answer in pairs}
    rows = postprocess.apply(query.after, table)

    def chosen(values: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(values[row] for row in rows)

    answers = tuple(
        replace(
            answer,
            name=aggregate.name,
            note=aggregate.note,
            values=chosen(answer.values),
            low=chosen(answer.low),
            high=chosen(answer.high),
        )
        for aggregate, answer in pairs
    )
    keys = {key.name: chosen(table[key.name]) for key in query.keys}
    return replace(release, keys=keys, aggregates=answers, columns=query.columns)
