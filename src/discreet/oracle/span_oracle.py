"""Answer questions from a span that is measured first, and by payments.

    cache ─▶ span: is its margin small enough? ─▶ yes: free
                                               └▶ no: a certified table ─▶ free
                                                      a threshold test, if the plan has one, or pay

**What is private.** Gaussian noise on residuals (`discreet.oracle.span.residuals`), on the number of rows if the
margin is a share of them, on the largest error of a fitted table (`discreet.oracle.span.certificate`), and on
single answers. Each has a ρ that is set aside in the journal before the noise
is drawn. A plan may set a threshold test beside the span, which is private by itself. Which questions are free,
all margins and all refusals follow from public facts, from the outcomes of that test and, if the margin is a share
of the rows, from their noisy number. Only the noisy thresholds of the test, in the journal, are secret.

**What an answer promises.** One of two sentences: `discreet.oracle.span.plan.PROMISES`. Under "every", an answer
is wrong if the span as a whole failed (α/10) or its payment missed (9α/10), for any analyst; with a threshold
test, the parts are .05α for the span, .37α for the test and .58α for the payment. A certificate has .025α, of
the span's part. Under "each", an answer has all of α. The two queries of a sum or an average share alpha, so a
question has the confidence that was asked for. Theory: docs/theory/oracle.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from discreet.kernel.threshold_test import Run, Side
from discreet.mechanisms import Gaussian
from discreet.oracle.answer import Part
from discreet.oracle.fit import Measurement
from discreet.oracle.linear_query import Decomposition, Query
from discreet.oracle.marginals import FEW_CELLS
from discreet.oracle.pricing import FINE, Prices, guard, margin_of, payment_within
from discreet.oracle.span import credit
from discreet.oracle.span.certificate import Certifier
from discreet.oracle.span.confidence import split
from discreet.oracle.span.estimates import for_hypothesis
from discreet.oracle.span.measure import measured, planned
from discreet.oracle.span.plan import OraclePlan
from discreet.oracle.span.prediction import FREQUENT, Blend, Pace
from discreet.oracle.span.span import Span
from discreet.oracle.threshold_oracle import ThresholdOracle

_UNKNOWN = 1e12  # the variance of a number of rows that was not measured


class SpanOracle(ThresholdOracle):
    """Answers many questions on one charge, most of them from what it measured first. `vault.oracle` makes it."""

    _span: Span | None = None
    _certifier: Certifier | None = None
    _answers, _asked = 0, 0

    @cached_property
    def _blend(self) -> Blend:
        return Blend()

    @cached_property
    def _pace(self) -> Pace:
        return Pace()

    @property
    def plan(self) -> OraclePlan:
        """How its budget is divided, and what was expected of it."""
        return self._plan

    @property
    def rows(self) -> float:
        """The number of rows, estimated from what was measured; not a number if nothing was."""
        return float(self._known.values) if self._known.variance < _UNKNOWN else math.nan

    # -- start -------------------------------------------------------------------------------------------------

    def _begun(self) -> Prices:
        agreed = self._terms
        rows = float(self._marginals.total().values) if agreed.for_total else 0.0
        margin = margin_of(agreed, rows)
        self._plan = planned(self._journal, self._axes, agreed, margin)
        self._span = measured(self._journal, self._sums, self._axes, agreed, self._plan)
        plan = self._plan
        _, self._alpha = split(agreed.alpha, bool(plan.share), agreed.promise, bool(plan.test), plan.certificate)
        fresh = payment_within(agreed, margin, self._alpha)
        test = credit.credit_test(agreed, margin, plan.test)
        if test is None:
            known = Prices(margin, None, 0, Fraction(0), 0, *fresh)
        else:
            watch, run, gap = test
            known = Prices(margin, watch, credit.RUNS, run, gap, *fresh)
        self._guard = guard(self._journal, agreed, known)
        if self._plan.certificate and self._span is not None:
            self._certifier = Certifier(
                self._journal,
                self._sums,
                self._axes,
                agreed=agreed,
                margin=margin,
                span=self._span,
            )
        return known

    @property
    def _certificate_noise(self) -> Gaussian | None:
        return None if self._certifier is None else self._certifier.noise

    def _prepare(self) -> None:
        """Measure nothing more: the hypothesis is made when it is first needed."""
        recorded = [r["answers"] for r in self._journal.begun.values() if r["begin"] == "credit"]
        self._answers = max(recorded, default=0)

    @cached_property
    def _known(self) -> Measurement:
        """The number of rows, from all that was measured; of a huge variance if nothing was."""
        found = [self._marginals.total()] if self._terms.for_total else []
        if self._span is not None and () in self._span.tables:
            found.append(Measurement((), self._span.tables[()], self._span.variances[()]))
        if not found:  # a prediction that is not checked may as well start from the largest answer so far
            most = max((part.high for part in self._cache.values()), default=FINE)
            return Measurement((), np.array(max(most / FINE, 1.0)), _UNKNOWN)
        weights = [1 / part.variance for part in found]
        total = sum(w * float(part.values) for w, part in zip(weights, found, strict=True)) / sum(weights)
        return Measurement((), np.array(total), 1 / sum(weights))

    def _start(self) -> list[Measurement]:
        """Return marginals of up to three columns with few cells or parts, as the span estimates them."""
        return [] if self._span is None else [*for_hypothesis(self._span, self._axes, FEW_CELLS)]

    # -- one query ---------------------------------------------------------------------------------------------

    def _expect_answerable(self, wanted: Decomposition) -> None:
        """Take questions about any number of cells: neither a span nor a payment lists them."""

    def _part(self, query: Query, unchecked: bool, parts: int) -> Part:
        self._asked += 1
        return super()._part(query, unchecked, parts)

    def _released(self, query: Query, parts: int) -> Part | None:
        """Return the answer of the span, if its margin is small enough."""
        if self._span is None:
            return None
        if not self._span.reaches(query):
            return self._certified(query)
        groups = self._span.groups(query)
        margin = self._span.margin(query, groups, parts)
        if margin * FINE > self._prices.margin:
            return self._certified(query)
        value, lost = self._span.value(groups)
        found = Part.around(round(value * FINE), math.ceil((margin + lost) * FINE) + 1, "span")
        self._cache[query.text] = found
        return found

    def _fresh(self, query: Query, statement: Any, parts: int) -> Part:
        if self._buys_certificate(parts) and (known := self._certified(query)) is not None:
            return known
        # The two queries of a sum or an average would need half of the test's alpha each: they are paid for.
        runs = self._runs_if_trusted(query) if parts == 1 else None
        if runs is not None:
            predicted = self._predicted(query)
            if (said := self._vaguely(query)) is not None:
                self._blend.learn(super()._predicted(query) / FINE, *said)
            return self._checked(query, statement, predicted, runs)
        return self._paid(query, statement, 0, self._alpha / parts)

    def _paid(self, query: Query, statement: Any, predicted: int, alpha: Fraction) -> Part:
        """Answer with fresh noise that misses its margin with probability `alpha`."""
        known = self._prices
        if known.payment is None or known.single > self._journal.left:
            raise self._used_up()
        step = self._journal.begin("payment", known.single, question=query.text)
        noisy = int(known.payment.release(self._sums.value(query, statement)))
        found = Part.around(noisy, known.payment.error(1 - alpha), "paid", known.single)
        self._journal.end(step, part=found.as_json())
        self._seen += 1
        return found

    @property
    def _alpha_after_alarm(self) -> Fraction:
        return self._alpha

    def _certified(self, query: Query) -> Part | None:
        """Return the answer of a table whose largest error is known, if it is small enough."""
        if self._certifier is None or self._certifier.certificate is None:
            return None
        found = self._certifier.certificate.answer(query)
        if found is not None:
            self._cache[query.text] = found
        return found

    # -- credit ------------------------------------------------------------------------------------------------

    def _buys_certificate(self, parts: int) -> bool:
        """Buy the certificate, if credit pays for it and it is expected to save twice its cost; say if it did."""
        certifier = self._certifier
        if certifier is None or not certifier.open or parts > 1 or certifier.rho > self._left_for_payments():
            return False
        most = 2 * certifier.rho / self._prices.single
        to_come = max(self._terms.queries - self._given, 0)
        if to_come * (1 - self._plan.free) < most or to_come * certifier.covered < most:
            return False
        self._journal.end(self._journal.begin("credit", Fraction(0), answers=self._given))
        certifier.buy()
        return True

    def _runs_if_trusted(self, query: Query) -> dict[Side, Run] | None:
        """Return a run for either side, if they are there or credit buys them; None if it is better to pay."""
        known = self._prices
        if known.watch is None or not query.tabular or Fraction(self._bad, self._seen + 1) > FREQUENT:
            return None
        if self._too_risky(query):
            return None
        running = {run.side for run in self._guard.runs if not run.over}
        missing = 2 - len(running)
        cost = missing * known.run
        if missing > self._guard.to_come or cost > self._left_for_payments():
            return None
        if cost:
            self._journal.end(self._journal.begin("credit", Fraction(0), answers=self._given))
        return self._guard.ready()

    def _too_risky(self, query: Query) -> bool:
        """Return whether a query is among those that are best paid for, by the noise of its prediction."""
        known, span = self._prices, self._span
        risk = 0.0
        if known.watch is not None and span is not None and span.reaches(query):
            risk = credit.alarm(known.watch, span.predicted_deviation(span.groups(query)) * FINE)
        payments = (self._journal.left - self._guard.to_come * known.run) / known.single
        left = max(self._terms.queries - max(self._given, self._asked), 1)
        to_come = left * min(1.0, (len(self._pace) + 1) / max(self._asked, 1))
        price = float(known.single / known.run)
        return self._pace.pays(risk, price=price, payments=float(payments), to_come=to_come)

    def _predicted(self, query: Query) -> int:
        """Return what the hypothesis and the span give for a query together: a public integer."""
        found = super()._predicted(query)
        if (said := self._vaguely(query)) is None:
            return found
        return round(min(max(self._blend.predict(found / FINE, *said), 0.0), 2.0**37) * FINE)

    def _vaguely(self, query: Query) -> tuple[float, float] | None:
        """Return the span's answer and the deviation of what no fitted table knows of it; None without one."""
        span = self._span
        if span is None or not span.reaches(query):
            return None
        groups = span.groups(query)
        deviation = span.vague_deviation(groups)
        return (span.value(groups)[0], deviation) if 0 < deviation < math.inf else None

    @property
    def _given(self) -> int:
        """How many queries were answered: those that are known to be, after a restart."""
        return max(self._answers, len(self._cache))

    def _left_for_payments(self) -> Fraction:
        """Return the credit: what free answers saved. After k answers, spent ≤ s·ρ + k·(price of a payment)."""
        agreed = self._terms
        start = agreed.for_total + self._plan.share * (agreed.rho - agreed.for_total)
        return min(self._journal.left, start + self._given * self._prices.single - self._journal.spent)

    def _halved(self, part: Part) -> Part:
        return part  # parts of two were made with half of alpha each
