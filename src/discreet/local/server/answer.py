"""Present the estimates of a collection: each share with its interval and the effect of malicious reports.

A frequency is off for two reasons: the noise of honest devices, which the interval covers, and malicious reports.
A single report, honest or not, moves an estimate by at most `influence`/n, and a fraction γ of malicious reports
moves it by at most γ·influence. This is printed beside the interval and is not part of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from html import escape
from typing import TYPE_CHECKING

from discreet.errors import Fix, ParameterError
from discreet.local.collection.collection import Collection
from discreet.local.server.estimate import Estimate
from discreet.rational import Rational, rational
from discreet.render.charts import Estimated, intervals

if TYPE_CHECKING:
    import altair

_SHOWN = 20  # the most values that a table shows


@dataclass(frozen=True)
class Answer:
    """An estimate with the labels of its collection, or with the candidates or the words found.

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
