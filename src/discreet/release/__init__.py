"""Hold what leaves a vault: numbers with intervals, a label, a receipt, and their JSON.

Modules:
    estimate: Estimate, numbers with their intervals
    release: Release, the answer to a question
    released: Released, what every result has; expect_release and expect_schema, the checks that all results share
    receipt: Receipt, what was charged and what is left
    label: Label and Noise, the facts about a release
    frames: Arrow, pandas and polars
    serialize: JSON, this version and the one before; the parts that other results write and read, such as labels
    render: text, HTML and pictures
    statements: what is true of every release, of a vault or of devices
    nist: the questions of NIST SP 800-226
    registry: entries of the public registry of deployments

A result of another package (an oracle's answer, a synthetic table, a fitted model) becomes a `Released` like this:
    It inherits `released.Guarded`, and has a property `test_bits`: this guards exports and pickles.
    It has a `label`, made with `Label(product="a synthetic table", …)`, and `receipt` returns `label.receipt`. A
        result that costs nothing of its own takes `Receipt.free_of(receipt)`. Reports of devices have no vault:
        `Label(model="local", …)` with `Receipt(lifetime=…)`.
    Its JSON begins with a "schema" that `expect_schema` checks, and holds `written_label(label)`,
        `receipt.in_numbers()` and `written_estimate(estimate)`. `serialize.reading` turns damage into one error.
    Its numbers are `Estimate`s, whose `basis` says what their intervals cover.
"""

from discreet.release.estimate import Estimate
from discreet.release.label import Label
from discreet.release.receipt import Receipt
from discreet.release.release import Release
from discreet.release.released import Released

__all__ = ["Estimate", "Label", "Receipt", "Release", "Released"]
