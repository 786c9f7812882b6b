"""Oracles: the practical one, and those of the textbook."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

CRASHES = "tests/oracle/test_crashes.py"
ORACLE_TESTS = "tests/oracle/test_oracle.py"
SUMS = "tests/oracle/test_exact_sums.py"
GUARD = "tests/oracle/test_guard.py"
SENTRY = "tests/oracle/test_threshold_test.py"
TERMS = "tests/oracle/test_pricing.py"

PRACTICAL = [
    Mutant(
        "sums: a marginal that a person moves twice as far as is said",
        "oracle/exact_sums.py",
        'moved = Sensitivity(l1=self.moves, each=self.moves, monotonic="up")',
        'moved = Sensitivity(l1=self.moves // 2, each=self.moves // 2, monotonic="up")',
        SUMS,
    ),
    Mutant(
        "sums: a query that a person moves by less than its grain",
        "oracle/exact_sums.py",
        "moved = self.moves * GRAIN",
        "moved = self.moves",
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
        "oracle: after a crash a check may be asked again of the same line",
        "oracle/oracle.py",
        '                for run in record["runs"]:\n                    self._guard.end(run)\n',
        "                pass\n",
        f"{CRASHES}::test_killed_at_every_point_of_asking_nothing_is_drawn_that_was_not_set_aside",
    ),
    Mutant(
        "oracle: a payment out of what the sentry has to come",
        "oracle/oracle.py",
        "return self._journal.left - self._guard.to_come * self._prices.run",
        "return self._journal.left",
        GUARD,
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
        f"{CRASHES}::test_a_torn_last_line_is_no_line_and_a_changed_one_is_seen",
    ),
    Mutant(
        "guard: runs are free",
        "oracle/guard.py",
        '"run", self._prices.run, side=side,',
        '"run", 0 * self._prices.run, side=side,',
        GUARD,
    ),
    Mutant(
        "guard: a run goes on after its alarm",
        "oracle/guard.py",
        "if side not in newest or newest[side].over]",
        "if side not in newest]",
        GUARD,
    ),
    Mutant(
        "guard: a new line after every restart",
        "oracle/guard.py",
        'run = Run(Line(drawn, int(record["line"])), record["side"], record["run"])',
        'run = sentry.start(drawn, record["side"], record["run"])',
        GUARD,
    ),
    Mutant(
        "sentry: one line for queries that go either way",
        "oracle/threshold_test.py",
        "if exact.sensitivity.monotonic != self.side:",
        "if False:",
        SENTRY,
    ),
    Mutant(
        "sentry: a run never ends",
        "oracle/threshold_test.py",
        "self.over = gap is not None",
        "self.over = False",
        SENTRY,
    ),
    Mutant(
        "sentry: comparisons without noise",
        "oracle/threshold_test.py",
        "added(exact, one_sided(self.mechanism.query_scale)) - self.height",
        "added(exact, 0) - self.height",
        SENTRY,
    ),
    Mutant(
        "sentry: four thirds of ε",
        "oracle/threshold_test.py",
        "return epsilon * Fraction(9, 20), epsilon * Fraction(11, 20)",
        "return 2 * epsilon / 3, 2 * epsilon / 3",
        f"{SENTRY} src/discreet/oracle/threshold_test.py",
    ),
    Mutant(
        "terms: widths of answers without the slack of the sentry",
        "oracle/pricing.py",
        "threshold = width - slack(trial, FREE * agreed.alpha / runs)",
        "threshold = width",
        TERMS,
    ),
    Mutant(
        "terms: every line as doubtful as the whole",
        "oracle/pricing.py",
        "threshold = width - slack(trial, FREE * agreed.alpha / runs)",
        "threshold = width - slack(trial, agreed.alpha)",
        TERMS,
    ),
    Mutant(
        "terms: a payment for half of what it costs",
        "oracle/pricing.py",
        "rho = Fraction(moves**2) / (2 * variance)",
        "rho = Fraction(moves**2) / (4 * variance)",
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
