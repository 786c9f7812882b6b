"""What nobody can be: public conditions on two columns, as cells that stay empty.

A condition is written as in SQL, "age < 15 and married", and evaluated on the levels of the columns that it
reads. A cell is impossible if all of it is; bins that are cut through are left alone. It is the curator's
knowledge, not the data's: nobody looks whether a row contradicts it, and if one does, it is the model that is
wrong there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.errors import QuestionRefused
from discreet.oracle.linear_query import Asked, selected
from discreet.query import cache_key
from discreet.query.bins import Axis
from discreet.query.builder import select
from discreet.schema.metadata import TableMetadata
from discreet.synth.marginals.domain import Columns


def understood(question: object, axes: Sequence[Axis], metadata: TableMetadata) -> Asked:
    """Return what a question asks of these columns, or refuse it by its text."""
    try:
        return selected(cache_key.parsed(question, metadata), axes)
    except QuestionRefused as refused:
        words = str(refused).replace("this oracle", "this synthetic table").replace("make the oracle", "make it")
        raise QuestionRefused(words.replace("an oracle", "a synthetic table")) from None


def parsed(condition: str, axes: Sequence[Axis], metadata: TableMetadata) -> Asked:
    """Return the cells of a condition on two columns."""
    found = understood(select("count(*)").where(condition), axes, metadata)
    if len(found.count.columns) != 2:
        raise QuestionRefused(
            f"what is impossible is a condition on two columns, and {condition!r} reads "
            f"{len(found.count.columns)}. Write one condition for every two columns."
        )
    return found


def masks(
    conditions: Sequence[str], axes: Sequence[Axis], metadata: TableMetadata
) -> dict[Columns, NDArray[np.bool_]]:
    """Return which cells of which pairs are impossible."""
    found: dict[Columns, NDArray[np.bool_]] = {}
    for condition in conditions:
        query = parsed(condition, axes, metadata).count
        inside = query.weights >= 1
        found[query.columns] = found[query.columns] | inside if query.columns in found else inside
    return found
