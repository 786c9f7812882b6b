"""Turn public conditions on two columns into cells that stay empty: structural zeros.

A condition is written as in SQL, "age < 15 and married", and evaluated on the levels of the columns that it reads.
A cell is impossible if all of its levels are; bins that are only partly impossible stay possible. The condition is
the curator's knowledge and is never compared with the data. If a row contradicts it, the model is wrong there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Fix, QuestionRefused
from discreet.oracle.linear_query import Decomposition, decompose
from discreet.query import cache_key
from discreet.query.bins import Axis
from discreet.query.builder import select
from discreet.schema.metadata import TableMetadata
from discreet.synth.marginals.domain import Columns


def understood(question: object, axes: Sequence[Axis], metadata: TableMetadata) -> Decomposition:
    """Return the linear queries of a question about these columns, or refuse it by its text."""
    return decompose(cache_key.parsed(question, metadata), axes, "A synthetic table")


def parsed(condition: str, axes: Sequence[Axis], metadata: TableMetadata) -> Decomposition:
    """Return the linear query of a condition on two columns."""
    found = understood(select("count(*)").where(condition), axes, metadata)
    if len(found.count.columns) != 2:
        raise QuestionRefused(
            f"A condition of `impossible` reads two columns, and this one reads {len(found.count.columns)}.",
            found=condition,
            fix=Fix("impossible", ["age < 15 and married"], note="one condition for each two columns"),
        )
    return found


def masks(
    conditions: Sequence[str], axes: Sequence[Axis], metadata: TableMetadata
) -> dict[Columns, NDArray[np.bool_]]:
    """Return the impossible cells of pairs of columns."""
    found: dict[Columns, NDArray[np.bool_]] = {}
    for condition in conditions:
        query = parsed(condition, axes, metadata).count
        inside = query.weights >= 1
        found[query.columns] = found[query.columns] | inside if query.columns in found else inside
    return found
