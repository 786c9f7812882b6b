"""List the mutants of the oracles: the practical one, and those of the textbook."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

CRASHES = "tests/oracle/test_crashes.py"
ORACLE_TESTS = "tests/oracle/test_oracle.py"
SUMS = "tests/oracle/test_exact_sums.py"
THRESHOLD_TEST = "tests/kernel/test_threshold_test.py"
TERMS = "tests/oracle/test_pricing.py"
TOGETHER = (
    "tests/oracle/test_replay.py::"
    "test_a_span_with_a_test_and_credit_is_private_and_its_journal_pays_for_every_release[open]"
)

PRACTICAL = [
    Mutant(
        "sums: a marginal of twice its declared sensitivity",
        "oracle/exact_sums.py",
        'sensitivity = Sensitivity(l1=self.sensitivity, each=self.sensitivity, monotonic="up")',
        'sensitivity = Sensitivity(l1=self.sensitivity // 2, each=self.sensitivity // 2, monotonic="up")',
        SUMS,
    ),
    Mutant(
        "sums: the sensitivity of a query without its grain",
        "oracle/exact_sums.py",
        "each = self.sensitivity * GRAIN",
        "each = self.sensitivity",
        SUMS,
    ),
    Mutant(
        "sums: every row is counted twice",
        "oracle/exact_sums.py",
        "return GRAIN * sum(int(weight) for weight in found.sums[:, 0])",
        "return 2 * GRAIN * sum(int(weight) for weight in found.sums[:, 0])",
        SUMS,
    ),
    Mutant(
        "measuring: drawn before it is set aside",
        "oracle/marginals.py",
        "        step = self._journal.begin(kind, rho, columns=list(columns), coarse=coarse)\n"
        "        noisy: Any = mechanism.release(self._sums.marginal(counted, statement))\n",
        "        noisy: Any = mechanism.release(self._sums.marginal(counted, statement))\n"
        "        step = self._journal.begin(kind, rho, columns=list(columns), coarse=coarse)\n",
        f"{CRASHES}::test_killed_while_it_is_made_an_oracle_is_found_or_its_charge_is_wasted",
    ),
    Mutant(
        "oracle: a payment drawn before it is set aside",
        "oracle/threshold_oracle.py",
        '        step = self._journal.begin("payment", known.single, question=query.text)\n'
        "        noisy = int(known.payment.release(self._sums.value(query, statement)))\n",
        "        noisy = int(known.payment.release(self._sums.value(query, statement)))\n"
        '        step = self._journal.begin("payment", known.single, question=query.text)\n',
        f"{CRASHES}::test_killed_at_every_point_of_asking_nothing_is_drawn_that_was_not_set_aside",
    ),
    Mutant(
        "oracle: after a crash a run goes on with the same threshold",
        "oracle/threshold_oracle.py",
        '                for run in record["runs"]:\n                    self._guard.end(run)\n',
        "                pass\n",
        f"{CRASHES}::test_killed_at_every_point_of_asking_nothing_is_drawn_that_was_not_set_aside",
    ),
    Mutant(
        "oracle: a payment from the budget of runs that are still to come",
        "oracle/threshold_oracle.py",
        "return self._journal.left - self._guard.to_come * self._prices.run",
        "return self._journal.left",
        THRESHOLD_TEST,
    ),
    Mutant(
        "journal: more than is left",
        "kernel/journal.py",
        "if rho > self.left:",
        "if self.left <= 0:",
        f"{CRASHES}::test_a_journal_refuses_what_is_more_than_is_left_and_equality_is_allowed",
    ),
    Mutant(
        "journal: what was begun and has no end is given back",
        "kernel/journal.py",
        '            self.spent += Fraction(record["rho"])\n        else:\n'
        '            self.ended[record["n"]] = record',
        '        else:\n            self.spent += Fraction(self.begun[record["n"]]["rho"])\n'
        '            self.ended[record["n"]] = record',
        f"{CRASHES}::test_a_torn_last_line_is_dropped_and_a_changed_line_is_refused",
    ),
    Mutant(
        "guard: runs are free",
        "kernel/threshold_test.py",
        '"run", self._cost, side=side,',
        '"run", 0 * self._cost, side=side,',
        THRESHOLD_TEST,
    ),
    Mutant(
        "guard: a run goes on after its alarm",
        "kernel/threshold_test.py",
        "if side not in newest or newest[side].over]",
        "if side not in newest]",
        THRESHOLD_TEST,
    ),
    Mutant(
        "guard: a new threshold after every restart",
        "kernel/threshold_test.py",
        'run = Run(NoisyThreshold(drawn, int(record["line"])), record["side"], record["run"])',
        'run = start(drawn, record["side"], record["run"])',
        THRESHOLD_TEST,
    ),
    Mutant(
        "threshold test: one threshold for queries of either side",
        "kernel/threshold_test.py",
        "if exact.sensitivity.monotonic != self.side:",
        "if False:",
        THRESHOLD_TEST,
    ),
    Mutant(
        "threshold test: a run never ends",
        "kernel/threshold_test.py",
        "self.over = gap is not None",
        "self.over = False",
        THRESHOLD_TEST,
    ),
    Mutant(
        "threshold test: comparisons without noise",
        "kernel/threshold_test.py",
        "added(exact, one_sided(self.mechanism.query_scale)) - self.value",
        "added(exact, 0) - self.value",
        THRESHOLD_TEST,
    ),
    Mutant(
        "threshold test: four thirds of ε",
        "kernel/threshold_test.py",
        "return epsilon * Fraction(9, 20), epsilon * Fraction(11, 20)",
        "return 2 * epsilon / 3, 2 * epsilon / 3",
        f"{THRESHOLD_TEST} src/discreet/kernel/threshold_test.py",
    ),
    Mutant(
        "terms: margins of answers without the slack of the threshold test",
        "oracle/pricing.py",
        "threshold = margin - slack(trial, FREE * agreed.alpha / runs)",
        "threshold = margin",
        TERMS,
    ),
    Mutant(
        "terms: every threshold with all of alpha",
        "oracle/pricing.py",
        "threshold = margin - slack(trial, FREE * agreed.alpha / runs)",
        "threshold = margin - slack(trial, agreed.alpha)",
        TERMS,
    ),
    Mutant(
        "terms: a payment for half of what it costs",
        "oracle/pricing.py",
        "rho = Fraction(sensitivity**2) / (2 * variance)",
        "rho = Fraction(sensitivity**2) / (4 * variance)",
        TERMS,
    ),
    Mutant(
        "terms: a payment beside a span for half of what it costs",
        "oracle/pricing.py",
        "rho = Fraction(sensitivity**2, 2) / variance",
        "rho = Fraction(sensitivity**2, 4) / variance",
        "tests/oracle/test_span_promise.py",
    ),
    Mutant(
        "credit: a run for half of what it loses",
        "oracle/span/credit.py",
        "return watch, cost(watch.loss).rho, gap",
        "return watch, cost(watch.loss).rho / 2, gap",
        "tests/oracle/span/test_credit.py",
    ),
    Mutant(
        "credit: one run has the doubt of all",
        "oracle/span/credit.py",
        "slack(trial, FREE * agreed.alpha / RUNS)",
        "slack(trial, FREE * agreed.alpha)",
        "tests/oracle/span/test_credit.py",
    ),
    Mutant(
        "credit: a further run is bought from the floor",
        "oracle/span_oracle.py",
        "return min(self._journal.left, start + self._given * self._prices.single - self._journal.spent)",
        "return self._journal.left",
        "tests/oracle/test_span_oracle.py",
    ),
    Mutant(
        "credit: predictions that are foreseen to raise an alarm are compared",
        "oracle/span_oracle.py",
        "if self._too_risky(query):",
        "if False:",
        "tests/oracle/test_span_oracle.py",
    ),
    Mutant(
        "prediction: payments are spent on the first risky questions",
        "oracle/span/prediction.py",
        "affordable = as_risky * to_come <= payments * len(self._risks)",
        "affordable = risk > price",
        "tests/oracle/span/test_prediction.py",
    ),
    Mutant(
        "prediction: its noise is foreseen by means over levels",
        "oracle/span/span.py",
        "return min(max(value / rows, 0.0), 1.0) if rows > 1 else mean",
        "return mean",
        "tests/oracle/span/test_span.py",
    ),
    Mutant(
        "oracle: the count of an average is charged before its sum is refused",
        "oracle/oracle.py",
        "            wanted.total.expect_table()\n",
        "            pass\n",
        "tests/oracle/test_span_oracle.py",
    ),
    Mutant(
        "span: half of the sensitivity of a residual",
        "oracle/span/residuals.py",
        "squared *= chosen.cost",
        "squared *= max(1, chosen.cost // 2)",
        "tests/oracle/span/test_residuals.py",
    ),
    Mutant(
        "span: a residual that wraps around",
        "oracle/span/residuals.py",
        "beyond = np.abs(near) >= 1.5 * 2.0**62",
        "beyond = np.zeros(near.shape, bool)",
        "tests/oracle/span/test_residuals.py",
    ),
    Mutant(
        "span: the norm of the shortest column",
        "oracle/span/strategy.py",
        "return max(1, max(sum(entry * entry for entry in column) for column in columns))",
        "return max(1, min(sum(entry * entry for entry in column) for column in columns))",
        "tests/oracle/span/test_strategy.py",
    ),
    Mutant(
        "span: rows that measure the total as well",
        "oracle/span/strategy.py",
        "    rounded[np.diag_indices(size)] -= rounded.sum(axis=1)\n",
        "",
        "tests/oracle/span/test_strategy.py",
    ),
    Mutant(
        "span: noise of half the variance for the same budget",
        "oracle/span/plan.py",
        "math.ceil(contribution**2 * Fraction(noise) / (2 * rho))",
        "math.ceil(contribution**2 * Fraction(noise) / (4 * rho))",
        "tests/oracle/span/test_span.py::test_the_noise_of_all_sets_costs_no_more_than_the_budget",
    ),
    Mutant(
        "span: drawn before it is set aside",
        "oracle/span/measure.py",
        '        step = journal.begin("span", rho, sets=[list(columns) for columns in sets])\n'
        "        sealed = sums.residuals(places, counted, wanted)\n"
        "        drawn = {columns: np.atleast_1d(noises[columns].release(sealed[columns])) for columns in sets}\n",
        "        sealed = sums.residuals(places, counted, wanted)\n"
        "        drawn = {columns: np.atleast_1d(noises[columns].release(sealed[columns])) for columns in sets}\n"
        '        step = journal.begin("span", rho, sets=[list(columns) for columns in sets])\n',
        "tests/oracle/test_span_crashes.py",
    ),
    Mutant(
        "span and test: a journal that leaves out the span",
        "oracle/span/measure.py",
        'step = journal.begin("span", rho, sets',
        'step = journal.begin("span", rho / 2, sets',
        TOGETHER,
    ),
    Mutant(
        "span and test: a journal that leaves out the runs",
        "kernel/threshold_test.py",
        'self._journal.begin("run", self._cost, side',
        'self._journal.begin("run", Fraction(0), side',
        TOGETHER,
    ),
    Mutant(
        "span and test: a payment that is free",
        "oracle/span_oracle.py",
        'step = self._journal.begin("payment", known.single, question=query.text)',
        'step = self._journal.begin("payment", Fraction(0), question=query.text)',
        TOGETHER,
    ),
    Mutant(
        "span and test: a marginal on credit that is free",
        "oracle/marginals.py",
        "step = self._journal.begin(kind, rho, columns=list(columns), coarse=coarse)",
        "step = self._journal.begin(kind, Fraction(0), columns=list(columns), coarse=coarse)",
        TOGETHER,
    ),
    Mutant(
        "span and test: a checked answer that is the exact sum",
        "oracle/threshold_oracle.py",
        'found = Part.around(predicted, known.margin, "checked")',
        'found = Part.around(self._sums._sum(query, statement), known.margin, "checked")',
        TOGETHER,
    ),
    Mutant(
        "span and test: an alarm that is raised by the exact sum",
        "kernel/threshold_test.py",
        "        gap: Any = added(exact, one_sided(self.mechanism.query_scale)) - self.value\n",
        "        gap: Any = added(exact, 0) - self.mechanism.threshold\n",
        f"{THRESHOLD_TEST} {TOGETHER}",
    ),
    Mutant(
        "plan: ranges that divide bins are promised",
        "oracle/span/plan.py",
        "deviation = math.inf if divided(box) else math.sqrt(",
        "deviation = math.sqrt(",
        "tests/oracle/span/test_plan.py",
    ),
    Mutant(
        "opening: an oracle that was made with bins is charged again",
        "oracle/open.py",
        'if agreed.start == "span" and axes != earlier:',
        "if False:",
        "tests/oracle/span/test_plan.py",
    ),
    Mutant(
        "span: a scan without numbers is measured again",
        "oracle/span/measure.py",
        "                span.forget(columns)\n",
        "                continue\n",
        "tests/oracle/test_span_oracle.py",
    ),
    Mutant(
        "span: every question with all of alpha",
        "oracle/span/span.py",
        'weight = 1 / parts if self._promise == "each" else self.weight(query)',
        "weight = 1 / parts",
        "tests/oracle/span/test_span.py",
    ),
    Mutant(
        "span: a part of alpha for every set of levels as large as for a range",
        "oracle/span/confidence.py",
        "return common / (size - 1) / math.comb(size, count)",
        "return common / (size - 1)",
        "tests/oracle/span/test_span.py",
    ),
    Mutant(
        "span: the doubt of a payment is not shared with the span",
        "oracle/span/confidence.py",
        "return (alpha * SPAN - taken, alpha * (1 - SPAN)) if span else (Fraction(0), alpha)",
        "return (alpha, alpha) if span else (Fraction(0), alpha)",
        "tests/oracle/test_span_promise.py",
    ),
    Mutant(
        "certificate: errors of one side alone",
        "oracle/span/box_search.py",
        "found = np.maximum((summed - least).max(axis=-1), (most - summed).max(axis=-1))",
        "found = (summed - least).max(axis=-1)",
        "tests/oracle/span/test_box_search.py",
    ),
    Mutant(
        "certificate: a table that wraps around",
        "oracle/span/box_search.py",
        "whole = np.clip(table, -2 * LARGEST, 2 * LARGEST).astype(np.int64)",
        "whole = table.astype(np.int64)",
        "tests/oracle/span/test_box_search.py",
    ),
    Mutant(
        "certificate: errors added up, not the largest",
        "oracle/exact_sums.py",
        "largest = max(largest, error)",
        "largest += error",
        "tests/oracle/span/test_certificate.py",
    ),
    Mutant(
        "certificate: half of its sensitivity",
        "oracle/span/certificate_price.py",
        "noise = Gaussian(min(math.floor(deviation**2), tails.WIDEST**2), agreed.sensitivity)",
        "noise = Gaussian(min(math.floor(deviation**2), tails.WIDEST**2), agreed.sensitivity // 2)",
        "tests/oracle/span/test_certificate.py",
    ),
    Mutant(
        "certificate: the tail of twice its alpha",
        "oracle/span/certificate_price.py",
        "return noise, noise.error(1 - twice)",
        "return noise, noise.error(1 - 2 * twice)",
        "tests/oracle/span/test_certificate.py",
    ),
    Mutant(
        "certificate: drawn before it is set aside",
        "oracle/span/certificate.py",
        '        step = self._journal.begin("certificate", self.rho, tables=written)\n'
        "        noisy = int(self.noise.release(self._sums.largest_error(prepared, tables, self._ordered)))\n",
        "        noisy = int(self.noise.release(self._sums.largest_error(prepared, tables, self._ordered)))\n"
        '        step = self._journal.begin("certificate", self.rho, tables=written)\n',
        "tests/oracle/span/test_certificate.py",
    ),
    Mutant(
        "certificate: bought again after a crash",
        "oracle/span/certificate.py",
        "                self.open = False  # bought once: without a bound it is spent and lost\n",
        "",
        "tests/oracle/span/test_certificate.py",
    ),
    Mutant(
        "certificate: bought from the floor",
        "oracle/span_oracle.py",
        "parts > 1 or certifier.rho > self._left_for_payments():",
        "parts > 1 or certifier.rho > self._journal.left:",
        "tests/oracle/span/test_certificate.py",
    ),
    Mutant(
        "overlap: counted again where the noise is the same",
        "oracle/span/overlap.py",
        "allowed = (low >= 0) & (high <= column.ordered) & (low < high) & (high - low < column.size)",
        "allowed = np.ones(low.shape, bool)",
        "tests/oracle/span/test_overlap.py",
    ),
    Mutant(
        "opening: half of its ρ is charged",
        "oracle/open.py",
        "Job(ZeroConcentrated(agreed.rho), run",
        "Job(ZeroConcentrated(agreed.rho / 2), run",
        f"{ORACLE_TESTS}::test_an_oracle_that_costs_more_than_is_left_is_refused_before_anything_is_made",
    ),
]

TEXTBOOK = [
    Mutant(
        "textbook, weights: a step in the wrong direction",
        "oracle/textbook/multiplicative_weights.py",
        "self.logs + step *",
        "self.logs - step *",
        "tests/oracle/textbook/test_multiplicative_weights.py",
    ),
    Mutant(
        "textbook, weights: a quarter of the mistakes",
        "oracle/textbook/multiplicative_weights.py",
        "math.floor(4 * log_of(cells)",
        "math.floor(1 * log_of(cells)",
        "tests/oracle/textbook/test_multiplicative_weights.py tests/oracle/textbook/test_online_release.py",
    ),
    Mutant(
        "textbook, queries: sums that may overflow",
        "oracle/textbook/queries.py",
        "return np.clip(counts, 0, LIMIT // 4 // (max(weight, 1) * counts.size))",
        "return counts",
        "tests/oracle/textbook/test_queries.py tests/oracle/textbook/test_interaction.py",
    ),
    Mutant(
        "textbook, queries: twice the sensitivity let in",
        "oracle/textbook/queries.py",
        "admit(histogram, vector=True, l1=sensitivity)",
        "admit(histogram, vector=True, l1=2 * sensitivity)",
        "tests/oracle/textbook/test_queries.py",
    ),
    Mutant(
        "textbook, private multiplicative weights: numbers are free",
        "oracle/textbook/pmw.py",
        "return self.line.loss * self.most_updates, self.number.loss * self.most_updates",
        "return self.line.loss * self.most_updates, self.number.loss * 0",
        "tests/oracle/textbook/test_pmw.py",
    ),
    Mutant(
        "textbook, private multiplicative weights: one line for all",
        "oracle/textbook/pmw.py",
        "            self._line = self._mechanism.line.start()\n",
        "            self._line._left = 1\n",
        "tests/oracle/textbook/test_pmw.py",
    ),
    Mutant(
        "textbook, private multiplicative weights: never over",
        "oracle/textbook/pmw.py",
        "if self._updates >= self._mechanism.most_updates:",
        "if self._updates > self._mechanism.most_updates + 10:",
        "tests/oracle/textbook/test_pmw.py",
    ),
    Mutant(
        "textbook, MWEM: one measurement charged",
        "oracle/textbook/mwem.py",
        "self.measuring.loss * self.rounds",
        "self.measuring.loss",
        "tests/oracle/textbook/test_mwem.py",
    ),
    Mutant(
        "textbook, MWEM: choices with a quarter of the noise",
        "oracle/textbook/mwem.py",
        "choosing=Exponential(share, moves)",
        "choosing=Exponential(4 * share, moves)",
        "tests/oracle/textbook/test_mwem.py",
    ),
    Mutant(
        "textbook, BLR: sensitivity without the size",
        "oracle/textbook/blr.py",
        "self.size * self.sensitivity * self.queries.grid)",
        "self.sensitivity * self.queries.grid)",
        "tests/oracle/textbook/test_blr.py",
    ),
    Mutant(
        "textbook, Hardt and Rothblum: half of the noise",
        "oracle/textbook/hardt_rothblum.py",
        "sigma = 10 *",
        "sigma = 5 *",
        "tests/oracle/textbook/test_hardt_rothblum.py",
    ),
    Mutant(
        "textbook, Hardt and Rothblum: never fails",
        "oracle/textbook/hardt_rothblum.py",
        "        self._updates += 1\n        self._refuse_if_over()\n",
        "        self._updates += 1\n",
        "tests/oracle/textbook/test_hardt_rothblum.py",
    ),
    Mutant(
        "textbook, censored: one round for all",
        "oracle/textbook/censored.py",
        "count * divergence",
        "divergence",
        "tests/oracle/textbook/test_censored.py",
    ),
    Mutant(
        "textbook, runs: go on in a child",
        "oracle/textbook/interaction.py",
        "if generation() != self._generation:",
        "if False:",
        "tests/oracle/textbook/test_interaction.py",
    ),
]

AUDITED = "tests/audit/shipped/test_oracles.py"

ORACLE = [
    Mutant(
        "PMW: charged half",
        "oracle/textbook/pmw.py",
        "return self.line.loss * self.most_updates, self.number.loss * self.most_updates",
        "return losses.Pure(self.each / 2) * self.most_updates, losses.Pure(self.each / 2) * self.most_updates",
        AUDITED,
    ),
    Mutant(
        "PMW: its Laplace half is not charged",
        "oracle/textbook/pmw.py",
        "return self.line.loss * self.most_updates, self.number.loss * self.most_updates",
        "return self.line.loss * self.most_updates, losses.Pure(0) * self.most_updates",
        AUDITED,
    ),
    Mutant(
        "BLR: drawn at twice its ε",
        "oracle/textbook/blr.py",
        "index = self.choosing.release(",
        "index = Exponential(2 * self.epsilon, self.choosing.sensitivity).release(",
        AUDITED,
    ),
    Mutant(
        "HardtRothblum: a tenth of its noise",
        "oracle/textbook/hardt_rothblum.py",
        "noisy = self._mechanism.noise.release(",
        "noisy = Laplace(self._mechanism.noise.scale / 10, self._mechanism.moves).release(",
        AUDITED,
    ),
    Mutant(
        "OnlineRelease: NaN passes",
        "oracle/textbook/online_release.py",
        "not ((weights >= 0) & (weights <= 1)).all()",
        "weights.min() < 0 or weights.max() > 1",
        "tests/oracle/textbook/test_online_release.py",
    ),
    Mutant(
        "MultiplicativeWeights: the weights rise with losses",
        "oracle/textbook/experts.py",
        "self._weights.moved(known, -self.rate)",
        "self._weights.moved(known, self.rate)",
        "tests/oracle/textbook/test_experts.py",
    ),
    *PRACTICAL,
    *TEXTBOOK,
]
