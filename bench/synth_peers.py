"""AIM and MST beside this package: answers, rows and the worst cell on two tables at ε = 1, δ = 1e-9, one run.

Peers are those of OpenDP and private-pgm, at their published settings, with the ρ that this package spends. They
take from minutes to an hour of CPU for each table. Reach: no worse than AIM, and a worst cell no worse than MST's.

    python -m bench.synth_peers [AIM|MST:table …]
"""

from __future__ import annotations

import subprocess
import sys

from bench import synth_rows, tables
from bench.figures import ask_peer, figure
from discreet.kernel import gaussian_budget as budget
from discreet.schema.metadata import UNIT
from discreet.synth.marginals import Domain
from discreet.synth.measure import fit
from discreet.synth.sample import sample
from discreet.synth.synthesize import counts

EPSILON = "1"
JOBS = ("MST:small", "AIM:small", "MST:adult", "AIM:adult")


def beside(mechanism: str, name: str) -> None:
    """Run a peer on a table, and this package, and print both."""
    rho = budget.rho_of(EPSILON, synth_rows.DELTA)
    try:
        peer = ask_peer("opendp_mbi", "opendp_mbi_synth", mechanism, name, repr(float(rho)))
    except subprocess.CalledProcessError as failed:
        print(f"{mechanism} on {name} ended with an error of its own ({failed.returncode}): no figures.")
        return
    (table,) = tables.every(name)
    domain = Domain(table.names, table.sizes)
    source = counts(table.codes, domain)
    model, _ = fit(source, domain, rho=rho, contribution=UNIT, scale=float(UNIT))
    rows = sample(model, len(table))
    answers = synth_rows.errors(table, model.marginal)
    drawn = synth_rows.errors(table, lambda columns: domain.count(rows, columns))
    print(
        f"{mechanism} on {name}, ε = {EPSILON}: answers {peer['answers']:.4f}, rows {peer['rows_sample']:.4f} "
        f"sampled and {peer['rows_round']:.4f} rounded, worst cell {peer['worst']:.4f}, "
        f"{peer['seconds']:.0f} CPU-s\n"
        f"  this: answers {answers.mean:.4f}, rows {drawn.mean:.4f}, worst cell {answers.worst:.4f}"
    )
    label = f"synth_{mechanism.lower()}_{name}"
    if mechanism == "AIM":
        figure(f"{label}_answers", answers.mean, peer["answers"], at_least=False)
        figure(f"{label}_rows", drawn.mean, peer["rows"], at_least=False)
    figure(f"{label}_worst_cell", answers.worst, peer["worst"], at_least=False)


def main() -> None:
    """Run the jobs that are named, or all."""
    for job in sys.argv[1:] or JOBS:
        mechanism, _, name = job.partition(":")
        beside(mechanism, name)


if __name__ == "__main__":
    main()
