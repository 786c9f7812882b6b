"""Watch a stream: counts that stay private at every moment, on one charge.

    from discreet.stream import Counter

    counter = Counter(epsilon=1, delta="1e-9", horizon=1440)    # the minutes of a day
    counter.add(12)                                              # twelve events in this minute
    counter.value                                                # an Estimate: the private total with its interval

    counter         Counter: the running total
    histogram       Histogram: running totals by key
    windowed        Windowed: the last ticks only
    quantiles       Quantiles: medians and others
    alert           Alert: an alarm when a count passes a threshold
    distinct        Distinct: distinct users, with a state that one look does not betray
    ticks           Arrow batches, lines and Spark's micro-batches, counted into ticks
    open            streams that a vault pays for
    session         what all streams share
    terms           what a stream may spend, and its label
    snapshot        the file of a durable stream
    answer          StreamAnswer: numbers, ticks, label, receipt
    label           StreamLabel: whom a stream protects, and what it leaves to its source
    plots           the private curve with its band
    demo_day        an invented day of visits
    factorisations/ the mechanisms: BLT, square root, binary tree

A *tick* is a public piece of time, and `add` ends one. All values of all ticks together have the guarantee that
was asked for. Theory: docs/theory/continual-observation.md and docs/theory/pan-privacy.md.
"""

from discreet.stream.alert import Alert
from discreet.stream.answer import StreamAnswer
from discreet.stream.counter import Counter
from discreet.stream.distinct import Distinct
from discreet.stream.factorisations.units import Person
from discreet.stream.histogram import Histogram
from discreet.stream.quantiles import Quantiles
from discreet.stream.ticks import bounded, feed, for_each_batch, per_tick
from discreet.stream.windowed import Windowed

__all__ = [
    "Alert",
    "Counter",
    "Distinct",
    "Histogram",
    "Person",
    "Quantiles",
    "StreamAnswer",
    "Windowed",
    "bounded",
    "feed",
    "for_each_batch",
    "per_tick",
]
