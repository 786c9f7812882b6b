"""Private learning beside its peers: accuracy, area under the curve and CPU seconds, by ε.

Adult (48,842 rows), breast cancer (569) and digits (1,797, ten classes) are split ten times, 80 % to fit and 20 %
to test; δ = 1e-5, neighbours add or remove a row. A system sees a schema that lists categories and ranges, and no
parameter is tuned. Beside Discreet:

* diffprivlib, whose ε is pure and whose neighbours replace a row, on its own columns and on those with hats,
* DP-EBM of interpret, (ε, δ),
* scikit-learn without privacy: logistic regression on standardised columns and on hats, and boosted trees.

Noise is unseeded, so figures vary a little from run to run; small tables are fitted several times on each split,
because with 114 rows to test the mean of ten fits is off by 0.007. Targets are what sketches of the methods
reached on the same splits. Tables on which nothing was tuned follow, without targets. CPU seconds are of one
thread, for one fit.

    python -m bench.learn [quick]     three splits, and peers' results from out/ if they are there
    DISCREET_ADULT_LEARNING=folder    adult.csv and adult-domain.json; without them there are no figures of Adult
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from bench import learn_ours
from bench.figures import ROOT, ask_peer, figure
from bench.tables_learn import Floats, Table, adult, auc, hats, plain, present, split, unseen

EPSILONS = ("0.1", "0.5", "1", "2")
SPLITS, QUICK = 10, 3
SEEDS = 5
"""Splits of the linear regression and of the tables on which nothing was tuned."""
SMALL, REPEATS = 5000, 20
"""Tables below so many rows are fitted so often on each split: their noise varies most."""
CACHE = ROOT / "out" / "learn-peers.json"

TARGETS = {
    ("Adult", "Discreet", "accuracy"): (0.844, 0.853, 0.855, 0.856),
    ("Adult", "Discreet", "auc"): (0.895, 0.908, 0.910, 0.911),
    ("Adult", "Discreet, pure ε", "accuracy"): (0.808, 0.847, 0.852, 0.855),
    ("breast cancer", "Discreet", "accuracy"): (0.885, 0.944, 0.953, 0.962),
    ("digits", "Discreet", "accuracy"): (0.243, 0.726, 0.864, 0.909),
    ("Adult, linear regression", "Discreet", "r2"): (0.20, 0.28, 0.30, 0.32),
}
BOOSTED = {"Discreet, boosted stumps": 0.907, "Discreet, boosted histograms": 0.909}
"""The area under the curve on Adult, at ε = 1."""
FIT_SECONDS = 1.0

Run = dict[str, float]
Runs = dict[str, list[Run]]
"""By ε; "none" is without privacy."""
Results = dict[str, dict[str, Runs]]
"""By table, then by system."""


def ours(splits: int) -> Results:
    """Fit Discreet on the tables of the protocol."""
    results: Results = {}
    for name, read in present().items():
        table = read()
        for system, (estimator, _) in learn_ours.CLASSIFIERS.items():
            if estimator not in learn_ours.absent() and (name == "Adult" or system == "Discreet"):
                results.setdefault(name, {})[system] = _by_epsilon(table, system, splits)
    if "Adult" in results and learn_ours.REGRESSION not in learn_ours.absent():
        seeds = range(min(splits, SEEDS))
        runs = {e: [learn_ours.regressed(adult(), e, seed) for seed in seeds] for e in EPSILONS}
        results["Adult, linear regression"] = {"Discreet": runs}
    return results


def _by_epsilon(table: Table, system: str, splits: int) -> Runs:
    seeds = [seed for seed in range(splits) for _ in range(REPEATS if len(table) < SMALL else 1)]
    return {e: [learn_ours.classified(system, table, e, seed) for seed in seeds] for e in EPSILONS}


def standardised() -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))


WITHOUT: Mapping[str, tuple[Callable[[], Any], Callable[[Table], Floats]]] = {
    "scikit-learn": (standardised, plain),
    "scikit-learn on hats": (lambda: LogisticRegression(C=100, max_iter=2000), hats),
    "scikit-learn, boosted trees": (lambda: HistGradientBoostingClassifier(random_state=0), plain),
}


def without_privacy(splits: int) -> Results:
    """Fit scikit-learn on the same splits."""
    results: Results = {}
    for name, read in present().items():
        table = read()
        for system, (make, columns) in WITHOUT.items():
            rows = columns(table)
            runs = [_plainly(make(), table, rows, seed) for seed in range(splits)]
            results.setdefault(name, {})[system] = {"none": runs}
    if "Adult" in results:
        results["Adult, linear regression"] = {
            system: {
                "none": [_least_squares(adult(), columns(adult()), seed) for seed in range(min(splits, SEEDS))]
            }
            for system, columns in (("scikit-learn", plain), ("scikit-learn on hats", hats))
        }
    return results


def _plainly(model: Any, table: Table, rows: Floats, seed: int) -> Run:
    train, test = split(len(table), seed)
    start = time.process_time()
    model.fit(rows[train], table.target[train])
    found = {"seconds": time.process_time() - start, "accuracy": model.score(rows[test], table.target[test])}
    if table.classes == 2:
        found["auc"] = auc(table.target[test], model.predict_proba(rows[test])[:, 1])
    return found


def _least_squares(table: Table, rows: Floats, seed: int) -> Run:
    values = np.where(table.target == 1, 1.0, -1.0)
    train, test = split(len(table), seed)
    start = time.process_time()
    model = LinearRegression().fit(rows[train], values[train])
    return {
        "seconds": time.process_time() - start,
        "r2": learn_ours.r_squared(values[test], model.predict(rows[test])),
    }


def peers(splits: int, *, cached: bool) -> tuple[Results, str]:
    """Return what peers reach, and when that was measured: anew, or what an earlier run wrote down."""
    if cached and CACHE.exists():
        held = json.loads(CACHE.read_text())
        return held["results"], held["when"]
    asked = (
        ask_peer("diffprivlib", "diffprivlib_learn", str(splits), *EPSILONS),
        ask_peer("interpret", "interpret_learn", str(splits), learn_ours.DELTA, *EPSILONS),
    )
    results, when = together(*asked), datetime.now(UTC).isoformat(timespec="minutes")
    CACHE.parent.mkdir(exist_ok=True)
    CACHE.write_text(json.dumps({"when": when, "splits": splits, "results": results}))
    return results, when


def together(*parts: Results) -> Results:
    """Return the systems of all parts, by table.

    >>> together({"a": {"x": {}}}, {"a": {"y": {}}})
    {'a': {'x': {}, 'y': {}}}
    """
    results: Results = {}
    for part in parts:
        for table, systems in part.items():
            results.setdefault(table, {}).update(systems)
    return results


def middle(runs: Sequence[Run], quantity: str) -> float:
    """Return the mean of a quantity, NaN where it was not measured; of R² the median, as one may be −10¹²."""
    values = [run[quantity] for run in runs if quantity in run]
    if not values:
        return float("nan")
    return float(np.median(values) if quantity == "r2" else np.mean(values))


def show(results: Results) -> None:
    """Print a block for each table: a line per system, and per ε the mean with its spread."""
    for table, systems in results.items():
        print(f"\n{table}\n{'':34}{'':10}" + "".join(f"{'ε = ' + e:>17}" for e in EPSILONS))
        for system, runs in systems.items():
            for quantity in ("accuracy", "auc", "r2", "seconds"):
                if any(quantity in run for each in runs.values() for run in each):
                    shown = ["none"] if "none" in runs else EPSILONS
                    cells = "".join(f"{_cell(runs.get(e, []), quantity):>17}" for e in shown)
                    print(f"{system:34}{quantity:10}{cells}{'   without ε' if 'none' in runs else ''}")


def _cell(runs: Sequence[Run], quantity: str) -> str:
    value = middle(runs, quantity)
    if quantity == "seconds" or not runs:
        return f"{value:.3f}" if runs else "–"
    if abs(value) > 100:
        return f"{value:.2g}"
    return f"{value:.4f} ±{np.std([run[quantity] for run in runs]):.3f}"


def on_unseen(splits: int) -> Results:
    """Fit Discreet, and scikit-learn beside it, on tables on which nothing was tuned."""
    results: Results = {}
    for table in unseen():
        rows = plain(table)
        results[table.name] = {
            "Discreet": _by_epsilon(table, "Discreet", splits),
            "scikit-learn": {"none": [_plainly(standardised(), table, rows, seed) for seed in range(splits)]},
            "the most frequent class": {"none": [{"accuracy": np.bincount(table.target).max() / len(table)}]},
        }
    return results


def figures(results: Results) -> None:
    """Print what was reached beside its targets."""
    for (table, system, quantity), targets in TARGETS.items():
        if table in results:
            for epsilon, reach in zip(EPSILONS, targets, strict=True):
                name = f"{table} {system.removeprefix('Discreet')} {quantity} epsilon {epsilon}"
                words = "_".join(name.replace(",", "").replace("ε", "").lower().split())
                runs = results[table].get(system, {}).get(epsilon, [])
                figure(f"learn_{words}", middle(runs, quantity), reach, at_least=True)
    if "Adult" in results:
        for system, reach in BOOSTED.items():
            runs = results["Adult"].get(system, {}).get("1", [])
            name = "_".join(system.removeprefix("Discreet, ").split())
            figure(f"learn_adult_{name}_auc_epsilon_1", middle(runs, "auc"), reach, at_least=True)
        fits = results["Adult"].get("Discreet", {})
        slowest = max((middle(runs, "seconds") for runs in fits.values()), default=float("nan"))
        figure("learn_adult_fit_cpu_seconds", slowest, FIT_SECONDS, at_least=False)


def main(*, quick: bool) -> None:
    """Print everything, and the figures last."""
    os.environ["OMP_NUM_THREADS"] = "1"  # for peers, which are processes of their own
    splits = QUICK if quick else SPLITS
    if "Adult" not in present():
        print("Adult is not here: name its folder in DISCREET_ADULT_LEARNING. Its figures are left out.")
    if absent := learn_ours.absent():
        print(f"This version of Discreet has no {', '.join(absent)}. Their figures are NaN.")
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's, on fits of few rows
        mine, theirs = ours(splits), without_privacy(splits)
        others, when = peers(splits, cached=quick)
        print(f"{splits} splits, δ = {learn_ours.DELTA}; peers measured {when}")
        results = together(mine, others, theirs)
        show(results)
        print("\nNothing was tuned on these:")
        show(on_unseen(min(splits, SEEDS)))
    print()
    figures(results)


if __name__ == "__main__":
    main(quick="quick" in sys.argv[1:] or os.environ.get("DISCREET_BENCH") == "quick")
