"""Spend budget on a sealed table: the one path that every number takes.

sealed_table    SealedTable: public metadata, an engine that is opened when it is needed, and who pays
amount          amount_of: what `epsilon` or `spend` costs, in the unit that the ledger adds up
gaussian_budget release_rho, Unit: what Gaussian noise costs, and the noise that a share of ρ buys
payer           Payer: the ledger, and the analyst and the purpose whose accounts are charged
refusal         affordable_share: what a refused release may still spend
spend           spend: look up, refuse, charge, run, record
journal         Journal: the durable state of what is charged once and asked often
threshold_test  Guard: above-threshold runs that survive a restart
"""

from discreet.kernel.amount import amount_of
from discreet.kernel.payer import Payer, expect_delta, strictest_budget, vault_budget
from discreet.kernel.sealed_table import SealedTable
from discreet.kernel.spend import Job, Ready, spend

__all__ = [
    "Job",
    "Payer",
    "Ready",
    "SealedTable",
    "amount_of",
    "expect_delta",
    "spend",
    "strictest_budget",
    "vault_budget",
]
