"""Draw rows with the marginals of a model: along a tree first, then moved until their counts are the wanted ones.

1. Rows are drawn along the tree of pairs with the most mutual information (`rows.tree`). 2. Rows that gain most
are moved, column by column, towards the model's answers about one, two and three columns, with
   an exact line search on the sum of squared differences of counts, which therefore never rises (`rows.descent`).
   Where columns have many values, answers about one and two columns come first, because they are cheaper.
3. More than 65,536 rows are drawn in blocks. What one block has too many of, the next has fewer of.

All of this is post-processing of noisy measurements, so its random numbers need not be secret, and the same seed
gives the same rows. Work is limited by numbers touched, not by seconds: rows do not depend on how busy the
machine is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from discreet.errors import Fix, ParameterError
from discreet.synth.marginals.domain import Columns
from discreet.synth.marginals.model import Model
from discreet.synth.rows.descent import SWEEPS, Descent
from discreet.synth.rows.gather import Gather
from discreet.synth.rows.products import Products, fits
from discreet.synth.rows.stream import Stream
from discreet.synth.rows.targets import (
    MOST_ROWS,
    Residual,
    counts_of,
    excess,
    pairs_of,
    tables_of,
    triples_of,
    weights_of,
)
from discreet.synth.rows.tree import Codes, planted

__all__ = ["MOST_CODES", "Codes", "Stream", "check", "sample"]

MOST_CODES = 2**31
"""The most values of all rows and columns together: eight gigabytes of codes."""

WORK = 8_000_000_000
"""The most numbers touched for a block of rows: some ten seconds of one core."""

MOST_TRIPLES = 6000
_FIRST = 12  # sweeps on columns and pairs alone


def check(count: int, columns: int) -> int:
    """Return the number of rows, or refuse more than fit into memory.

    >>> check(1000, 15)
    1000
    """
    if count * columns > MOST_CODES:
        raise ParameterError(
            f"At most {MOST_CODES // columns:,} rows of {columns} columns can be drawn.",
            found=f"{count:,}",
            fix=Fix("rows", 10**5, note="free"),
        )
    return count


def sample(
    model: Model, count: int, *, seed: int = 0, work: int = WORK, progress: Callable[[float], None] | None = None
) -> Codes:
    """Return rows of codes, one column for each column of the model.

    Args:
        model: The marginals that rows should have.
        count: The number of rows.
        seed: The same seed gives the same rows.
        work: The most numbers touched for a block of rows, after which they stay as they are.
        progress: Called with the share of the work that is done.

    >>> from discreet.synth.marginals import Domain, Evidence, Measurement, estimate
    >>> pair = Measurement((0, 1), np.array([[400.0, 100.0], [100.0, 400.0]]), 1.0)
    >>> rows = sample(estimate(Evidence(Domain(("a", "b"), (2, 2)), (pair,))), 1000)
    >>> bool(abs((rows[:, 0] == rows[:, 1]).mean() - 0.8) < 0.003)
    True
    """
    stream, domain = Stream(seed), model.domain
    blocks = -(-count // MOST_ROWS)
    ends = np.linspace(0, count, blocks + 1).astype(int)
    tables = tables_of(model, _sets(model))
    found: list[Codes] = []
    left: dict[Columns, Residual] | None = None
    for block in range(blocks):
        say = None if progress is None else (lambda done, block=block: progress((block + done) / blocks))
        size = int(ends[block + 1] - ends[block])
        wanted = counts_of(tables, size, left)
        if block + 1 == blocks:
            tables.clear()  # as large as all that follows
        found.append(_refined(model, planted(model, size, stream), wanted, stream, work, say))
        if block + 1 < blocks:
            left = {columns: excess(found[-1], table, columns, domain) for columns, table in wanted.items()}
    rows = np.concatenate(found)
    return rows[stream.order(count)] if count else rows


def _sets(model: Model) -> list[Columns]:
    width = len(model.domain)
    triples = model.domain.sets(3) if fits(model.domain) else triples_of(model, MOST_TRIPLES)
    return [*((c,) for c in range(width)), *pairs_of(model), *triples]


def _refined(
    model: Model,
    rows: Codes,
    wanted: Mapping[Columns, Residual],
    stream: Stream,
    work: int,
    say: Callable[[float], None] | None,
) -> Codes:
    """Return the rows, moved towards the wanted counts."""
    domain, impossible, weights = model.domain, model.impossible, weights_of(model)
    if fits(domain):
        dense = Products(rows, domain, wanted, weights, impossible)
        Descent(dense, stream).run(work, SWEEPS, say)
        return dense.result()
    small = {columns: table for columns, table in wanted.items() if len(columns) < 3}
    for some, sweeps, part in ((small, _FIRST, work // 4), (wanted, SWEEPS, work)):
        gather = Gather(rows, domain, some, weights, impossible)
        Descent(gather, stream).run(part, sweeps, say if some is wanted else None)
        rows = gather.result()
    return rows
