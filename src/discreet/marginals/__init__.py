"""Marginals of a table over a product of columns: projections, and estimates from noisy ones.

    domain ─▶ evidence ─▶ shrinkage ─▶ estimate ─▶ model
    columns    noisy sums   towards a    totals,     any marginal, by the law
    and sizes  by weight    base         ones, pairs of largest entropy

Nothing here sees data: everything is computed from noisy numbers that were released already, so whatever is done
is post-processing and costs nothing. Theory: docs/theory/synthesis.md.
"""

from discreet.marginals.domain import Domain
from discreet.marginals.estimate import estimate
from discreet.marginals.evidence import Evidence, Measurement
from discreet.marginals.model import Model
from discreet.marginals.raking import on_simplex, rake
from discreet.marginals.shrinkage import shrink

__all__ = ["Domain", "Evidence", "Measurement", "Model", "estimate", "on_simplex", "rake", "shrink"]
