"""Marginals of a table over a product of columns: projections, and estimates from noisy ones.

    domain ─▶ evidence ─▶ shrinkage ─▶ estimate ─▶ model
    columns    noisy sums   towards a    totals,     any marginal, by the law
    and sizes  by weight    base         ones, pairs of largest entropy

Nothing here sees data: everything is computed from noisy numbers that were released already, so whatever is done
is post-processing and costs nothing. Theory: docs/theory/synthesis.md.
"""

from discreet.synth.marginals.domain import Domain
from discreet.synth.marginals.empirical_bayes import shrink
from discreet.synth.marginals.estimate import estimate
from discreet.synth.marginals.ipf import on_simplex, rake
from discreet.synth.marginals.measurements import Evidence, Measurement
from discreet.synth.marginals.model import Model

__all__ = ["Domain", "Evidence", "Measurement", "Model", "estimate", "on_simplex", "rake", "shrink"]
