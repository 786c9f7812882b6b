"""Mechanisms: scales, sensitivities, samplers, seals."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

ADDITIVE = "tests/mechanisms/test_additive_exact.py"
SELECTION = "tests/mechanisms/test_selection_exact.py"
SPARSE = "tests/mechanisms/test_sparse_vector_exact.py tests/mechanisms/test_sparse_vector.py"
SEALED = "tests/mechanisms/test_exact.py"
CONTRACT = "tests/mechanisms/test_mechanism.py"


def scale(mechanism: str, file: str, before: str, after: str, tests: str) -> Mutant:
    return Mutant(f"{mechanism}: scale halved", f"mechanisms/{file}.py", before, after, tests)


def sensitivity(mechanism: str, file: str, before: str, after: str) -> Mutant:
    return Mutant(f"{mechanism}: twice the sensitivity let in", f"mechanisms/{file}.py", before, after, SEALED)


def numpy(mechanism: str, file: str, before: str, after: str, tests: str) -> Mutant:
    name = f"{mechanism}: numpy's sampler instead of ours"
    return Mutant(
        name, f"mechanisms/{file}.py", before, f"__import__('numpy').random.default_rng().{after}", tests
    )


LAPLACE_DRAW = "noise.discrete_laplace(self.scale, exact.size)"
GAUSSIAN_DRAW = "noise.discrete_gaussian(self.variance, exact.size)"
QUERY_DRAW = "noise.discrete_laplace(self.query_scale, exact.size)"
COINS = "noise.bernoulli_exp(gaps(exact), over=self.scale)"

PIECES = "tests/audit/attacks/test_pieces.py"
AUDITED = f"{PIECES}::test_a_run_or_a_choice_undercharged_by_a_tenth_is_caught_and_no_more"
SPLIT = "comparing = self.epsilon - self.numbers"


def charged_too_little(factor: int) -> Mutant:
    """A run whose noise is that of a larger ε."""
    name = f"Sparse: noise of both kinds × 1/{factor}, seen by the auditor"
    after = SPLIT.replace("self.epsilon", f"{factor} * self.epsilon")
    return Mutant(name, "mechanisms/sparse_vector.py", SPLIT, after, AUDITED)


MECHANISMS = [
    charged_too_little(2),
    charged_too_little(4),
    charged_too_little(5),
    Mutant(
        "ReportNoisyMax: a tenth too little noise, seen by the auditor",
        "mechanisms/report_noisy_max.py",
        LAPLACE_DRAW,
        LAPLACE_DRAW.replace("self.scale", "self.scale * 10 / 11"),
        AUDITED,
    ),
    Mutant(
        "RestartingSparse: charged for one run",
        "mechanisms/sparse_vector.py",
        "return self.once.loss * self.positives",
        "return self.once.loss * 1",
        "tests/mechanisms/test_restarting.py",
    ),
    Mutant(
        "RestartingSparse: the first threshold is used again",
        "mechanisms/threshold_run.py",
        "self._run = self._mechanism.once.start() if self._left else self._run",
        "self._run._left = 1",
        "tests/mechanisms/test_restarting.py",
    ),
    Mutant(
        "RestartingSparse: one threshold for a whole vector",
        "mechanisms/sparse_vector.py",
        "above[place] = value >= lines[given]",
        "above[place] = value >= lines[0]",
        "tests/mechanisms/test_restarting.py",
    ),
    scale("Laplace", "laplace", LAPLACE_DRAW, LAPLACE_DRAW.replace("self.scale", "self.scale / 2"), ADDITIVE),
    sensitivity("Laplace", "laplace", "l1=self.sensitivity)", "l1=2 * self.sensitivity)"),
    numpy(
        "Laplace",
        "laplace",
        LAPLACE_DRAW,
        "laplace(0, float(self.scale), exact.size).round().astype(int)",
        ADDITIVE,
    ),
    scale("Gaussian", "gaussian", GAUSSIAN_DRAW, GAUSSIAN_DRAW.replace("variance", "variance / 4"), ADDITIVE),
    sensitivity(
        "Gaussian",
        "gaussian",
        "each=cast(int, self._sensitivity.each))",
        "each=2 * cast(int, self._sensitivity.each))",
    ),
    numpy(
        "Gaussian",
        "gaussian",
        GAUSSIAN_DRAW,
        "normal(0, float(self.variance) ** 0.5, exact.size).round().astype(int)",
        ADDITIVE,
    ),
    scale(
        "Exponential",
        "exponential",
        "noise.softmax(gaps(exact), over=self.scale)",
        "noise.softmax(gaps(exact), over=self.scale / 2)",
        SELECTION,
    ),
    numpy(
        "Exponential",
        "exponential",
        "noise.softmax(gaps(exact), over=self.scale)",
        "choice(len(gaps(exact)), p=(w := __import__('numpy').exp(-gaps(exact) / float(self.scale))) / w.sum())",
        CONTRACT,
    ),
    scale("PermuteAndFlip", "permute_and_flip", COINS, COINS.replace("self.scale", "self.scale / 2"), SELECTION),
    numpy(
        "PermuteAndFlip",
        "permute_and_flip",
        COINS,
        "random(exact.size) < __import__('numpy').exp(-gaps(exact) / float(self.scale))",
        CONTRACT,
    ),
    scale(
        "ReportNoisyMax",
        "report_noisy_max",
        LAPLACE_DRAW,
        LAPLACE_DRAW.replace("self.scale", "self.scale / 2"),
        SELECTION,
    ),
    numpy(
        "ReportNoisyMax",
        "report_noisy_max",
        LAPLACE_DRAW,
        "laplace(0, float(self.scale), exact.size).round().astype(int)",
        f"{SELECTION} {CONTRACT}",
    ),
    sensitivity("Selections", "selection", "each=self.sensitivity)", "each=2 * self.sensitivity)"),
    Mutant(
        "Selections: the exponent of the notes, without the 2",
        "mechanisms/selection.py",
        "(1 if self.monotonic else 2) * self.sensitivity",
        "1 * self.sensitivity",
        SELECTION,
    ),
    Mutant(
        "Selections: monotonic taken on trust",
        "mechanisms/exact.py",
        "if monotonic and not exact.sensitivity.monotonic:",
        "if False:",
        SEALED,
    ),
    scale(
        "Sparse: queries",
        "sparse_vector",
        QUERY_DRAW,
        QUERY_DRAW.replace("self.query_scale", "self.query_scale / 2"),
        SPARSE,
    ),
    scale(
        "Sparse: threshold",
        "sparse_vector",
        "noise.discrete_laplace(self.threshold_scale)",
        "noise.discrete_laplace(self.threshold_scale / 2)",
        SPARSE,
    ),
    scale(
        "Run: queries",
        "threshold_run",
        "noise.discrete_laplace(self._scale)",
        "noise.discrete_laplace(self._scale / 2)",
        SPARSE,
    ),
    scale(
        "NumericSparse: numbers",
        "sparse_vector",
        "noise.discrete_laplace(self.number_scale, exact.size)",
        "noise.discrete_laplace(self.number_scale / 2, exact.size)",
        SPARSE,
    ),
    sensitivity("Sparse", "sparse_vector", "each=self.sensitivity)", "each=2 * self.sensitivity)"),
    numpy(
        "Sparse",
        "sparse_vector",
        QUERY_DRAW,
        "laplace(0, float(self.query_scale), exact.size).round().astype(int)",
        f"{SPARSE} {CONTRACT}",
    ),
    Mutant(
        "Sparse: no noise on the threshold",
        "mechanisms/sparse_vector.py",
        "self.threshold + noise.discrete_laplace(self.threshold_scale)",
        "self.threshold",
        SPARSE,
    ),
    Mutant(
        "Sparse: c not in the noise",
        "mechanisms/sparse_vector.py",
        "self._sides * self.positives * self.sensitivity / self.split[1]",
        "self._sides * self.sensitivity / self.split[1]",
        SPARSE,
    ),
    Mutant(
        "Run: never halts", "mechanisms/threshold_run.py", "self._left -= bool(above)", "self._left -= 0", SPARSE
    ),
    Mutant(
        "Run: goes on in a child",
        "mechanisms/threshold_run.py",
        "if generation() != self._generation:",
        "if False:",
        SPARSE,
    ),
    Mutant(
        "Run: counts and negated counts",
        "mechanisms/threshold_run.py",
        "if direction != self._direction:",
        "if False:",
        SPARSE,
    ),
    Mutant(
        "NumericRun: number without the mark of its line",
        "mechanisms/threshold_run.py",
        "of=above)",
        "of=None)",
        SPARSE,
    ),
    Mutant(
        "Exact: shows itself",
        "mechanisms/exact.py",
        'return "<exact value, sealed>"',
        "return str(self.__values)",
        SEALED,
    ),
    Mutant(
        "Exact: wraps instead of clamping",
        "mechanisms/exact.py",
        "return max(-LIMIT, min(LIMIT, operator.index(value)))",
        "return (operator.index(value) + 2**63) % 2**64 - 2**63",
        SEALED,
    ),
]
