"""Local privacy: learn from devices that trust nobody. The server never sees a raw answer.

    choose        which protocol for a domain and an ε, and why
    warner        randomised response of 1965, by its probability of the truth
    protocol      the class of any protocol by its name: grr, projective, rappor, hcms, prefix-tree …

    Collection    what is asked, how devices answer, what it costs them; Policy: how often, over a life
    signing       collections that a device can believe
    Device        a device's side: its secret, its own ledger, its reports
    Shuffler      between them: forgets who sent what
    Aggregator    a server's side: counts reports; Answer, Estimate: what they say
    sources       reports in files, Arrow, Parquet, DuckDB, Spark

>>> survey = Collection.design(
...     "smoking", domain=["yes", "no"], epsilon=1, window=("2026-01-01", "2026-12-31"), minimum_cohort=1
... )
>>> survey.randomiser.name, survey.lifetime
('grr', '1')

Inside, from the bottom up:

    draws, chances, packing            fresh bits or keyed ones; probabilities over 2⁶⁴; bytes
    contract, support, estimates       what a protocol is, and what comes of it
    grr, unary, hashing, subset, hadamard, projective (on fields, spaces)    frequencies
    longitudinal, twostep              noise that stays, and noise that is fresh
    rappor, sketches, heavy_hitters, fragments (on hash_family, words)       open dictionaries and words
    one_bit, bit_flip, means, square_wave (on windows)                       numbers
    registry, choose, variance         all of them by name, and side by side
    domains, policy, descriptor, signing, guarantee                          collections
    device, allowance, frames          what a device does, and what travels
    aggregator, answers, seen, shuffler, sources                             what a server does
    shuffle, poisoning, simulate       what a crowd hides, what liars can do, a trial before deployment
"""

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
    "warner",
]
