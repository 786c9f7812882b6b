"""List the mutants of the oracles: the practical one, and those of the textbook."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

CRASHES = "tests/oracle/test_crashes.py"
ORACLE_TESTS = "tests/oracle/test_oracle.py"
SUMS = "tests/oracle/test_exact_sums.py"
THRESHOLD_TEST = "tests/oracle/test_threshold_test.py"
TERMS = "tests/oracle/test_pricing.py"

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
        "oracle/oracle.py",
        '        step = self._journal.begin("payment", known.single, question=query.text)\n'
        "        noisy = int(known.payment.release(self._sums.value(query, statement)))\n",
        "        noisy = int(known.payment.release(self._sums.value(query, statement)))\n"
        '        step = self._journal.begin("payment", known.single, question=query.text)\n',
        f"{CRASHES}::test_killed_at_every_point_of_asking_nothing_is_drawn_that_was_not_set_aside",
    ),
    Mutant(
        "oracle: after a crash a run goes on with the same threshold",
        "oracle/oracle.py",
        '                for run in record["runs"]:\n                    self._guard.end(run)\n',
        "                pass\n",
        f"{CRASHES}::test_killed_at_every_point_of_asking_nothing_is_drawn_that_was_not_set_aside",
    ),
    Mutant(
        "oracle: a payment from the budget of runs that are still to come",
        "oracle/oracle.py",
        "return self._journal.left - self._guard.to_come * self._prices.run",
        "return self._journal.left",
        THRESHOLD_TEST,
    ),
    Mutant(
        "journal: more than is left",
        "oracle/journal.py",
        "if rho > self.left:",
        "if self.left <= 0:",
        f"{CRASHES}::test_a_journal_refuses_what_is_more_than_is_left_and_equality_is_allowed",
    ),
    Mutant(
        "journal: what was begun and has no end is given back",
        "oracle/journal.py",
        '            self.spent += Fraction(record["rho"])\n        else:\n'
        '            self.ended[record["n"]] = record',
        '        else:\n            self.spent += Fraction(self.begun[record["n"]]["rho"])\n'
        '            self.ended[record["n"]] = record',
        f"{CRASHES}::test_a_torn_last_line_is_dropped_and_a_changed_line_is_refused",
    ),
    Mutant(
        "guard: runs are free",
        "oracle/threshold_test.py",
        '"run", self._cost, side=side,',
        '"run", 0 * self._cost, side=side,',
        THRESHOLD_TEST,
    ),
    Mutant(
        "guard: a run goes on after its alarm",
        "oracle/threshold_test.py",
        "if side not in newest or newest[side].over]",
        "if side not in newest]",
        THRESHOLD_TEST,
    ),
    Mutant(
        "guard: a new threshold after every restart",
        "oracle/threshold_test.py",
        'run = Run(NoisyThreshold(drawn, int(record["line"])), record["side"], record["run"])',
        'run = start(drawn, record["side"], record["run"])',
        THRESHOLD_TEST,
    ),
    Mutant(
        "threshold test: one threshold for queries of either side",
        "oracle/threshold_test.py",
        "if exact.sensitivity.monotonic != self.side:",
        "if False:",
        THRESHOLD_TEST,
    ),
    Mutant(
        "threshold test: a run never ends",
        "oracle/threshold_test.py",
        "self.over = gap is not None",
        "self.over = False",
        THRESHOLD_TEST,
    ),
    Mutant(
        "threshold test: comparisons without noise",
        "oracle/threshold_test.py",
        "added(exact, one_sided(self.mechanism.query_scale)) - self.value",
        "added(exact, 0) - self.value",
        THRESHOLD_TEST,
    ),
    Mutant(
        "threshold test: four thirds of ε",
        "oracle/threshold_test.py",
        "return epsilon * Fraction(9, 20), epsilon * Fraction(11, 20)",
        "return 2 * epsilon / 3, 2 * epsilon / 3",
        f"{THRESHOLD_TEST} src/discreet/oracle/threshold_test.py",
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

ORACLE = [*PRACTICAL, *TEXTBOOK]
