"""Present the estimates of a collection: each share with its interval and the effect of malicious reports.

A frequency is off for two reasons: the noise of honest devices, which the interval covers, and malicious reports.
A single report, honest or not, moves an estimate by at most `influence`/n, and a fraction γ of malicious reports
moves it by at most γ·influence. This is printed beside the interval and is not part of it.

    {"schema": "discreet local answer 1", "collection": …, "reports": 5000, "estimate": {…},
     "standard_errors": […], "receipt": {"spent": {"exact": "1", "value": 1.0}, "left": null, …},
     "label": {…}, …}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import Fix, ParameterError
from discreet.local.collection.collection import Collection, read
from discreet.local.server.estimate import Estimate
from discreet.local.server.label import label
from discreet.rational import Rational, rational
from discreet.release import serialize
from discreet.release.estimate import Estimate as Numbers
from discreet.release.label import Label
from discreet.release.receipt import Receipt
from discreet.release.released import Guarded, expect_schema
from discreet.render.charts import Estimated, intervals

if TYPE_CHECKING:
    import altair

SCHEMA = "discreet local answer 1"
"""The version of the JSON of an answer: the only one that is written and read."""

_SHOWN = 20  # the most values that a table shows


@dataclass(frozen=True)
class Answer(Guarded):
    """An estimate with the labels of its collection, or with the candidates or the words found.

    `label` and `receipt` are about one device: what is guaranteed to it, and what it spent at most.

    >>> import numpy as np
    >>> survey = Collection.design(
    ...     "colours", domain=["red", "green"], protocol="grr", epsilon=1, window=("2026-01-01", "2026-12-31")
    ... )
    >>> answer = Answer(survey, Estimate(np.array([0.7, 0.3]), np.array([0.01, 0.01]), n=10_000))
    >>> [label for label, *_ in answer.rows()], answer.plot().to_dict()["vconcat"][0]["layer"][0]["mark"]["type"]
    (['red', 'green'], 'bar')
    """

    collection: Collection
    estimate: Estimate
    rejected: Mapping[str, int] = field(default_factory=dict)
    repeated: int = 0
    names: tuple[str, ...] | None = None
    influence: float | None = None
    period: tuple[date, date] | None = None
    reports_per_device: int = 1

    @property
    def test_bits(self) -> bool:
        """Always False: devices draw the noise, and a server cannot know how they did."""
        return False

    @cached_property
    def label(self) -> Label:
        """Whom the answer protects (one device), how well, and by what means."""
        return label(self.collection, 1 if self.period is not None else self.collection.reports_of_a_device)

    @property
    def receipt(self) -> Receipt:
        """What one device spent at most on the reports that were counted; what it has left is not known."""
        return self.label.receipt

    def numbers(self, confidence: Rational = "0.95") -> Numbers:
        """Return the shares, or the mean, with their intervals, in the order of `labels`."""
        return self.estimate.with_intervals("mean" if self._mean else "share", confidence)

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads. Label and receipt follow from the collection, and are not read back."""
        asked, found = self.collection, self.estimate
        return {
            "schema": SCHEMA,
            "collection": asked.text.decode("ascii"),
            "labels": None if asked.labels is None else list(asked.labels),
            "names": None if self.names is None else list(self.names),
            "reports": found.n,
            "kind": found.kind,
            "estimate": serialize.written_estimate(self.numbers()),
            "standard_errors": found.standard_errors.tolist(),
            "rejected": dict(self.rejected),
            "repeated": self.repeated,
            "influence": None if self.influence is None else float(self.influence),
            "period": None if self.period is None else [day.isoformat() for day in self.period],
            "reports_per_device": self.reports_per_device,
            "receipt": self.receipt.in_numbers(),
            "label": serialize.written_label(self.label),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Answer:
        """Return the answer that `to_json` wrote."""
        expect_schema(record, SCHEMA)
        with serialize.reading("answer of a local collection"):
            asked = read(serialize.of_type(str, record["collection"]).encode("ascii"))
            if asked.digest is not None and record["labels"] is not None:
                asked = asked.with_labels(serialize.list_in(record["labels"]))
            values = np.array(serialize.read_estimate(record["estimate"]).values, np.float64)
            errors = np.array(serialize.list_in(record["standard_errors"]), np.float64)
            names, influence, period = record["names"], record["influence"], record["period"]
            found = cls(
                collection=asked,
                estimate=Estimate(
                    values, errors, serialize.integer(record["reports"]), serialize.of_type(str, record["kind"])
                ),
                rejected={str(why): serialize.integer(count) for why, count in record["rejected"].items()},
                repeated=serialize.integer(record["repeated"]),
                names=None if names is None else tuple(serialize.of_type(str, name) for name in names),
                influence=None if influence is None else float(influence),
                period=None if period is None else asked.period(date.fromisoformat(period[0])),
                reports_per_device=serialize.integer(record["reports_per_device"]),
            )
            if not len(values) == len(errors) == len(found.labels):
                raise ValueError("values, standard errors and labels are of different lengths")
            return found

    @property
    def devices(self) -> str:
        """The assumption of the standard errors about the reports of one device."""
        if (most := self.reports_per_device) > 1:
            return (
                f"Up to {most:,} of these reports may be of one device and repeat its answer: standard "
                f"errors are √{most:,} times those of as many devices. Count each period by itself to avoid this."
            )
        days = "" if self.period is None else f": those of {self.period[0]} to {self.period[1]}"
        if self.collection.policy.policy == "none" and self.period is None:
            return "Standard errors are those of reports with independent noise."
        return f"Standard errors are those of one report of each device{days}."

    @property
    def repetitions(self) -> str | None:
        """The effect of reports that several parts have counted, if there are any."""
        if not self.repeated:
            return None
        return (
            f"{self.repeated:,} of these {self.estimate.n:,} were counted by another part before. Standard errors "
            "include that, and shares are biased towards the reports that were counted again. Send equal report "
            "ids to equal parts to avoid this."
        )

    @property
    def labels(self) -> list[str]:
        """The label of each number of the estimate."""
        if self.names is not None:
            return list(self.names)
        count = len(self.estimate.values)
        if self.collection.labels is not None and len(self.collection.labels) == count:
            return list(self.collection.labels)
        return ["mean"] if count == 1 else [str(place) for place in range(count)]

    def consistent(self) -> Answer:
        """Return the nearest distribution: no share below zero, and a sum of one. It is biased, and says so."""
        if self.names is not None or self._mean:
            what = "A mean" if self._mean else "A list of some values"
            raise ParameterError(
                f"{what} is not a distribution, so it has no consistent version.", fix="Use the unbiased version."
            )
        return replace(self, estimate=self.estimate.consistent())

    @property
    def _mean(self) -> bool:
        return len(self.estimate.values) == 1 and self.collection.labels is None and self.names is None

    def malicious_shift(self, fraction: Rational = "0.01") -> float:
        """Return the largest shift of one number that this fraction of malicious reports can cause."""
        share = rational(fraction, "fraction", floats="exact")
        if not 0 <= share <= 1:
            raise ParameterError(
                "The fraction of malicious reports must be from 0 to 1.",
                found=repr(fraction),
                fix=Fix("fraction", "0.01"),
            )
        influence = self.collection.randomiser.influence if self.influence is None else self.influence
        return float(share) * float(influence)

    def rows(self, confidence: Rational = "0.95") -> list[tuple[str, float, float, float]]:
        """Return label, share, and the ends of its interval, the largest share first."""
        low, high = self.estimate.interval(confidence)
        found = zip(self.labels, self.estimate.values.tolist(), low.tolist(), high.tolist(), strict=True)
        return sorted(found, key=lambda row: -row[1])

    def plot(self, confidence: Rational = "0.95") -> altair.TopLevelMixin:
        """Draw the largest shares, or the mean, with their intervals (needs `discreet[plots]`)."""
        rows = self.rows(confidence)
        labels, values, low, high = (list(column) for column in zip(*rows, strict=True)) if rows else ([],) * 4
        name = "mean, as a share of the range" if self._mean else "share"
        held = float(rational(confidence, "confidence", floats="exact"))
        parts = [f"{self.estimate.n:,} reports at ε = {self.collection.epsilon}", self.estimate.kind]
        subtitle = ", ".join([*parts, f"{100 * held:.10g} % intervals"])
        shares = Estimated(name, values, low, high, from_zero=True)
        return intervals({"value": labels}, [shares], title=self.collection.name, subtitle=subtitle)

    def _title(self) -> str:
        refused = sum(self.rejected.values())
        parts = [f"{self.collection.name}: {self.estimate.n:,} reports", self.estimate.kind]
        parts += [f"{refused:,} refused"] * bool(refused) + [f"{self.repeated:,} repeated"] * bool(self.repeated)
        return ", ".join(parts)

    def _notes(self) -> list[str]:
        shift = self.malicious_shift("0.01")
        malicious = f"1 % of malicious reports could move a number by {shift:.4f}, beyond these intervals."
        again = [] if self.repetitions is None else [self.repetitions]
        return [self.devices, *again, malicious, *self.collection.guarantee().split("\n")]

    def __str__(self) -> str:
        rows = self.rows()
        width = max((len(label) for label, *_ in rows[:_SHOWN]), default=0)
        lines = [f"{label:<{width}}  {share:8.4f}  ({low:.4f} to {high:.4f})" for label, share, low, high in rows]
        more = [f"… and {len(rows) - _SHOWN} more"] * (len(rows) > _SHOWN)
        return "\n".join([self._title(), *lines[:_SHOWN], *more, *self._notes()])

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><td>{escape(label)}</td><td>{share:.4f}</td><td>{low:.4f} to {high:.4f}</td></tr>"
            for label, share, low, high in self.rows()[:_SHOWN]
        )
        notes = "".join(f"<p>{escape(note)}</p>" for note in self._notes())
        head = "<tr><th>value</th><th>share</th><th>95 % interval</th></tr>"
        return f"<p>{escape(self._title())}</p><table>{head}{cells}</table>{notes}"
