"""Answer many adaptive linear queries on one charge, most of them for free.

    Oracle, OracleAnswer           the one to use, over the columns of a vault: vault.oracle(columns, epsilon=…)
    OraclePlan                     what it is expected to answer, before the charge: vault.plan_oracle(…)

Its modules:

    open              make an oracle: one charge, one journal, one record in the ledger; open it again; plan it
    oracle            what all oracles share: questions, cache, journal, hypothesis
    span_oracle       answer from residuals that are measured first, and by payments: the default
    threshold_oracle  answer from a hypothesis that a threshold test checks, and by payments
    span              residuals: strategies, variances, the plan before the charge, answers
    answer            an answer with its interval, and the arithmetic of counts, sums and averages
    label             the label and the receipt of its answers
    linear_query      turn a question into linear queries over bins
    exact_sums        exact sums from the engine, sealed
    pricing           the terms of an oracle, and what its steps cost
    two_parts         widen the parts of sums and averages
    marginals         measure noisy marginals
    hypothesis        the public table that predicts answers
    fit               fit a dense table to noisy sums
    dense_table       fast sums and products on dense tables
    prior             public knowledge to start from
    render            show an oracle and its answers
    textbook          the algorithms as published

The textbook versions work over the cells of a domain that can be listed. Each is a record with its `loss` and with
what its theorem promises about answers (`promise`). It takes a sealed histogram and gives public answers:

    MultiplicativeWeights          advice of experts, the algorithm behind all others: losses in, draws out
    OnlineRelease                  multiplicative weights without privacy, for public data
    PrivateMultiplicativeWeights   online, on AboveThreshold
    HardtRothblum                  online, the first such algorithm
    MWEM                           a workload known in advance: a synthetic histogram
    BLR                            a workload known in advance: a small synthetic database, ε-DP, tiny domains

>>> from discreet.mechanisms import Exact
>>> mechanism = PrivateMultiplicativeWeights.for_epsilon(1, cells=4, rows=10**8, queries=100, failure="0.05")
>>> run = mechanism.start(Exact([10**8, 0, 0, 0], sensitivity=1))
>>> run.ask([0, 1, 1, 0]).paid, run.ask([1, 1, 1, 1]).paid
(True, False)
"""

from discreet.oracle.answer import OracleAnswer
from discreet.oracle.oracle import Oracle
from discreet.oracle.span.plan import OraclePlan
from discreet.oracle.textbook.blr import BLR
from discreet.oracle.textbook.experts import MultiplicativeWeights
from discreet.oracle.textbook.hardt_rothblum import HardtRothblum
from discreet.oracle.textbook.interaction import Answer
from discreet.oracle.textbook.mwem import MWEM, Learned
from discreet.oracle.textbook.online_release import OnlineRelease
from discreet.oracle.textbook.pmw import PrivateMultiplicativeWeights
from discreet.oracle.textbook.queries import Queries
from discreet.oracle.textbook.theorem import Promise

__all__ = [
    "BLR",
    "MWEM",
    "Answer",
    "HardtRothblum",
    "Learned",
    "MultiplicativeWeights",
    "OnlineRelease",
    "Oracle",
    "OracleAnswer",
    "OraclePlan",
    "PrivateMultiplicativeWeights",
    "Promise",
    "Queries",
]
