"""A short tour: a city is sealed and asked, and then what lies beneath: exact noise, what it costs, two pictures.

make demo
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import altair

from discreet import plots, privacy
from discreet.cli.commands.demo import demo
from discreet.errors import SensitivityExceeded
from discreet.mechanisms import Exact, Laplace, PermuteAndFlip, Sensitivity

OUT = Path(__file__).parent.parent / "out"


def heading(text: str) -> None:
    bold, plain = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")
    print(f"\n{bold}{text}{plain}")


def vault() -> None:
    """The same as `discreet demo --keep out/demo`; what an earlier tour left there makes room."""
    place = Path(os.path.relpath(OUT / "demo"))
    shutil.rmtree(place, ignore_errors=True)
    demo(persons=100_000, keep=place)
    print("  (After make, discreet is .venv/bin/discreet.)")


def releases() -> None:
    heading("Beneath it: one number at a time")
    visitors = Exact(1042, sensitivity=1)  # one person changes it by at most 1
    mechanism = Laplace.for_epsilon("0.1")
    print(f"   an exact value shows nothing of itself:   {visitors}")
    noisy, error = mechanism.release(visitors), mechanism.error(confidence="0.95")
    print(f"   what may be seen of it:                   {noisy} ± {error} (95 %)")
    print(f"   what it costs:                            {mechanism.loss}")
    try:
        Laplace.for_epsilon("0.1").release(Exact(1042, sensitivity=5))
    except SensitivityExceeded as refused:
        print(f"   a value it was not built for is refused:  {refused}")
    votes = {"Oslo": 410, "Lima": 395, "Pune": 120, "Bern": 70}
    pick = PermuteAndFlip("0.5", monotonic=True)
    scores = Exact(list(votes.values()), Sensitivity(each=1, entries=1, monotonic="up"))
    print(f"   the favourite city, at ε = 0.5:           {list(votes)[pick.release(scores)]}")


def costs() -> None:
    heading("And what many of them cost together")
    plan = [Laplace.for_epsilon("0.1").loss * 100, privacy.Gaussian(sigma=20) * 50]
    print("   a plan of 100 Laplace and 50 Gaussian releases, at δ = 1e-9:")
    low, high = privacy.epsilon_bounds(plan, delta="1e-9")
    print(f"   ε lies in [{low:.4f}, {high:.4f}]; basic composition says 10 for the Laplace part alone")
    print(f"   {privacy.explain(1)}")


def charts() -> dict[str, altair.LayerChart]:
    curves = {
        "ε = 0.5": privacy.tradeoff(privacy.Pure("0.5")),
        "ε = 2": privacy.tradeoff(privacy.Pure(2)),
        "50 × Gaussian, σ = 10": privacy.tradeoff(privacy.Gaussian(sigma=10) * 50),
    }
    return {"composition": plots.composition("0.1", "1e-6"), "tradeoff": plots.tradeoff(curves)}


def pictures() -> None:
    heading("Look at it")
    for name, chart in charts().items():
        chart.save(str(OUT / f"{name}.html"), inline=True)  # opens without a network
        chart.save(str(OUT / f"{name}.png"))
        print(f"   out/{name}.html and out/{name}.png")


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    vault()
    releases()
    costs()
    pictures()
