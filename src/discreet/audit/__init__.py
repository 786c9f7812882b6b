"""Attack any code that claims to be private: our mechanisms, and those of other projects.

    exact       enumerate all draws, compute the law of the answers, compare it with the claim: certain
    replay      run a whole computation on neighbouring tables with the released values frozen: no statistics
    black box   sample any Python callable: a lower bound on its ε, at a given confidence
    museum      mistakes that were made in practice, each caught by an attack

    battery     run every attack that applies: `check_mechanism`
    power       weaken noise step by step until it is caught
    attacks/    exact enumeration, contract, error bar, overspending, randomness
    replay/     record a computation, and replay it on neighbouring tables
    blackbox/   bound ε from below by sampling
    inputs/     subjects, pairs and neighbours to attack
    shipped/    every mechanism and protocol of this package, as subjects
    report/     verdicts, and the report as text, JSON and HTML
    museum/     broken mechanisms, each with its mended twin

>>> from discreet import audit, noise, privacy
>>> bound = audit.lower_bound(lambda bit: bit ^ noise.bernoulli("1/4"), 0, 1, samples=20_000)
>>> 0.9 < bound.epsilon <= 1.0987
True
>>> audit.check_mechanism(audit.Subject(
...     name="a coin", release=lambda bit: bit ^ noise.bernoulli("1/4"), loss=privacy.Pure(1), pairs=[(0, 1)]
... )).caught
True
"""

from discreet.audit.attacks.exact import Law, hockey_stick, law
from discreet.audit.battery import Filter, check_mechanism
from discreet.audit.blackbox.blackbox import LowerBound, lower_bound
from discreet.audit.inputs.neighbours import Neighbour, neighbours
from discreet.audit.inputs.subject import Subject
from discreet.audit.replay.recorder import primitive
from discreet.audit.replay.replay import replay
from discreet.audit.report.verdict import Report, Verdict
from discreet.audit.shipped import shipped

__all__ = [
    "Filter",
    "Law",
    "LowerBound",
    "Neighbour",
    "Report",
    "Subject",
    "Verdict",
    "check_mechanism",
    "hockey_stick",
    "law",
    "lower_bound",
    "neighbours",
    "primitive",
    "replay",
    "shipped",
]
