"""ε of four plans beside dp-accounting and prv-accountant, in one run: how tight, how fast, and never too small.

Times are CPU seconds, the best of several. Every accountant computes ε at δ = 1e-6; then the exact value of 10,000
Gaussians (σ = 100), known in closed form, is asked for at δ down to 1e-30.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Sequence

os.environ.setdefault("OMP_NUM_THREADS", "1")  # a second thread that waits for work counts as CPU time

import mpmath as mp

from bench.figures import ask_peer, cpu_seconds, figure
from bench.plans import DELTA, REFERENCES, SMALL_DELTAS, Event, plans, sampled_grid
from discreet import privacy
from discreet.privacy import Loss

mp.mp.dps = 60


def loss(event: Event) -> Loss:
    kind, parameter, rate, count = event
    base: Loss
    match kind:
        case "laplace":
            base = privacy.Laplace(scale=1, sensitivity=parameter)
        case "gaussian":
            base = privacy.Gaussian(sigma=parameter)
        case _:
            base = privacy.RandomizedResponse(parameter)
    return (base if rate == 1 else privacy.PoissonSubsampled(base, rate)) * count


def ours(events: list[Event]) -> tuple[float, float]:
    losses = [loss(event) for event in events]
    epsilon = privacy.epsilon(losses, DELTA)
    # A plan is built from scratch every time, as an analyst would.
    return epsilon, cpu_seconds(lambda: privacy.epsilon([loss(event) for event in events], DELTA))


def exact_gaussian_epsilon(delta: float) -> float:
    def log_delta(e: mp.mpf) -> mp.mpf:
        return mp.log(mp.ncdf(mp.mpf(1) / 2 - e) - mp.exp(e) * mp.ncdf(-mp.mpf(1) / 2 - e))

    guess = math.sqrt(-2 * math.log(delta))
    return float(mp.findroot(lambda e: log_delta(e) - mp.log(delta), (guess, guess + 0.1)))


def samples() -> None:
    """Compare sampled Gaussians with references, and their bounds with each other on random plans."""
    excess = []
    for rate, sigma, count, delta, reference in REFERENCES:
        found = privacy.epsilon([privacy.PoissonSubsampled(privacy.Gaussian(sigma), rate) * count], delta)
        excess.append(found / reference - 1)
        print(
            f"q = {rate:5} σ = {sigma:4} × {count:7}  δ = {delta:5.0e}  ε = {found:.6g}, reference {reference:.6g}"
        )
    gaps, seconds = [], []
    for rate, sigma, count, delta in sampled_grid():
        plan = [privacy.PoissonSubsampled(privacy.Gaussian(sigma), rate) * count]
        low, high = privacy.epsilon_bounds(plan, delta)
        seconds.append(cpu_seconds(functools.partial(privacy.epsilon, plan, delta), repeats=1))
        gaps.append(high / low - 1 if low else float(high > 0))
        if gaps[-1] > 1e-3 or seconds[-1] > 2:
            print(f"q = {rate} σ = {sigma} × {count}, δ = {delta}: [{low:.6g}, {high:.6g}] in {seconds[-1]:.2f} s")
    print(f"{len(gaps)} random plans: half of the gaps are below {sorted(gaps)[len(gaps) // 2]:.1e}\n")
    figure("sampled_largest_excess_over_reference", max(excess), 0.01, at_least=False)
    figure("sampled_least_excess_over_reference", min(excess), -2e-5, at_least=True)  # their last digit
    figure("sampled_largest_gap_of_bounds", max(gaps), 0.01, at_least=False)
    figure("sampled_most_seconds", max(seconds), 5, at_least=False)


def cell(result: Sequence[float] | None) -> str:
    return f"{result[0]:10.6f} {1e3 * result[1]:8.1f} ms" if result else f"{'—':>22}"


def main() -> None:
    google = ask_peer("dp_accounting", "dp_accounting_plans")
    prv = ask_peer("prv_accountant", "prv_accountant_plans")
    mine = {name: ours(events) for name, events in plans().items()}

    print(f"{'ε at δ = 1e-6':16} {'discreet':>22} {'dp-accounting':>22} {'prv-accountant':>22}")
    for name, result in mine.items():
        print(f"{name:16} {cell(result)} {cell(google['plans'][name])} {cell(prv.get(name))}")

    print("\n10,000 Gaussians (σ = 100): what each says, less the exact ε. Below 0 is a privacy leak.")
    direct = privacy.Gaussian(sigma=100) * 10_000
    forced = privacy.PoissonSubsampled(privacy.Gaussian(sigma=100), 1) * 10_000  # not through the closed form
    least = math.inf
    for delta, peer in zip(SMALL_DELTAS, google["gaussian"], strict=True):
        exact = exact_gaussian_epsilon(delta)
        formula, lattice = (privacy.epsilon(plan, delta) - exact for plan in (direct, forced))
        least = min(least, formula, lattice)
        print(
            f"δ = {delta:5.0e}  exact {exact:9.5f}  discreet {formula:+.1e} (lattice {lattice:+.1e})  "
            f"dp-accounting {peer - exact:+.1e}"
        )

    print()
    samples()
    figure("least_excess_over_exact", least, 0.0, at_least=True)
    for name, (epsilon, seconds) in mine.items():
        best = min(peer[0] for peer in (google["plans"][name], prv.get(name)) if peer)
        figure(f"{name}_epsilon_over_best_peer", epsilon - best, 1e-3, at_least=False)
        speed = google["plans"][name][1] / seconds
        figure(f"{name}_speed_over_dp_accounting", speed, 1 if name == "sampled" else 5, at_least=True)


if __name__ == "__main__":
    main()
