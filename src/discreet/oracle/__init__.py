"""Many adaptive queries, few of them paid.

    Oracle, OracleAnswer           the one to use, over the columns of a vault: vault.oracle(columns, epsilon=…)

The textbook versions, over the cells of a domain that can be listed. Each is a record with its `loss`, what its
theorem promises about answers (`promise`), and a sealed histogram in, public answers out:

    OnlineRelease                  multiplicative weights without privacy, for public data
    PrivateMultiplicativeWeights   online, on AboveThreshold
    HardtRothblum                  online, as it was first made
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
from discreet.oracle.textbook.blr import BLR
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
    "OnlineRelease",
    "Oracle",
    "OracleAnswer",
    "PrivateMultiplicativeWeights",
    "Promise",
    "Queries",
]
