"""List the mutants of synthetic tables: their cost, the sensitivity of the measurements, and the estimates."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

ACCOUNTING = "tests/kernel/test_gaussian_budget.py"
FITTING = "tests/synth/test_measure.py"
SYNTHESIZE = "tests/synth/test_synthesize.py"
PERSONS = "tests/synth/test_person_ids.py"
BINNING = "tests/synth/test_adaptive_bins.py"
ROWS = "tests/synth/rows/test_descent.py"
REPLAY = "tests/synth/test_replay.py"

SYNTH = [
    Mutant(
        "accounting: μ², not its half",
        "kernel/gaussian_budget.py",
        "return Fraction(math.floor(low * digits), digits) ** 2 / 2",
        "return Fraction(math.floor(low * digits), digits) ** 2",
        ACCOUNTING,
    ),
    Mutant(
        "accounting: δ of the estimate, not of its bound",
        "kernel/gaussian_budget.py",
        "return Fraction(math.floor(low * digits), digits) ** 2 / 2",
        "return Fraction(math.ceil(1.001 * low * digits), digits) ** 2 / 2",
        ACCOUNTING,
    ),
    Mutant(
        "accounting: parts rounded up",
        "kernel/gaussian_budget.py",
        "math.floor(_GRID * share / whole)",
        "math.ceil(_GRID * share / whole)",
        ACCOUNTING,
    ),
    Mutant(
        "accounting: many scores with the noise of one",
        "kernel/gaussian_budget.py",
        "return Gaussian(self._variance(rho, count), self.score_sensitivity(count))",
        "return Gaussian(self._variance(rho, 1), self.score_sensitivity(count))",
        ACCOUNTING,
    ),
    Mutant(
        "accounting: many scores with the sensitivity of one",
        "kernel/gaussian_budget.py",
        "return Sensitivity(entries=count, each=self.contribution)",
        "return Sensitivity(entries=count, each=self.contribution, l2_squared=self.contribution**2)",
        ACCOUNTING,
    ),
    Mutant(
        "accounting: nothing for rounding at random",
        "kernel/gaussian_budget.py",
        "math.ceil(entries * self.contribution**2 / (2 * rho)) + SMOOTHING",
        "math.ceil(entries * self.contribution**2 / (2 * rho))",
        ACCOUNTING,
    ),
    Mutant(
        "fitting: distances that may overflow",
        "synth/measure.py",
        "most = LIMIT // (4 * exact.size)",
        "most = LIMIT",
        FITTING,
    ),
    Mutant(
        "fitting: squared distances, whose sensitivity has no bound",
        "synth/measure.py",
        "return int(np.abs(np.minimum(exact, most) - public).sum())",
        "return int(((np.minimum(exact, most) - public) ** 2).sum())",
        FITTING,
    ),
    Mutant(
        "fitting: the first round spends what is for all",
        "synth/measure.py",
        '_affordable(released, parts(budget["first"], shares))',
        "_affordable(released, parts(rho, shares))",
        FITTING,
    ),
    Mutant(
        "fitting: the noise of scores is not reported",
        "synth/measure.py",
        "    released.noises.append(mechanism)\n\n\ndef _distance",
        "\n\ndef _distance",
        FITTING,
    ),
    Mutant(
        "synthesize: rows_per_person forgotten",
        "synth/synthesize.py",
        "Unit(order.metadata.rows_per_person * UNIT)",
        "Unit(UNIT)",
        f"{PERSONS}::test_noise_is_for_all_the_rows_that_a_person_may_have",
    ),
    Mutant(
        "synthesize: one-way marginals spend what is for all",
        "synth/synthesize.py",
        'parts(first["ones"], measure.one_way(fine.domain)))',
        "parts(order.rho, measure.one_way(fine.domain)))",
        f"{ACCOUNTING}::test_all_that_a_synthesis_measures_costs_what_it_is_charged",
    ),
    Mutant(
        "synthesize: half of its ρ is charged",
        "synth/synthesize.py",
        "            ZeroConcentrated(order.rho),",
        "            ZeroConcentrated(order.rho / 2),",
        f"{ACCOUNTING}::test_all_that_a_synthesis_measures_costs_what_it_is_charged",
    ),
    Mutant(
        "binning: the variance of a bin is that of a cell",
        "synth/adaptive_bins.py",
        "each = counts * measured.variance",
        "each = np.ones(len(counts)) * measured.variance",
        BINNING,
    ),
    Mutant(
        "binning: what is missing counts among the last bin",
        "synth/adaptive_bins.py",
        "edges = [*starts, *([len(fine.starts)] if fine.nullable else [])]",
        "edges = [*starts]",
        BINNING,
    ),
    Mutant(
        "evidence: sums of cells as precise as one cell",
        "synth/marginals/measurements.py",
        "return sums, self.variance * (self.values.size // sums.size)",
        "return sums, self.variance",
        "tests/synth/marginals/test_measurements.py",
    ),
    Mutant(
        "evidence: cells of unlike noise as one",
        "synth/marginals/measurements.py",
        "return sums, onto(self.each, self.columns, kept)",
        "return sums, self.variance * (self.values.size // sums.size)",
        "tests/synth/marginals/test_measurements.py",
    ),
    Mutant(
        "estimate: impossible cells are filled",
        "synth/marginals/estimate.py",
        "return table if mask is None else np.where(mask, 0.0, table)",
        "return table",
        "tests/synth/marginals/test_estimate.py",
    ),
    Mutant(
        "paths: what the first column knows is added again",
        "synth/marginals/paths.py",
        "self._correlations[np.ix_(rows, rest)] - known @ given",
        "self._correlations[np.ix_(rows, rest)] + 0 * (known @ given)",
        "tests/synth/marginals/test_paths.py",
    ),
    Mutant(
        "paths: other columns are not asked",
        "synth/marginals/paths.py",
        "others = self._narrow(others) if many else []",
        "others = []",
        "tests/synth/marginals/test_paths.py",
    ),
    Mutant(
        "fitting: the fallback to single columns spends twice",
        "synth/measure.py",
        "        # be noise. All columns are taken for independent, and each is known better.\n"
        "        measure(released, source, parts(rho, one_way(domain)))",
        "        # be noise. All columns are taken for independent, and each is known better.\n"
        "        measure(released, source, parts(2 * rho, one_way(domain)))",
        f"{FITTING}::test_a_tiny_table_has_single_columns_only_and_they_cost_the_whole_budget",
    ),
    Mutant(
        "estimate: single columns are not shrunk",
        "synth/marginals/estimate.py",
        "found[column] = on_simplex(mean, rows)",
        "found[column] = on_simplex(measured.values, rows)",
        "tests/synth/marginals/test_estimate.py",
    ),
    Mutant(
        "rows: a move is made although the sum rises",
        "synth/rows/descent.py",
        "if slope + square < 0 and (ideal >= _ENOUGH or len(chosen) == 1):",
        "if slope < 0:",
        ROWS,
    ),
    Mutant(
        "rows: tables that face other columns are not moved",
        "synth/rows/gather.py",
        "        np.subtract.at(self.values, old.ravel(), one)",
        "        np.subtract.at(self.values, new, one)",
        ROWS,
    ),
    Mutant(
        "rows: the square of a move is forgotten",
        "synth/rows/products.py",
        "square = float((np.square(exact) * self.heavy[column]).sum())",
        "square = 0.0",
        ROWS,
    ),
    Mutant(
        "rows: impossible cells are entered",
        "synth/rows/gather.py",
        "            cost[mask] += _FORBIDDEN",
        "            cost[mask] += 0",
        ROWS,
    ),
    Mutant(
        "rows: rows that begin in an impossible cell stay there",
        "synth/rows/tree.py",
        "    if not model.impossible:\n        return rows",
        "    return rows",
        "tests/synth/rows/test_tree.py",
    ),
    Mutant(
        "rows: triples that follow from pairs weigh as much as measured ones",
        "synth/rows/targets.py",
        "FOLLOWING = 0.25",
        "FOLLOWING = 1.0",
        "tests/synth/test_sample.py",
    ),
    Mutant(
        "rows: a block does not make up for the one before",
        "synth/rows/targets.py",
        "            wanted = wanted - left[columns]",
        "            wanted = wanted + left[columns]",
        "tests/synth/test_sample.py",
    ),
    Mutant(
        "rows: a bad fit is not reported",
        "synth/rows/residual.py",
        "return math.hypot(known, self.distance) > WORSE * known",
        "return math.hypot(known, self.distance) > 9 * max(1, known)",
        "tests/synth/rows/test_residual.py",
    ),
    Mutant(
        "shrinkage: a large cell that agrees with its base counts as not measured",
        "synth/marginals/empirical_bayes.py",
        "return np.maximum(np.minimum(posterior / noise, 1.0), squares / (squares + _FEW**2 * noise))",
        "return np.minimum(posterior / noise, 1.0)",
        "tests/synth/marginals/test_empirical_bayes.py",
    ),
    Mutant(
        "raking: what was measured gives way as much as what was not",
        "synth/marginals/ipf.py",
        "(1 - sure) * table",
        "table",
        "tests/synth/marginals/test_ipf.py",
    ),
    Mutant(
        "raking: what is impossible is filled",
        "synth/marginals/ipf.py",
        "np.where(table > 0, variance * sure, 0.0)",
        "variance * sure",
        "tests/synth/marginals/test_ipf.py",
    ),
    Mutant(
        "fitting: the number of rows only follows from columns",
        "synth/measure.py",
        "return {**shares, (): TOTAL} if vague else shares",
        "return shares",
        FITTING,
    ),
    Mutant(
        "selection: one pair is enough, however strong the others are",
        "synth/measure.py",
        "beyond(least[pair], pair) > _STRONG * model.total",
        "False",
        FITTING,
    ),
    Mutant(
        "selection: empty cells count like full ones",
        "synth/selection/select.py",
        "inside = expected / (expected + math.sqrt(variance))",
        "inside = expected / np.maximum(expected, 1e-9)",
        FITTING,
    ),
    Mutant(
        "raking: projected onto another total",
        "synth/marginals/ipf.py",
        "excess = np.cumsum(ordered) - total",
        "excess = np.cumsum(ordered) - ordered.sum()",
        "tests/synth/marginals/test_ipf.py",
    ),
]
