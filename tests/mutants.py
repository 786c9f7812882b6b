"""Break the kernel on purpose and see the tests fail: `make mutants`.

Each mutant changes one line of a temporary copy of the project and runs the tests that should notice. One that
survives means that a claim is not tested. The copy without changes must pass, or nothing is shown.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parent.parent
SOURCE = "src/discreet"
PARALLEL = 2

ADDITIVE = "tests/mechanisms/test_additive_exact.py"
SELECTION = "tests/mechanisms/test_selection_exact.py"
SPARSE = "tests/mechanisms/test_sparse_vector_exact.py tests/mechanisms/test_sparse_vector.py"
SEALED = "tests/mechanisms/test_exact.py"
CONTRACT = "tests/mechanisms/test_contract.py"


@dataclass(frozen=True)
class Mutant:
    """One change to one file, and the tests that must not let it pass."""

    name: str
    file: str
    before: str
    after: str
    tests: str


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

MECHANISMS = [
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
        "Gaussian", "gaussian", "each=cast(int, self._moves.each))", "each=2 * cast(int, self._moves.each))"
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
        "noisy_max",
        LAPLACE_DRAW,
        LAPLACE_DRAW.replace("self.scale", "self.scale / 2"),
        SELECTION,
    ),
    numpy(
        "ReportNoisyMax",
        "noisy_max",
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
        "runs",
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
    Mutant("Run: never halts", "mechanisms/runs.py", "self._left -= bool(above)", "self._left -= 0", SPARSE),
    Mutant(
        "Run: goes on in a child",
        "mechanisms/runs.py",
        "if generation() != self._generation:",
        "if False:",
        SPARSE,
    ),
    Mutant(
        "Run: counts and negated counts",
        "mechanisms/runs.py",
        "if direction != self._direction:",
        "if False:",
        SPARSE,
    ),
    Mutant(
        "NumericRun: number without the mark of its line",
        "mechanisms/runs.py",
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

NOISE = [
    Mutant(
        "discrete Laplace: scale halved",
        "noise/laplace.py",
        "SignedGeometric(1 / scale,",
        "SignedGeometric(2 / scale,",
        "tests/noise/test_laplace.py",
    ),
    Mutant(
        "discrete Laplace: a digit twice as steep",
        "noise/laplace.py",
        "CutGeometric((1 << start) / scale,",
        "CutGeometric((2 << start) / scale,",
        "tests/noise/test_laplace.py",
    ),
    Mutant(
        "discrete Gaussian: narrow variance halved",
        "noise/gaussian.py",
        "Inversion(Centred(variance)",
        "Inversion(Centred(variance / 2)",
        "tests/noise/test_gaussian.py",
    ),
    Mutant(
        "discrete Gaussian: wide variance halved",
        "noise/gaussian.py",
        "/ (2 * variance))",
        "/ variance)",
        "tests/noise/test_gaussian.py",
    ),
    Mutant(
        "discrete Gaussian: −0 kept",
        "noise/gaussian.py",
        "keep = proposals != 1",
        "keep = proposals != -1",
        "tests/noise/test_gaussian.py",
    ),
    Mutant(
        "inversion: a word at its threshold decided too early",
        "noise/inversion.py",
        "words < self._low.take(least)",
        "words <= self._low.take(least)",
        "tests/noise/test_inversion.py",
    ),
    Mutant(
        "inversion: lazy bits not drawn",
        "noise/inversion.py",
        "bits.integer(64), known + 64",
        "0, known + 64",
        "tests/noise/test_inversion.py tests/noise/test_laplace.py",
    ),
    Mutant(
        "coins: over ignored",
        "noise/draw.py",
        "exact / scale, _shape(size)",
        "exact, _shape(size)",
        "tests/noise/test_coins.py",
    ),
    Mutant(
        "uniform: remainder instead of rejection",
        "noise/uniform.py",
        "good = words[words < self._bound][:missing]",
        "good = (words % self._bound)[:missing]",
        "tests/noise/test_uniform.py",
    ),
    Mutant(
        "bits: one key for ever",
        "noise/bits.py",
        "_BYTES_PER_KEY = 1 << 20",
        "_BYTES_PER_KEY = 1 << 60",
        "tests/noise/test_bits.py",
    ),
    Mutant(
        "exp: upper bound without what was left out",
        "noise/certified.py",
        "return total[0], total[1] + term[1]",
        "return total[0], total[1]",
        "tests/noise/test_certified.py",
    ),
    Mutant(
        "bits: a fork amid a draw goes unnoticed",
        "noise/bits.py",
        "if not self._left or self._generation != generation():",
        "if not self._left:",
        "tests/noise/test_bits.py",
    ),
    Mutant(
        "discrete Gaussian: the slow branch too often",
        "noise/gaussian.py",
        "_STRIDE = 12",
        "_STRIDE = 32",
        "tests/noise/test_gaussian.py",
    ),
    Mutant(
        "test bits: outlive their block",
        "noise/testing.py",
        "block.open = False",
        "pass",
        "tests/noise/test_testing.py",
    ),
]

PRIVACY = [
    Mutant(
        "Laplace pair: no atom at the top",
        "privacy/dominating.py",
        "far, near = math.exp(-epsilon) / 2, 0.5",
        "far, near = 0.5, math.exp(-epsilon) / 2",
        "tests/privacy/test_dominating.py",
    ),
    Mutant(
        "exponential mechanism: half the range",
        "privacy/dominating.py",
        "_cut_bounded_range(highest_loss(loss), edges)",
        "_cut_bounded_range(highest_loss(loss) / 2, edges)",
        "tests/privacy/test_dominating.py",
    ),
    Mutant(
        "sampling: one direction only",
        "privacy/plan.py",
        'return ("remove", "add") if _sampled(counts) else ("remove",)',
        'return ("add",)',
        "tests/privacy/test_plan.py",
    ),
    Mutant(
        "lattice: losses rounded down",
        "privacy/lattice.py",
        "mass[1:] += up",
        "mass[:-1] += up",
        "tests/privacy/test_lattice.py",
    ),
    Mutant(
        "FFT: error not counted",
        "privacy/compose.py",
        "return 8 * ROUNDOFF * (1 + math.log2(length))",
        "return 0.0",
        "tests/privacy/test_compose.py",
    ),
    Mutant(
        "window: what is outside not counted",
        "privacy/compose.py",
        "nats = 1 - math.log(_WINDOW_TAIL)",
        "nats = 5.0",
        "tests/privacy/test_compose.py",
    ),
    Mutant(
        "Gaussian: closed form of half μ",
        "privacy/normal.py",
        "a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2",
        "a, b = 2 * epsilon / mu - mu / 4, 2 * epsilon / mu + mu / 4",
        "tests/privacy/test_normal.py",
    ),
    Mutant(
        "lower bound: the lattice taken for the truth",
        "privacy/profile.py",
        "return max(0.0, crossing - self._slip(lost)) * (1 - 1e-9)",
        "return max(0.0, crossing)",
        "tests/privacy/test_plan.py",
    ),
    Mutant(
        "discrete Gaussian: unit variance for all",
        "privacy/dominating.py",
        "q = np.exp(-(n**2) / (2 * variance))",
        "q = np.exp(-(n**2) / 2)",
        "tests/privacy/test_dominating.py",
    ),
    Mutant(
        "profile: mass far above the middle forgotten",
        "privacy/profile.py",
        "x, weights = x[start:], law.weights[start:]",
        "x, weights = x[start : start + 4000], law.weights[start : start + 4000]",
        "tests/privacy/test_plan.py",
    ),
    Mutant(
        "losses: integers of numpy kept",
        "privacy/losses.py",
        'object.__setattr__(self, "count", whole(self.count, "count", least=0))',
        'whole(self.count, "count", least=0)',
        "tests/privacy/test_plan.py",
    ),
    Mutant(
        "session: one step too many",
        "privacy/session.py",
        "if cost > self.remaining:",
        "if self.remaining <= 0:",
        "tests/privacy/test_session.py",
    ),
]

# What the museum shows, put back into our own code where that has a counterpart.
MUSEUM = [
    Mutant(
        "museum, sparse-vector-5: queries without noise",
        "mechanisms/sparse_vector.py",
        f"added(exact, {QUERY_DRAW}) >= line",
        "added(exact, 0) >= line",
        SPARSE,
    ),
    Mutant(
        "museum, sparse-vector-3: a number without noise of its own",
        "mechanisms/runs.py",
        "noise.discrete_laplace(self._mechanism.number_scale)",
        "0",
        SPARSE,
    ),
    Mutant(
        "museum, flip-as-exponential",
        "mechanisms/permute_and_flip.py",
        "return losses.PermuteAndFlip(self.epsilon)",
        "return losses.Exponential(self.epsilon)",
        SELECTION,
    ),
    Mutant(
        "museum, classical-gaussian",
        "mechanisms/gaussian.py",
        "return plan.delta(cls(steps * step, sensitivity).loss, exact_epsilon) <= exact_delta",
        "return steps * step >= 2 * math.log(1.25 / float(exact_delta)) / exact_epsilon**2",
        ADDITIVE,
    ),
    Mutant(
        "museum, charged-for-one",
        "mechanisms/gaussian.py",
        "return single if entries == 1 else single * entries",
        "return single",
        ADDITIVE,
    ),
    Mutant(
        "museum, lambda-inverted",
        "mechanisms/laplace.py",
        'Fraction(whole(sensitivity, "sensitivity")) / positive(epsilon, "epsilon")',
        'Fraction(whole(sensitivity, "sensitivity")) * positive(epsilon, "epsilon")',
        f"{ADDITIVE} src/discreet/mechanisms/laplace.py",
    ),
    Mutant(
        "museum, scaled-after-rounding",
        "mechanisms/laplace.py",
        f"added(exact, {LAPLACE_DRAW})",
        "added(exact, int(self.scale) * noise.discrete_laplace(1, exact.size))",
        ADDITIVE,
    ),
    Mutant(
        "museum, nan-passes-clamp: floats let in",
        "mechanisms/exact.py",
        'if values.dtype.kind not in "iu":',
        'if values.dtype.kind not in "iuf":',
        SEALED,
    ),
    Mutant(
        "museum, one-neighbour-raises",
        "mechanisms/exact.py",
        "return max(-LIMIT, min(LIMIT, operator.index(value)))",
        "return int(np.int64(operator.index(value)))",
        SEALED,
    ),
    Mutant(
        "museum, natural-filter: a plan's ε charged",
        "privacy/session.py",
        "if not isinstance(loss, Loss):",
        "if isinstance(loss, float):\n            return Fraction(loss)\n        if not isinstance(loss, Loss):",
        "tests/privacy/test_session.py",
    ),
    Mutant(
        "museum, spent-twice: no lock",
        "privacy/session.py",
        "with self._lock:",
        "if self._lock:",
        "tests/audit/test_budget.py",
    ),
    Mutant(
        "museum, rounded-to-zero",
        "privacy/session.py",
        "self._spent += cost",
        "self._spent = Fraction(float(self._spent + cost))",
        "tests/audit/test_budget.py",
    ),
    Mutant(
        "museum, reused-sample",
        "privacy/losses.py",
        "if isinstance(self.loss, Repeated | PoissonSubsampled):",
        "if isinstance(self.loss, PoissonSubsampled):",
        "tests/privacy/test_subsampling.py tests/privacy/test_plan.py",
    ),
    Mutant(
        "museum, seeded-generator",
        "noise/bits.py",
        "return os.urandom(32)",
        "return bytes(32)",
        "tests/noise/test_bits.py tests/audit/test_randomness.py",
    ),
    Mutant(
        "museum, forked-generator",
        "noise/reserve.py",
        "on_fork(self._reserves.clear)",
        "pass",
        "tests/noise/test_draw.py tests/noise/test_bits.py tests/audit/test_randomness.py",
    ),
]

AUDIT = [
    Mutant(
        "exact: what was not explored is forgotten",
        "audit/exact.py",
        "low = max(0, low - Q.missing)",
        "low = max(0, low)",
        "tests/audit/test_exact.py",
    ),
    Mutant(
        "exact: one direction only",
        "audit/exact.py",
        "findings += [_compared(subject, pair, *laws), _compared(subject, pair[::-1], *laws[::-1])]",
        "findings += [_compared(subject, pair, *laws)]",
        "tests/audit/test_exact.py",
    ),
    Mutant(
        "exact: a walk that diverges goes unnoticed",
        "audit/exact.py",
        "if self._seen.setdefault(path, asked) != asked:",
        "if False:",
        "tests/audit/test_exact.py",
    ),
    Mutant(
        "laws: discrete Gaussian without its tail",
        "audit/laws.py",
        "total = low, ONE + 2 * (sum(weight[1] for weight in half[1:]) + beyond)",
        "total = low - (ONE >> 20), low - (ONE >> 20)",
        "tests/audit/test_exact.py",
    ),
    Mutant(
        "outcomes: −0.0 taken for 0.0",
        "audit/outcomes.py",
        'return x if x else Double(f"{x:.1f}")',
        "return x",
        "src/discreet/audit/outcomes.py",
    ),
    Mutant(
        "confidence: the estimate taken for its bound",
        "audit/confidence.py",
        "bound: Floats = special.betaincinv(some, n - some + 1, doubt) * (1 - MARGIN)",
        "bound: Floats = some / n",
        "tests/audit/test_confidence.py",
    ),
    Mutant(
        "contract: error bars not looked at",
        "audit/contract.py",
        "caught = most < float(_CONFIDENCE)",
        "caught = False",
        "tests/audit/test_check.py",
    ),
]

MUTANTS = [*MECHANISMS, *NOISE, *PRIVACY, *MUSEUM, *AUDIT]


@contextmanager
def copies(count: int) -> Iterator[SimpleQueue[Path]]:
    """Temporary copies of what the tests need."""
    with tempfile.TemporaryDirectory() as place:
        free: SimpleQueue[Path] = SimpleQueue()
        for i in range(count):
            copy = Path(place) / str(i)
            for part in ("src", "tests"):
                shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
            shutil.copy(ROOT / "pyproject.toml", copy)
            free.put(copy)
        yield free


def passes(copy: Path, tests: str) -> bool:
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"]
    command = [sys.executable, "-B", "-m", "pytest", *options, *tests.split()]
    # The copy's own source comes first, before the installed one.
    environment = {"PYTHONPATH": str(copy / "src"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stdout + done.stderr)
    return done.returncode == 0


def survives(mutant: Mutant, free: SimpleQueue[Path]) -> bool:
    copy = free.get()
    file = copy / SOURCE / mutant.file
    original = file.read_text()
    try:
        if original.count(mutant.before) != 1:
            raise RuntimeError(
                f"{mutant.name}: {mutant.before!r} is not there exactly once. Mend tests/mutants.py."
            )
        file.write_text(original.replace(mutant.before, mutant.after))
        return passes(copy, mutant.tests)
    finally:
        file.write_text(original)
        free.put(copy)


def main(chosen: str = "") -> int:
    mutants = [mutant for mutant in MUTANTS if chosen.lower() in f"{mutant.file} {mutant.name}".lower()]
    with copies(PARALLEL) as free, ThreadPoolExecutor(PARALLEL) as pool:
        every = " ".join(sorted({test for mutant in mutants for test in mutant.tests.split()}))
        if not passes(copy := free.get(), every):
            print("the tests fail without any mutant: mend that first")
            return 1
        free.put(copy)
        survivors, start = [], time.monotonic()
        for mutant, alive in zip(mutants, pool.map(lambda m: survives(m, free), mutants), strict=True):
            survivors += [mutant] * alive
            print(f"{'SURVIVED' if alive else 'caught  '}  {mutant.file:32} {mutant.name}", flush=True)
    caught = len(mutants) - len(survivors)
    print(f"\n{caught} of {len(mutants)} mutants caught in {time.monotonic() - start:.0f} s")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
