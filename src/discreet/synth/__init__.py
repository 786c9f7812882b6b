"""Synthetic tables: rows that nobody lived, with the marginals of those who did.

    accounting ─▶ choosing ─▶ fitting ─▶ synthesize ─▶ synthetic ─▶ rows, answers, comparing
    what noise     which       the         one charge,    the table    post-processing
    costs          marginals   algorithm   one record

`synthesize(vault, epsilon=…)` is the way in. Theory: docs/theory/synthesis.md.
"""

from discreet.synth.answer import SyntheticAnswer
from discreet.synth.evaluate import Comparison
from discreet.synth.synthesize import synthesize
from discreet.synth.synthetic import Marginal, Synthetic

__all__ = ["Comparison", "Marginal", "Synthetic", "SyntheticAnswer", "synthesize"]
