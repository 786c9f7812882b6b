"""Make synthetic tables: rows of no real person, with the marginals of the sealed rows.

`synthesize(vault, epsilon=…)` is the way in. Theory: docs/theory/synthesis.md. Its modules, in the order of use:

    synthesize         one charge, the measurements, one record
    adaptive_bins      columns of many values in few bins
    selection          the marginals to measure, and how precisely
    measure            the private algorithm
    released           what it has released so far
    person_ids         ids for the persons of a synthetic table
    structural_zeros   cells that the curator declares impossible
    marginals          a model from noisy marginals
    synthetic          the synthetic table
    rows               rows that follow the model's answers, and how closely they do
    sample, decode     its rows: codes from the model, values from codes
    answer             its answers with intervals
    evaluate           how wrong it is
    plots              a picture of that
    label, serialize   its label, and its files
"""

from discreet.synth.answer import SyntheticAnswer
from discreet.synth.evaluate import Comparison
from discreet.synth.synthesize import synthesize
from discreet.synth.synthetic import Marginal, Synthetic

__all__ = ["Comparison", "Marginal", "Synthetic", "SyntheticAnswer", "synthesize"]
