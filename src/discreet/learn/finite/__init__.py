"""Choose from a finite class of hypotheses by one private selection.

    classes      stumps, conjunctions, thresholds, predicates: classes over a public schema
    mechanism    the exponential mechanism or permute-and-flip, for an ε or a ρ
    selection    choose: errors in, one hypothesis out, on a sample or a vault
    choice       Choice, SealedChoice: the hypothesis and the promise about its errors

Sample sizes for these, with proofs: docs/theory/pac.md and `discreet.learn.theorems`.
"""

from discreet.learn.finite.choice import Choice, SealedChoice
from discreet.learn.finite.classes import HypothesisClass, conjunctions, predicates, stumps, thresholds
from discreet.learn.finite.mechanism import mechanism_for
from discreet.learn.finite.selection import choose

__all__ = [
    "Choice",
    "HypothesisClass",
    "SealedChoice",
    "choose",
    "conjunctions",
    "mechanism_for",
    "predicates",
    "stumps",
    "thresholds",
]
