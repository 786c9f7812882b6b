"""Write an additive model as a vote of rules, so that margins and their bounds apply to it.

A function of the cells of a number is a sum of its jumps: s(cell) = s₀ + Σ (s_c − s_{c−1})·[cell ≥ c]. A
function of a category is a sum over its cells, above any base b: s(cell) = b + Σ (s_c − b)·[cell = c]; the
median has the least Σ|s_c − b|. As a rule says h = 2·[it holds] − 1, a bracket is (1 + h)/2: each rule has half
of its jump, and the constant rule what is left. The sum of the absolute weights divides the score: y·f(x)/Σ|α|
is the margin.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.learn.boosting.rules import Rules

Floats = NDArray[np.float64]


def rule_weights(rules: Rules, start: float, shapes: Floats) -> Floats:
    """Return one weight for each rule, such that Σ weight·rule = start + Σ shapes of the cells, for every row.

    >>> from discreet.learn.boosting.cells import Cells
    >>> from discreet.schema import Integer
    >>> rules = Rules(Cells({"age": Integer(0, 2, missing=0)}))
    >>> rule_weights(rules, 1.0, np.array([-2.0, 0.0, 2.0])).tolist()
    [1.0, 1.0, 1.0]
    """
    weights = np.zeros(len(rules.all))
    constant = start
    places = {(rule.block, rule.first, rule.last): i for i, rule in enumerate(rules.all) if i}
    for number, block in enumerate(rules.cells.blocks):
        own = shapes[block.cells]
        base = float(own[0]) if block.ordered or block.size <= 2 else float(np.median(own))
        jumps = {(cell, cell): float(own[cell]) - base for cell in range(block.size)}
        if block.ordered:
            rises = np.diff(own[: block.width])
            jumps = {(cell, block.width - 1): float(rises[cell - 1]) for cell in range(1, block.width)}
            if block.missing:
                jumps[block.width, block.width] = float(own[block.width]) - base
        constant += base
        for (first, last), jump in jumps.items():
            if jump:  # a base that has no rule of its own has no jump either
                weights[places[number, first, last]] += jump / 2
                constant += jump / 2
    weights[0] = constant
    return weights
