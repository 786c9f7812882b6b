"""Synthesize a table: one charge, a few dozen noisy marginals, and a model that is public.

    what is asked ─▶ charge ─▶ one-way marginals ─▶ bins ─▶ two rounds of pairs and triples ─▶ record ─▶ model,
    rows

The order is that of every release (`discreet.kernel.spend`): public facts decide about a refusal before the
charge, the charge is on the disk before the engine is asked, and the noisy numbers are recorded before the analyst
sees them. The same call again is answered from the record and costs nothing. What the engine returns goes into an
`Exact` and nowhere else (discreet.synth.measure).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import Fix, ParameterError
from discreet.kernel import Job, Ready, SealedTable, expect_delta, strictest_budget, vault_budget
from discreet.kernel import spend as spend_on
from discreet.kernel.gaussian_budget import Unit, parts, proven, release_rho
from discreet.ledger.balance import Balance
from discreet.ledger.charge import Charge, Standing
from discreet.ledger.costs import described
from discreet.oracle import prior as priors
from discreet.privacy.losses import ZeroConcentrated
from discreet.query import cache_key
from discreet.query.bins import Axis, Bins
from discreet.rational import Rational, whole
from discreet.release.receipt import Promise, Receipt
from discreet.schema.metadata import UNIT
from discreet.synth import adaptive_bins, label, measure
from discreet.synth import person_ids as whose
from discreet.synth import sample as drawn
from discreet.synth.exact_marginals import marginals_of
from discreet.synth.marginals.domain import Columns, Domain
from discreet.synth.measure import Progress
from discreet.synth.released import Released
from discreet.synth.structural_zeros import masks, parsed
from discreet.synth.synthetic import Synthetic, prior_pairs

if TYPE_CHECKING:
    from discreet.engines.engine import Engine
    from discreet.schema.metadata import TableMetadata

Workload = Iterable[Sequence[str]] | Mapping[tuple[str, ...], float]
"""Sets of columns that matter, each with a weight if it is a mapping."""


@dataclass(frozen=True)
class _Order:
    """What was ordered, checked against the metadata: everything that is public before the charge."""

    metadata: TableMetadata
    fine: tuple[Axis, ...]
    kept: frozenset[str]
    rho: Fraction
    proven: Promise | None
    workload: dict[Columns, float] | None
    prior: Mapping[str, Any] | None
    impossible: tuple[str, ...]
    persons: bool
    text: str


def synthesize(
    table: SealedTable,
    columns: Sequence[str] | None = None,
    *,
    epsilon: Rational | None = None,
    spend: str | None = None,
    rows: int | None = None,
    workload: Workload | None = None,
    prior: Any = None,
    bins: Mapping[str, Bins] | None = None,
    impossible: Sequence[str] = (),
    persons: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> Synthetic:
    """Return a synthetic table over some columns of a vault, or over all that are not texts.

    It is one charge, and the same call again is free.

    Args:
        table: The sealed rows, and who pays.
        columns: The columns of the synthetic table; by default all that are not strings.
        epsilon: The guarantee of this table alone: it is (epsilon, δ)-DP at the vault's δ.
        spend: A share of the whole budget instead, such as "20%".
        rows: How many rows come out; by default about as many as the vault has. It costs nothing.
        workload: The sets of columns whose marginals matter, with weights if it is a mapping; by default all sets
            of three.
        prior: A public table with the same columns.
        bins: How many bins a column has, or where they begin.
        impossible: Conditions on two columns that no row can meet, such as "age < 15 and married".
        persons: Whether rows have ids, as many rows to an id as persons have.
        seed: Which rows are drawn. It costs nothing.
        progress: Called with what is being done and the share that is done.
    """
    if progress is not None and not callable(progress):
        raise ParameterError(
            "progress must be a function of what is done and the share of it.", found=type(progress).__name__
        )
    order = _ordered(table, columns, epsilon, spend, workload, prior, bins, impossible, persons)
    size = None if rows is None else drawn.check(whole(rows, "rows"), len(order.fine))
    draw = whole(seed, "seed", least=0)

    def prepare(ready: Ready) -> Job[Synthetic]:
        # Here, because a table that is recorded is free for every account.
        expect_delta(strictest_budget(ready.balances), "A synthetic table")
        return Job(
            ZeroConcentrated(order.rho),
            run=lambda charge: _measured(order, ready.engine, charge, progress),
            write=lambda found: None if found.test_bits else json.dumps(found.to_json(), ensure_ascii=False),
        )

    made = spend_on(table, [order.text], read=_recorded, prepare=prepare)
    return replace(made, source=table, rows=size, seed=draw)


def _recorded(standing: Standing) -> Synthetic:
    found = Synthetic.from_json(json.loads(standing.answer or ""))
    return replace(found, free=True, label=found.label.now(*standing.balances))


def _ordered(
    table: SealedTable,
    columns: Sequence[str] | None,
    epsilon: Rational | None,
    spend: str | None,
    workload: Workload | None,
    prior: Any,
    bins: Mapping[str, Bins] | None,
    impossible: Sequence[str],
    persons: bool,
) -> _Order:
    metadata = table.metadata
    balances = table.payer.balances()
    expect_delta(vault_budget(balances), "A synthetic table")
    names = _closed(metadata) if columns is None else columns if isinstance(columns, str) else list(columns)
    fine = adaptive_bins.fine_axes(metadata, names, bins)
    given = {name.casefold() for name in bins or {}}
    kept = frozenset(axis.name for axis in fine if axis.name.casefold() in given)
    adaptive_bins.check(fine, kept, metadata)
    if persons:
        whose.check(metadata)
    rho = release_rho(balances, epsilon, spend)
    domain = _domain(fine)
    _expect_noise(rho, balances, Unit(metadata.rows_per_person * UNIT), len(domain))
    wanted = None if workload is None else _workload(workload, domain)
    conditions = tuple(impossible)
    for condition in conditions:
        parsed(condition, fine, metadata)
    public = None if prior is None else priors.of_rows(prior, fine, metadata)[0]
    facts = [
        [[axis.name, list(axis.starts)] for axis in fine],
        sorted(([*c, w] for c, w in wanted.items()), key=str) if wanted else None,
        conditions,
        public,
    ]
    digest = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]
    ids = " with persons" * persons
    text = f"synthetic table over {', '.join(domain.names)}{ids} [rho {rho}, {digest}]"
    known = cache_key.text(metadata, text)
    return _Order(metadata, fine, kept, rho, proven(balances, epsilon), wanted, public, conditions, persons, known)


def _expect_noise(rho: Fraction, balances: Sequence[Balance], unit: Unit, columns: int) -> None:
    """Refuse an amount that buys noise which would leave int64, and name an epsilon that does not."""
    if measure.drawable(rho, unit, columns):
        return
    larger = (Fraction(10) ** k for k in range(-12, 3))
    enough = next(
        (e for e in larger if measure.drawable(release_rho(balances, e, None), unit, columns)), Fraction(1000)
    )
    raise ParameterError(
        "This epsilon buys noise that would leave int64.", fix=Fix("epsilon", f"{float(enough):g}")
    )


def _closed(metadata: TableMetadata) -> list[str]:
    names = [name for name, column in metadata.columns.items() if column.levels is not None]
    if not names:
        raise ParameterError(
            "All columns are strings, whose values are not public.", fix="Seal one of them as a category."
        )
    return names


def _domain(axes: Sequence[Axis]) -> Domain:
    return Domain(tuple(axis.name for axis in axes), tuple(axis.size for axis in axes))


def _workload(workload: Workload, domain: Domain) -> dict[Columns, float]:
    listed = workload.items() if isinstance(workload, Mapping) else ((names, 1.0) for names in workload)
    found: dict[Columns, float] = {}
    for names, weight in listed:
        if not isinstance(weight, int | float) or not 0 < weight < float("inf"):
            raise ParameterError("A weight of the workload must be a number above 0.", found=weight)
        places = domain.places(names)
        found[places] = found.get(places, 0.0) + float(weight)
    if not found:
        raise ParameterError(
            "A workload names sets of columns.", fix=Fix("workload", [["age", "city"], ["age", "income"]])
        )
    return found


def _measured(order: _Order, engine: Engine, charge: Charge, progress: Progress | None) -> Synthetic:
    """Measure what was ordered, after its charge."""
    metadata, unit = order.metadata, Unit(order.metadata.rows_per_person * UNIT)
    share = measure.ONES if len(order.fine) > 1 else 1.0
    sized = whose.SHARE if order.persons else 0.0
    first = parts(order.rho, {"sizes": sized, "ones": (1 - sized) * share, "rest": (1 - sized) * (1 - share)})
    sizes = whose.measured(engine, metadata, first["sizes"]) if order.persons else None
    fine = Released(_domain(order.fine), unit, float(UNIT))
    measure.measure(fine, marginals_of(engine, order.fine), parts(first["ones"], measure.one_way(fine.domain)))
    singles, total = fine.measurements[: len(order.fine)], fine.measurements[len(order.fine) :]
    cut = [
        adaptive_bins.coarse(axis, measured, metadata, keep=axis.name in order.kept)
        for axis, measured in zip(order.fine, singles, strict=True)
    ]
    axes = tuple(axis for axis, _ in cut)
    released = Released(_domain(axes), unit, float(UNIT), [*(m for _, m in cut), *total], test_bits=fine.test_bits)
    known = None if order.prior is None else adaptive_bins.placed(order.prior, order.fine, axes)
    if "rest" in first:
        measure.rounds(
            released,
            marginals_of(engine, axes),
            rho=first["rest"],
            workload=order.workload,
            prior=prior_pairs(known, released.domain),
            impossible=masks(order.impossible, axes, metadata),
            progress=progress,
        )
    noises = [*fine.noises, *released.noises]
    told = [] if sizes is None else [sizes.noise]
    losses = tuple(described(ZeroConcentrated(order.rho)))
    receipt = Receipt(charge.cost, losses, charge.balances, proven=order.proven)
    return Synthetic(
        metadata=metadata,
        axes=axes,
        measurements=tuple(released.measurements),
        scores={name: tuple(scores) for name, scores in released.scores.items()},
        stages=dict(released.stages),
        label=label.label(metadata, axes, noises, receipt, order.impossible, told, released.choices),
        impossible=order.impossible,
        prior=known,
        sizes=None if sizes is None else sizes.counts,
        test_bits=released.test_bits or (sizes is not None and sizes.test_bits),
    )


def counts(codes: np.ndarray[Any, np.dtype[np.integer]], domain: Domain) -> measure.Source:
    """Return a source for rows of codes, each of weight UNIT: for tables that are not in a vault.

    >>> source = counts(np.array([[0, 1], [1, 1]]), Domain(("a", "b"), (2, 2)))
    >>> source((0,)).tolist()
    [4096, 4096]
    """
    return lambda columns: domain.count(codes, columns).ravel() * UNIT
