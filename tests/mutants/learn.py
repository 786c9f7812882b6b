"""List the mutants of learning: sensitivities, noise, what is charged, and the theorems beneath."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

FEATURES = "tests/learn/test_feature_map.py"
ENGINES = "tests/learn/test_examples_on_engines.py"
GRADIENTS = "tests/learn/methods/test_gradients.py"
HATS = "tests/learn/methods/test_hat_sums.py"
PROBLEM = "tests/learn/methods/test_problem.py"
OBJECTIVE = "tests/learn/methods/test_objective_perturbation.py"
OUTPUT = "tests/learn/methods/test_output_perturbation.py"
DESCENT = "tests/learn/methods/test_gradient_descent.py"
SOFTMAX = "tests/learn/methods/test_softmax.py"
CLASSES = "tests/learn/methods/test_softmax_objective.py"
BOUNDED = "tests/learn/methods/test_bounded_posterior.py"
POSTERIOR = "tests/learn/methods/test_posterior_sampling.py"
REGRESSION = "tests/learn/test_linear_regression.py"
BAYES = "tests/learn/test_naive_bayes.py"
STUMPS = "tests/learn/boosting/test_smooth_boosting.py"
HISTOGRAMS = "tests/learn/boosting/test_cyclic_boosting.py"
BOOSTED = "tests/learn/boosting/test_boosted.py"
SEARCH = "tests/learn/test_selection.py"
THEOREMS = "tests/privacy/theorems/learning"
ENTRIES = "tests/audit/shipped/test_learning.py"

LEARN = [
    # -- rows -------------------------------------------------------------------------------------------------
    Mutant(
        "features: rounded, so that a row may be longer than 1",
        "learn/feature_map.py",
        "return np.trunc(made, out=made)",
        "return np.rint(made, out=made)",
        FEATURES,
    ),
    Mutant(
        "features: rows are not scaled to norm 1",
        "learn/feature_map.py",
        "made *= (SCALE / np.sqrt(square))[:, None]",
        "made *= SCALE / np.sqrt(2.0)",
        FEATURES,
    ),
    Mutant(
        "learning rows: a person's rows do not share one weight",
        "engines/statement.py",
        'if several else "w"',
        'if False else "w"',
        ENGINES,
    ),
    Mutant(
        "learning rows: a weight depends on other persons",
        "engines/statement.py",
        "SUM(w) OVER (PARTITION BY person)",
        "SUM(w) OVER ()",
        ENGINES,
    ),
    Mutant(
        "learning rows: totals that overflow",
        "engines/examples.py",
        "wide = [array.astype(object) for array in held]",
        "wide = list(held)",
        "src/discreet/engines/examples.py",
    ),
    Mutant(
        "learning rows: a row without a class counts in gradients",
        "learn/methods/gradients.py",
        "weights = np.where(codes < 0, 0, batch.weights).astype(np.int16)",
        "weights = np.asarray(batch.weights, np.int16)",
        GRADIENTS,
    ),
    Mutant(
        "hats: rows rounded up are longer than 1",
        "learn/methods/hat_sums.py",
        "np.floor(2.0**UNIT * (1 - 2.0**-40) / np.sqrt(square))",
        "np.ceil(2.0**UNIT * (1 - 2.0**-40) / np.sqrt(square))",
        HATS,
    ),
    Mutant(
        "hats: the intercept is not in the norm of a row",
        "learn/methods/hat_sums.py",
        "square = np.full(batch.size, self.constant**2)",
        "square = np.full(batch.size, 1)",
        HATS,
    ),
    Mutant(
        "hats: the second hat is not in the norm of a row",
        "learn/methods/hat_sums.py",
        "square += (one.first**2 + one.second**2)[found[name]]",
        "square += (one.first**2)[found[name]]",
        HATS,
    ),
    Mutant(
        "hats: a row without a class counts in gradients",
        "learn/methods/hat_sums.py",
        "return Batch(found, np.where(codes < 0, 0, batch.weights).astype(np.int16))",
        "return Batch(found, np.asarray(batch.weights, np.int16))",
        HATS,
    ),
    Mutant(
        "hats: tables are rounded whatever all rows feel of it",
        "learn/methods/hat_sums.py",
        "(len(self.columns) + 1) * 2.0 ** (-bits - 1) > _ERROR:",
        "(len(self.columns) + 1) * 2.0 ** (-bits - 1) > 1e9:",
        HATS,
    ),
    # -- objective perturbation -------------------------------------------------------------------------------
    Mutant(
        "objective: σ calibrated without count and output",
        "learn/methods/objective_perturbation.py",
        "beside = math.sqrt(2 * float(paid + output + bent)) * (1 + 2**-40)",
        "beside = 0.0",
        OBJECTIVE,
    ),
    Mutant(
        "objective: half the noise on the output",
        "learn/methods/objective_perturbation.py",
        "least = math.ceil(Fraction(moved**2) / (2 * output)) + tolerance.SMOOTHING",
        "least = math.ceil(Fraction(moved**2) / (8 * output)) + tolerance.SMOOTHING",
        OBJECTIVE,
    ),
    Mutant(
        "objective: no noise on the output",
        "learn/methods/objective_perturbation.py",
        "noisy = release.release(exact)",
        "noisy = np.rint(theta * 2.0**GRID).astype(np.int64)",
        OBJECTIVE,
    ),
    Mutant(
        "objective: half the noise in the objective",
        "learn/methods/objective_perturbation.py",
        "return noise.discrete_gaussian(variance, feature_map.size)",
        "return noise.discrete_gaussian(variance // 4, feature_map.size)",
        OBJECTIVE,
    ),
    Mutant(
        "objective: λ below what the noise is calibrated for",
        "learn/methods/objective_perturbation.py",
        "lam = float(_lam(factor, loss, price.epsilon))",
        "lam = float(_lam(factor / 4, loss, price.epsilon))",
        OBJECTIVE,
    ),
    Mutant(
        "objective: the solver's tolerance is not paid",
        "learn/methods/objective_perturbation.py",
        "paid = Fraction(_SLACK * TOLERANCE)",
        "paid = Fraction(0)",
        OBJECTIVE,
    ),
    Mutant(
        "objective: the grid of the noise is not paid",
        "learn/methods/objective_perturbation.py",
        "away = tolerance.gaussian_error(_GRAIN, feature_map.size, failure)",
        "away = Fraction(0)",
        OBJECTIVE,
    ),
    Mutant(
        "objective: Laplace scale by the l2 norm of a row",
        "learn/methods/objective_perturbation.py",
        "size, norm = feature_map.size, feature_map.l1",
        "size, norm = feature_map.size, 1",
        OBJECTIVE,
    ),
    Mutant(
        "objective: R/σ charged as Gaussian DP",
        "learn/methods/objective_perturbation.py",
        "mu = short(Fraction(gdp(sigma=sigma, lam=lam, loss=loss.law)), up=True)",
        "mu = short(1 / sigma, up=True)",
        OBJECTIVE,
    ),
    Mutant(
        "solver: gives up where it should not return",
        "learn/methods/solver.py",
        "    if size <= tolerance:\n        return theta\n    raise DiscreetError(",
        "    return theta\n    raise DiscreetError(",
        "tests/learn/methods/test_solver.py",
    ),
    Mutant(
        "intervals: half the noise on the Hessian",
        "learn/methods/curvature.py",
        "math.ceil(Fraction(square) / (2 * self.rho)) + SMOOTHING",
        "math.ceil(Fraction(square) / (8 * self.rho)) + SMOOTHING",
        f"tests/learn/methods/test_curvature.py {ENTRIES}",
    ),
    Mutant(
        "intervals: the curvature of a row is an eighth",
        "learn/methods/curvature.py",
        "largest = self.law.curvature / (4 if self.law.saturates else 1)",
        "largest = self.law.curvature / (8 if self.law.saturates else 1)",
        "tests/learn/methods/test_curvature.py",
    ),
    Mutant(
        "intervals: sums of curvatures that floats do not hold",
        "learn/methods/gradients.py",
        "while largest_curvature(law) * found > _LARGEST:",
        "while largest_curvature(law) * found > _LARGEST * 2**40:",
        GRADIENTS,
    ),
    Mutant(
        "intervals: the Hessian is not charged",
        "learn/methods/objective_perturbation.py",
        "losses.append(ZeroConcentrated(bent))",
        "pass",
        "tests/learn/methods/test_curvature.py",
    ),
    # -- the count --------------------------------------------------------------------------------------------
    Mutant(
        "count: half the noise",
        "learn/methods/problem.py",
        "math.ceil(Fraction(WHOLE**2) / (2 * rho)) + SMOOTHING",
        "math.ceil(Fraction(WHOLE**2) / (8 * rho)) + SMOOTHING",
        f"{PROBLEM} {OBJECTIVE}",
    ),
    Mutant(
        "count: exact, for the choice of the map",
        "learn/methods/problem.py",
        "found = self.mechanism.release(Exact(counted(examples), Sensitivity(entries=1, each=WHOLE)))",
        "found = counted(examples)",
        f"{PROBLEM} {OBJECTIVE}",
    ),
    # -- output perturbation ----------------------------------------------------------------------------------
    Mutant(
        "output: the solver's tolerance is not paid",
        "learn/methods/output_perturbation.py",
        "sensitivity(lam=lam, tolerance=_OPEN * TOLERANCE)",
        "sensitivity(lam=lam)",
        f"{OUTPUT} src/discreet/learn/methods/output_perturbation.py",
    ),
    Mutant(
        "output: Laplace noise by the l2 sensitivity",
        "learn/methods/output_perturbation.py",
        "return math.isqrt(size * moved**2) + 1",
        "return moved",
        ENTRIES,
    ),
    Mutant(
        "output: half the noise",
        "learn/methods/output_perturbation.py",
        "return Gaussian(math.ceil(Fraction(moved**2) / (2 * left)) + SMOOTHING",
        "return Gaussian(math.ceil(Fraction(moved**2) / (8 * left)) + SMOOTHING",
        ENTRIES,
    ),
    # -- gradient descent -------------------------------------------------------------------------------------
    Mutant(
        "descent: half the noise",
        "learn/methods/gradient_descent.py",
        "return math.ceil(square / (2 * rho)) + SMOOTHING",
        "return math.ceil(square / (8 * rho)) + SMOOTHING",
        DESCENT,
    ),
    Mutant(
        "descent: every step spends what is for all",
        "learn/methods/gradient_descent.py",
        "short((1 - COUNTED) * rho / steps)",
        "short((1 - COUNTED) * rho)",
        DESCENT,
    ),
    Mutant(
        "descent: only one step is charged",
        "learn/methods/gradient_descent.py",
        "losses: Losses = [ZeroConcentrated(counted), ZeroConcentrated(each) * steps]",
        "losses: Losses = [ZeroConcentrated(counted), ZeroConcentrated(each)]",
        f"{DESCENT} {ENTRIES}",
    ),
    Mutant(
        "descent: softmax moves by R and not by √2·R",
        "learn/methods/softmax.py",
        "return 2 * PERSON**2",
        "return PERSON**2",
        f"{SOFTMAX} {DESCENT}",
    ),
    Mutant(
        "descent: a row without a class counts in softmax",
        "learn/methods/softmax.py",
        "weights = np.where(codes < 0, 0, batch.weights).astype(np.int16)",
        "weights = np.asarray(batch.weights, np.int16)",
        SOFTMAX,
    ),
    # -- posterior sampling -----------------------------------------------------------------------------------
    Mutant(
        "posterior: four times the temperature",
        "learn/methods/posterior_sampling.py",
        "scale = float(temperature_for_gdp(mu, lam=lam)) * min(1.0, ROWS / most) ** 2 * (1 - 1e-12)",
        "scale = 4 * float(temperature_for_gdp(mu, lam=lam)) * min(1.0, ROWS / most) ** 2 * (1 - 1e-12)",
        f"{POSTERIOR} {ENTRIES}",
    ),
    Mutant(
        "posterior: the sign of the likelihood",
        "learn/methods/posterior_sampling.py",
        "self.scale * (self._divergence(middle, steps) + linear + 4 * TOLERANCE)",
        "self.scale * (linear - self._divergence(middle, steps) + 4 * TOLERANCE)",
        POSTERIOR,
    ),
    Mutant(
        "posterior: the constant of a shell is forgotten",
        "learn/methods/envelope.py",
        "height = shells.shift + mass + gaps / _CHANCE - mass.max()",
        "height = mass + gaps / _CHANCE - mass.max()",
        POSTERIOR,
    ),
    Mutant(
        "posterior: floats are added up",
        "learn/methods/posterior_sampling.py",
        "return [np.stack([leading.sum(axis=0), np.rint((worth - leading) * _LOW).sum(axis=0)])]",
        "return [np.stack([np.floor(worth.sum(axis=0)), np.rint(worth.sum(axis=0) % 1 * _LOW)])]",
        POSTERIOR,
    ),
    Mutant(
        "posterior: rows of a person are rounded as if there was one",
        "learn/methods/posterior_sampling.py",
        "_LOW = 2.0**39",
        "_LOW = 2.0**30",
        POSTERIOR,
    ),
    Mutant(
        "posterior: slopes are not those that the gradient adds up",
        "learn/methods/posterior_sampling.py",
        "slopes = rounded_slopes(self.loss, margins, batch.weights) * SLOPE",
        "slopes = self.loss.slope(margins) * weights",
        POSTERIOR,
    ),
    Mutant(
        "posterior: floats are not paid",
        "learn/methods/posterior_sampling.py",
        "return rho + 2 * math.sqrt(c * rho) + 2 * c",
        "return rho",
        POSTERIOR,
    ),
    Mutant(
        "posterior: the likelihood of a row is not bounded by the ball",
        "learn/methods/grid_envelope.py",
        "inside = np.array([square <= self.limit**2 for square in squares])",
        "inside = np.array([square <= 4 * self.limit**2 for square in squares])",
        BOUNDED,
    ),
    Mutant(
        "posterior: twice the temperature of a bounded likelihood",
        "learn/methods/bounded_posterior.py",
        "each, prior = self.epsilon / (WHOLE * self.bound), self.ridge / (2 * 4**GRID)",
        "each, prior = 2 * self.epsilon / (WHOLE * self.bound), self.ridge / (2 * 4**GRID)",
        BOUNDED,
    ),
    Mutant(
        "posterior: a proposal's chance is that of one shell and not of all",
        "learn/methods/grid_envelope.py",
        "found: Floats = least - np.log(np.exp(least - each).sum(axis=0))",
        "found: Floats = each.max(axis=0)",
        BOUNDED,
    ),
    Mutant(
        "posterior: a stair's chance is that of twice the variance",
        "learn/methods/grid_envelope.py",
        "total += np.square(stairs.astype(np.float64)) / (2 * _STEPS**2)",
        "total += np.square(stairs.astype(np.float64)) / (4 * _STEPS**2)",
        BOUNDED,
    ),
    Mutant(
        "posterior: the edge of the ball is no minimum",
        "learn/methods/bounded_posterior.py",
        "off = rows / WHOLE * (2.0**-20 + bent * 2.0**-22) + slope * 2 * RADIUS + pressed * inside / 2",
        "off = -1e3",
        BOUNDED,
    ),
    Mutant(
        "posterior: what floats do to chances is not paid",
        "learn/methods/bounded_posterior.py",
        "epsilon, counting = paid - 4 * ERROR, Count.pure(counted)",
        "epsilon, counting = price.epsilon, Count.pure(counted)",
        BOUNDED,
    ),
    # -- several classes in one objective ---------------------------------------------------------------------
    Mutant(
        "softmax objective: σ calibrated without count and output",
        "learn/methods/softmax_objective.py",
        "beside = math.sqrt(2 * float(paid + output)) * (1 + 2**-40)",
        "beside = 0.0",
        CLASSES,
    ),
    Mutant(
        "softmax objective: a row's gradient counts once and not twice in l1",
        "privacy/theorems/learning/softmax_pure.py",
        "scale: Fraction = (2 * reach + k",
        "scale: Fraction = (reach + k",
        f"{CLASSES} {THEOREMS}/test_softmax_pure.py",
    ),
    Mutant(
        "softmax objective: the determinant is free",
        "privacy/theorems/learning/softmax_pure.py",
        "most = 2 * B + A * Fraction(k - 2, k - 1) if (k - 1) * B >= A else (A + B) ** 2 * (k - 1) / (A * k)",
        "most = 2 * B",
        f"{THEOREMS}/test_softmax_pure.py",
    ),
    Mutant(
        "softmax objective: the ledger is charged the shift alone",
        "privacy/theorems/learning/softmax.py",
        'return _gdp(whole(classes, "classes", least=2), *_terms(sigma, lam, R, K))',
        "return _terms(sigma, lam, R, K)[0]",
        f"{THEOREMS}/test_softmax.py",
    ),
    Mutant(
        "softmax objective: a Gaussian release beside it is free",
        "privacy/theorems/learning/softmax.py",
        "    if not mu:\n        return _delta(epsilon, k, shift, determinant)",
        "    if True:\n        return _delta(epsilon, k, shift, determinant)",
        f"{THEOREMS}/test_softmax.py",
    ),
    Mutant(
        "softmax objective: scores are rounded before they are compared",
        "learn/methods/softmax_objective.py",
        "raised = np.exp(leading / (_COARSE * SCALE) + rest / (_FINE * SCALE))",
        "raised = np.exp((leading / (_COARSE * SCALE)).astype(np.float32))",
        CLASSES,
    ),
    Mutant(
        "softmax objective: output noise pays for no solver",
        "learn/methods/softmax_objective.py",
        "return 1 + Fraction(classes + 8, 4)",
        "return Fraction(0)",
        CLASSES,
    ),
    # -- regression and naive Bayes ---------------------------------------------------------------------------
    Mutant(
        "sums: half the noise",
        "learn/statistics/noisy_sums.py",
        "least = math.ceil((sensitivity.l2_squared or 0) / (2 * amount)) + SMOOTHING",
        "least = math.ceil((sensitivity.l2_squared or 0) / (8 * amount)) + SMOOTHING",
        f"{REGRESSION} {BAYES}",
    ),
    Mutant(
        "sums: rounding down is not counted",
        "learn/statistics/noisy_sums.py",
        "return Sensitivity(l1=l1 + entries, l2_squared=(root + math.isqrt(entries - 1) + 1) ** 2)",
        "return Sensitivity(l1=l1, l2_squared=root**2)",
        "src/discreet/learn/statistics/noisy_sums.py",
    ),
    Mutant(
        "regression: products of two columns are free",
        "learn/statistics/design.py",
        "return SCALE**4 + SCALE**2 * sum(squares) + crossed + sum(s**2 for s in self._squared)",
        "return SCALE**4 + SCALE**2 * sum(squares) + sum(s**2 for s in self._squared)",
        f"{REGRESSION}::test_some_row_attains_each_sensitivity_and_none_exceeds_it",
    ),
    Mutant(
        "regression: half the sensitivity of the target",
        "learn/statistics/design.py",
        "return most**2 * (SCALE**2 + sum(norm**2 for norm in self.norms)) + most**4",
        "return (most**2 * (SCALE**2 + sum(norm**2 for norm in self.norms)) + most**4) // 4",
        f"{REGRESSION}::test_some_row_attains_each_sensitivity_and_none_exceeds_it",
    ),
    Mutant(
        "regression: a row without a target counts",
        "learn/statistics/moments.py",
        "weights = np.where(codes < 0, 0, batch.weights).astype(np.float64)",
        "weights = np.asarray(batch.weights, np.float64)",
        f"{REGRESSION}::test_engines_add_up_the_same_integers_as_rows_do",
    ),
    Mutant(
        "naive Bayes: sensitivity of one sum and not of all",
        "learn/naive_bayes.py",
        "Sensitivity(l1=WHOLE * layout.l1, l2_squared=WHOLE**2 * layout.l2_squared)",
        "Sensitivity(l1=WHOLE * self.unit, l2_squared=(WHOLE * self.unit) ** 2)",
        BAYES,
    ),
    Mutant(
        "naive Bayes: half of the price is charged",
        "learn/naive_bayes.py",
        "[loss_of(price, _whole(price))], run",
        "[loss_of(price, _whole(price) / 2)], run",
        f"{BAYES} {ENTRIES}",
    ),
    # -- boosting ---------------------------------------------------------------------------------------------
    Mutant(
        "stumps: half the sensitivity of a score",
        "learn/boosting/smooth_boosting.py",
        "DELTA = WHOLE * QUANTUM",
        "DELTA = WHOLE * QUANTUM // 2",
        STUMPS,
    ),
    Mutant(
        "stumps: every round spends what is for all",
        "learn/boosting/boosted_stumps.py",
        "epsilon = root_below(8 * rho * (1 - share) / rounds)",
        "epsilon = root_below(8 * rho * (1 - share))",
        BOOSTED,
    ),
    Mutant(
        "stumps: the exponential mechanism taken for Gaussian DP",
        "learn/boosting/boosted_stumps.py",
        "rho = concentrated(price)",
        "rho = price.rho",
        BOOSTED,
    ),
    Mutant(
        "boosting: a row without a class counts",
        "learn/boosting/cells.py",
        "weights = np.where((codes == 0) | (codes == 1), batch.weights, 0).astype(np.int16)",
        "weights = np.asarray(batch.weights, np.int16)",
        "tests/learn/boosting/test_rules.py",
    ),
    Mutant(
        "histograms: residuals with the noise of counts",
        "learn/boosting/cyclic_boosting.py",
        "Unit(WHOLE * QUANTUM).marginal(rest)",
        "Unit(WHOLE * QUANTUM // 2).marginal(rest)",
        HISTOGRAMS,
    ),
    Mutant(
        "histograms: every epoch spends what is for all",
        "learn/boosting/cyclic_boosting.py",
        "(total - first) / (columns * epochs)",
        "(total - first) / columns",
        HISTOGRAMS,
    ),
    # -- selection --------------------------------------------------------------------------------------------
    Mutant(
        "search: a candidate costs what the search costs",
        "learn/selection.py",
        "each = price.epsilon / 2",
        "each = price.epsilon",
        SEARCH,
    ),
    Mutant(
        "search: half the noise of a score",
        "learn/selection.py",
        "math.ceil(WHOLE**2 / (2 * short(rho * share)))",
        "math.ceil(WHOLE**2 / (8 * short(rho * share)))",
        SEARCH,
    ),
    Mutant(
        "search: the number of candidates is geometric",
        "learn/selection.py",
        "if noise.uniform_below(number) == 0:",
        "if noise.uniform_below(number) < number:",
        SEARCH,
    ),
    Mutant(
        "search: progress tells the number of candidates",
        "learn/selection.py",
        "state = trainings[picked].run(examples, silent)",
        "state = trainings[picked].run(examples, progress)",
        SEARCH,
    ),
    # -- theorems ---------------------------------------------------------------------------------------------
    Mutant(
        "theorem 1: the determinant is free for every λ",
        "privacy/theorems/learning/closed_forms.py",
        "if not objective.loss.saturates or objective.determinant > epsilon:",
        "if not objective.loss.saturates:",
        f"{THEOREMS}/test_objective_perturbation.py src/discreet/privacy/theorems/learning/closed_forms.py",
    ),
    Mutant(
        "theorem 1: the rule of the logistic loss for a huberised hinge",
        "privacy/theorems/learning/closed_forms.py",
        "if not objective.loss.saturates or objective.determinant > epsilon:",
        "if objective.determinant > epsilon:",
        f"{THEOREMS}/test_objective_perturbation.py",
    ),
    Mutant(
        "pure noise: the determinant of a huberised hinge is free",
        "privacy/theorems/learning/pure_noise.py",
        "        return A + B\n",
        "        return B\n",
        f"{THEOREMS}/test_pure_noise.py",
    ),
    Mutant(
        "pure noise: the determinant of the logistic loss is free for every λ",
        "privacy/theorems/learning/pure_noise.py",
        "return B if A <= B else (A + B) ** 2 / (4 * A)",
        "return B",
        f"{THEOREMS}/test_pure_noise.py",
    ),
    Mutant(
        "tolerance: on one side only",
        "privacy/theorems/learning/tolerance.py",
        "steps = 2 * away / (positive",
        "steps = away / (positive",
        f"{THEOREMS}/test_tolerance.py",
    ),
    Mutant(
        "tolerance: nothing for rounding at random",
        "privacy/theorems/learning/tolerance.py",
        "return math.ceil(steps**2) + SMOOTHING",
        "return math.ceil(steps**2)",
        f"{THEOREMS}/test_tolerance.py",
    ),
    Mutant(
        "flow: Gaussian DP of the shift alone",
        "privacy/theorems/learning/objective_perturbation.py",
        "return upward(objective.shift(sigma) * speed, 2)",
        "return upward(objective.shift(sigma), 2)",
        f"{THEOREMS}/test_objective_perturbation.py",
    ),
    Mutant(
        "output: a minimiser moves by half of 1/λ",
        "privacy/theorems/learning/output_perturbation.py",
        'return (moved + 2 * nonnegative(tolerance, "tolerance"))',
        'return (moved / 2 + 2 * nonnegative(tolerance, "tolerance"))',
        f"{THEOREMS}/test_other_methods.py {OUTPUT}",
    ),
    Mutant(
        "posterior: temperature linear in μ",
        "privacy/theorems/learning/posterior_sampling.py",
        '(nonnegative(mu, "mu") / moved) ** 2',
        '(nonnegative(mu, "mu") / moved)',
        f"{POSTERIOR} src/discreet/privacy/theorems/learning/posterior_sampling.py",
    ),
]
