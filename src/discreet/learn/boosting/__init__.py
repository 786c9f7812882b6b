"""Boost weak hypotheses, and measure the margins of votes.

    BoostedStumps, BoostedHistograms     private: rules chosen one by one, and an additive model
    AdaBoost                             not private: the textbook's algorithm, to compare with
    margins                              the margins of any vote, ours or scikit-learn's: not private
    margin_bounds, schapire_bound, entropy_bound, breiman_bound
                                         bounds on the error from margins, with their constants

Its modules:

    cells, rules                         the public cells of columns, and hypotheses that look at one column
    smooth_boosting, cyclic_boosting     the two private algorithms, on exact sums
    boosted_stumps, boosted_histograms   their estimators, and what these share: boosted
    rule_weights                         an additive model as a vote of rules
    margins, votes, margin_plots         margins, where votes come from, and pictures
    noisy_margins, certificate           margins with noise, and what they say about new persons
    margin_bounds                        theorems
    stumps, adaboost                     the best stump, and boosting without privacy
"""

from discreet.learn.boosting.adaboost import AdaBoost
from discreet.learn.boosting.boosted_histograms import BoostedHistograms
from discreet.learn.boosting.boosted_stumps import BoostedStumps
from discreet.learn.boosting.certificate import Certificate
from discreet.learn.boosting.margin_bounds import (
    MarginBound,
    breiman_bound,
    entropy_bound,
    margin_bounds,
    schapire_bound,
)
from discreet.learn.boosting.margins import Margins, margins
from discreet.learn.boosting.noisy_margins import NoisyMargins

__all__ = [
    "AdaBoost",
    "BoostedHistograms",
    "BoostedStumps",
    "Certificate",
    "MarginBound",
    "Margins",
    "NoisyMargins",
    "breiman_bound",
    "entropy_bound",
    "margin_bounds",
    "margins",
    "schapire_bound",
]
