"""Accounting: losses, their composition, and what converts one into another."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

PRIVACY = [
    Mutant(
        "Laplace pair: no atom at the top",
        "privacy/pld/dominating_pairs.py",
        "far, near = math.exp(-epsilon) / 2, 0.5",
        "far, near = 0.5, math.exp(-epsilon) / 2",
        "tests/privacy/pld/test_dominating_pairs.py",
    ),
    Mutant(
        "exponential mechanism: half the range",
        "privacy/pld/dominating_pairs.py",
        "_cut_bounded_range(highest_loss(loss), edges)",
        "_cut_bounded_range(highest_loss(loss) / 2, edges)",
        "tests/privacy/pld/test_dominating_pairs.py",
    ),
    Mutant(
        "sampling: one direction only",
        "privacy/pld/directions.py",
        'return ("remove", "add") if _sampled(counts) else ("remove",)',
        'return ("add",)',
        "tests/privacy/test_plan.py",
    ),
    Mutant(
        "atoms: losses rounded down",
        "privacy/pld/atoms.py",
        "mass[1:] += up",
        "mass[:-1] += up",
        "tests/privacy/pld/test_contour.py",
    ),
    Mutant(
        "direct sum: losses are not moved against us",
        "privacy/pld/direct_sum.py",
        "moved: Floats = x + side * 8 * ROUNDOFF * (size + abs(epsilon))",
        "moved: Floats = x",
        "tests/privacy/pld/test_direct_sum.py",
    ),
    Mutant(
        "contour: the added release not taken off the lower bound",
        "privacy/pld/contour.py",
        "self._sum(self.g * (1 - self.floor * z * (1 + z)), epsilon)",
        "self._sum(self.g, epsilon)",
        "tests/privacy/pld/test_contour.py",
    ),
    Mutant(
        "contour: ways to choose rare losses not counted",
        "privacy/pld/contour_choice.py",
        "self.law.square, _log_choices(count, number))",
        "self.law.square, 0.0)",
        "tests/privacy/pld/test_contour.py",
    ),
    Mutant(
        "normal: the width of a shifted interval is rounded",
        "privacy/pld/normal.py",
        "centre, half = (left[narrow] + right[narrow]) / 2 + shift, width[narrow] / 2",
        "centre, half = (left[narrow] + right[narrow]) / 2 + shift, np.diff(edges + shift)[narrow] / 2",
        "tests/privacy/pld/test_normal.py",
    ),
    Mutant(
        "lattice: losses rounded down",
        "privacy/pld/lattice.py",
        "mass[1:] += up",
        "mass[:-1] += up",
        "tests/privacy/pld/test_lattice.py",
    ),
    Mutant(
        "FFT: error not counted",
        "privacy/pld/tilted_fft.py",
        "return 8 * ROUNDOFF * (1 + math.log2(length))",
        "return 0.0",
        "tests/privacy/pld/test_tilted_fft.py",
    ),
    Mutant(
        "window: what is outside not counted",
        "privacy/pld/tilted_fft.py",
        "nats = 1 - math.log(_WINDOW_TAIL)",
        "nats = 5.0",
        "tests/privacy/pld/test_tilted_fft.py",
    ),
    Mutant(
        "Gaussian: closed form of half μ",
        "privacy/pld/normal.py",
        "a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2",
        "a, b = 2 * epsilon / mu - mu / 4, 2 * epsilon / mu + mu / 4",
        "tests/privacy/pld/test_normal.py",
    ),
    Mutant(
        "lower bound: the lattice taken for the truth",
        "privacy/pld/profile.py",
        "return max(0.0, crossing - self._slip(lost)) * (1 - 1e-9)",
        "return max(0.0, crossing)",
        "tests/privacy/test_plan.py",
    ),
    Mutant(
        "discrete Gaussian: unit variance for all",
        "privacy/pld/dominating_pairs.py",
        "q = np.exp(-(n**2) / (2 * variance))",
        "q = np.exp(-(n**2) / 2)",
        "tests/privacy/pld/test_dominating_pairs.py",
    ),
    Mutant(
        "profile: mass far above the middle forgotten",
        "privacy/pld/profile.py",
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
    Mutant(
        "calibration: ρ of twice the epsilon",
        "privacy/theorems/calibration.py",
        "zcdp_to_approximate(rho, delta) <= epsilon",
        "zcdp_to_approximate(rho, delta) <= 2 * epsilon",
        "tests/privacy/theorems/test_calibration.py",
    ),
]
