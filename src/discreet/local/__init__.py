"""Learn from devices under local differential privacy: the server never sees a raw answer.

    choose        the best protocol for a domain and an ε, with the reason
    warner        randomised response of 1965, by its probability of the truth
    protocol      the class of any protocol by its name: grr, projective, rappor, hcms, prefix-tree …

    Collection    a question to devices, with its protocol and its cost; Policy: how often a device answers
    signing       signed collections that a device can verify
    Device        the device's side: its secret, its own ledger, its reports
    Shuffler      between device and server: hides who sent what
    Aggregator    the server's side: counts reports; Answer, Estimate: the results
    sources       reports in files, Arrow, Parquet, DuckDB, Spark
    tickets       blind tickets against stuffing: one report for each invitation, without a link to it

>>> survey = Collection.design(
...     "smoking", domain=["yes", "no"], epsilon=1, window=("2026-01-01", "2026-12-31"), minimum_cohort=1
... )
>>> survey.randomiser.name, survey.lifetime
('grr', '1')

Subpackages, from the bottom up:

    primitives/    coins, probabilities over 2⁶⁴, hash families, finite fields, bitmaps
    protocols/     the randomisers: frequency/, numeric/, strings/, and their registry
    tickets/       blind signatures: one report for each invitation, without a link to it
    design/        choose a protocol, predict its error, simulate it, bound malicious reports
    collection/    domain, policy, canonical text, signature, guarantee
    device/        what a device does, and the wire format
    server/        count, shuffle, estimate
"""

from discreet.local import tickets
from discreet.local.collection import signing
from discreet.local.collection.collection import Collection
from discreet.local.collection.policy import Policy
from discreet.local.design.choose import choose
from discreet.local.device.device import Device
from discreet.local.protocols.frequency.grr import warner
from discreet.local.protocols.registry import kind as protocol
from discreet.local.server import sources
from discreet.local.server.aggregator import Aggregator
from discreet.local.server.answer import Answer
from discreet.local.server.estimate import Estimate
from discreet.local.server.shuffler import Shuffler

__all__ = [
    "Aggregator",
    "Answer",
    "Collection",
    "Device",
    "Estimate",
    "Policy",
    "Shuffler",
    "choose",
    "protocol",
    "signing",
    "sources",
    "tickets",
    "warner",
]
