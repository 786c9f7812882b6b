"""Mutants from the museum: each puts the mistake of an exhibit back into our own code."""

from __future__ import annotations

from tests.mutants.mechanisms import ADDITIVE, LAPLACE_DRAW, QUERY_DRAW, SEALED, SELECTION, SPARSE
from tests.mutants.mutant import Mutant

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
        "mechanisms/threshold_run.py",
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
        "tests/audit/attacks/test_overspending.py",
    ),
    Mutant(
        "museum, rounded-to-zero",
        "privacy/session.py",
        "self._spent += cost",
        "self._spent = Fraction(float(self._spent + cost))",
        "tests/audit/attacks/test_overspending.py",
    ),
    Mutant(
        "museum, reused-sample",
        "privacy/losses.py",
        "if isinstance(self.loss, Repeated | PoissonSubsampled):",
        "if isinstance(self.loss, PoissonSubsampled):",
        "tests/privacy/theorems/test_subsampling.py tests/privacy/test_plan.py",
    ),
    Mutant(
        "museum, seeded-generator",
        "noise/random_bits.py",
        "return os.urandom(32)",
        "return bytes(32)",
        "tests/noise/test_random_bits.py tests/audit/attacks/test_randomness.py",
    ),
    Mutant(
        "museum, forked-generator",
        "noise/sampler_cache.py",
        "on_fork(self._reserves.clear)",
        "pass",
        "tests/noise/test_api.py tests/noise/test_random_bits.py tests/audit/attacks/test_randomness.py",
    ),
]
