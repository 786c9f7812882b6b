"""Estimate the marginals of a table from noisy ones.

    domain            columns and their sizes
    measurements      noisy marginals, and what they say about smaller ones
    empirical_bayes   shrinkage of a noisy table towards a base
    paths             pairs of columns that follow from other pairs
    ipf               projection onto the simplex, and iterative proportional fitting
    estimate          from measurements to a model: total, one-way and two-way marginals
    model             any marginal, by maximum entropy

Nothing here reads data: everything is computed from released noisy numbers, so it is post-processing and free.
Theory: docs/theory/synthesis.md.
"""

from discreet.synth.marginals.domain import Domain
from discreet.synth.marginals.empirical_bayes import shrink
from discreet.synth.marginals.estimate import estimate
from discreet.synth.marginals.ipf import on_simplex, rake
from discreet.synth.marginals.measurements import Evidence, Measurement
from discreet.synth.marginals.model import Model

__all__ = ["Domain", "Evidence", "Measurement", "Model", "estimate", "on_simplex", "rake", "shrink"]
