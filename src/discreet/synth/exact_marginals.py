"""Add up the sealed rows by cell: the exact marginals that the engine returns.

What comes back is private: it goes into an `Exact` and nowhere else (discreet.synth.measure).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from discreet.query import ir
from discreet.query.plan.group_index import Cells, dense

if TYPE_CHECKING:
    from discreet.engines.engine import Engine
    from discreet.mechanisms.exact import Integers
    from discreet.query.bins import Axis
    from discreet.synth.marginals.domain import Columns
    from discreet.synth.measure import Source


def marginals_of(engine: Engine, axes: Sequence[Axis]) -> Source:
    """Return the source of exact marginals over these axes."""

    def marginal(columns: Columns) -> Integers:
        if not columns:  # every row is in one cell of any column, so their sum is that of all rows
            return np.asarray(marginal((0,)).sum(keepdims=True), np.int64)
        cells = Cells(tuple(axes[column].key() for column in columns))
        found = engine.run(engine.rows.sums(where=None, keys=cells.trees(), sums=[ir.sealed("w")]))
        return dense(found.sums[:, 0], cells.places(found.keys, None), cells.declared)

    return marginal
