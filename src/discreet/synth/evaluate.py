"""Measure how wrong a synthetic table is: distances of its marginals of one, two and three columns, and pictures.

The distance is ‖M(D)/n − M(synthetic)/n‖₁, between 0 and 2. Three ways to know it:

**From what was released.** The distances that were scored while the table was made are unbiased, up to noise
that is stated; they are those of the model before its last round, which usually made it better. What was
measured has the error that its shrinkage expects, E|x̂ − x| ≈ √(2/π)·deviation, added up. This is an expectation:
it has no interval of its own, and the report says so.
**Beside a public table**: the distances themselves, which are exact.
**For a charge**: half of ρ for the distances of the final model from the vault, all at once, half for a fresh
measurement of a few marginals. This is a release of its own, charged before it is made and recorded like any
other.
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import Fix, ParameterError
from discreet.kernel import Job, Ready
from discreet.kernel import spend as spend_on
from discreet.kernel.gaussian_budget import Unit, parts, proven, release_rho
from discreet.ledger.balance import Balance
from discreet.ledger.charge import Charge
from discreet.ledger.costs import cost, described
from discreet.oracle import prior as priors
from discreet.privacy.losses import ZeroConcentrated
from discreet.query import cache_key
from discreet.rational import Rational
from discreet.release.label import Label
from discreet.release.receipt import Promise, Receipt, together
from discreet.release.released import Guarded
from discreet.render import numbers
from discreet.schema.metadata import UNIT
from discreet.synth import measure
from discreet.synth import serialize as files
from discreet.synth.adaptive_bins import check_cells
from discreet.synth.exact_marginals import marginals_of
from discreet.synth.marginals.domain import Columns, Floats
from discreet.synth.released import Released
from discreet.synth.selection.workload import MOST_CELLS

if TYPE_CHECKING:
    import altair

    from discreet.synth.synthetic import Synthetic

PRODUCT = "a comparison of a synthetic table"

MOST_SETS = 600
"""Distances that one comparison pays for."""

EARLIER = "measured, before the last improvement"
BELIEVED = "expected from the noise"

_ROOT = math.sqrt(2 / math.pi)


@dataclass(frozen=True)
class Distance:
    """The distance of one marginal in l1, as a share of the rows; `deviation` is that of its noise."""

    columns: tuple[str, ...]
    value: float
    deviation: float
    how: str


@dataclass(frozen=True, eq=False)
class Shown:
    """One marginal beside its counterpart: counts, and the deviation of the noise on those of the table."""

    columns: tuple[str, ...]
    table: Floats
    synthetic: Floats
    deviation: float


@dataclass(frozen=True)
class Comparison(Guarded):
    """Distances of marginals, and marginals side by side.

    The receipt is that of the comparison alone, and is free unless the comparison was charged. The label is that
    of the table, and its guarantee covers the table and the comparison together. `rows` says how far the rows are
    from the answers they were drawn from, and is empty in a comparison that was charged.
    """

    title: str
    distances: tuple[Distance, ...]
    shown: tuple[Shown, ...] = field(default=())
    test_bits: bool = False
    rows: str = ""
    label: Label = field(kw_only=True, repr=False, compare=False)
    receipt: Receipt = field(kw_only=True, repr=False, compare=False)

    def mean(self, ways: int) -> tuple[float, float] | None:
        """Return the mean distance of the marginals over so many columns, and its deviation; None without any."""
        found = [d for d in self.distances if len(d.columns) == ways]
        if not found:
            return None
        noise = math.sqrt(sum(d.deviation**2 for d in found)) / len(found)
        return float(np.mean([d.value for d in found])), noise

    @property
    def worst(self) -> tuple[Distance, ...]:
        """The ten marginals that are furthest off."""
        return tuple(sorted(self.distances, key=lambda d: -d.value)[:10])

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads. It says if it was made from test bits."""
        return files.written_comparison(self)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Comparison:
        """Return the comparison that `to_json` wrote."""
        fields = files.comparison_fields(record)
        distances = tuple(Distance(*parts) for parts in fields.pop("distances"))
        return cls(distances=distances, shown=tuple(Shown(*parts) for parts in fields.pop("shown")), **fields)

    def __repr__(self) -> str:
        return f"Comparison({self.title}; {len(self.distances)} distances, {len(self.shown)} shown)"

    def __str__(self) -> str:
        self.expect_release("showing it")
        lines = [self.title]
        for ways in (1, 2, 3):
            if found := self.mean(ways):
                hows = [d.how for d in self.distances if len(d.columns) == ways]
                lines.append(
                    f"  {len(hows):4d} marginal{'s' * (len(hows) > 1)} of {ways} column{'s' * (ways > 1)}: "
                    f"mean distance {_known(*found, believed=BELIEVED in hows)}"
                )
        lines += [f"  furthest off: {', '.join(d.columns)} ({d.value:.3f}, {d.how})" for d in self.worst[:3]]
        lines += [f"  {self.rows}"] if self.rows else []
        return "\n".join(lines)

    def plot(self) -> altair.TopLevelMixin:
        """Draw the distances, and the marginals that were looked at, side by side."""
        from discreet.synth import plots

        self.expect_release("plot")
        return plots.comparison(self)

    def _repr_html_(self) -> str:
        if self.test_bits:
            return f"<p>{html.escape(repr(self))}: made from test bits.</p>"
        return f"<pre>{html.escape(str(self))}</pre>"


def _free(table: Synthetic) -> dict[str, Any]:
    """Return the label and the receipt of a comparison that is post-processing."""
    label = replace(table.label, product=PRODUCT)
    return {"label": label, "receipt": Receipt.free_of(label.receipt)}


def _charged(
    table: Synthetic, loss: ZeroConcentrated, balances: Sequence[Balance], promise: Promise | None
) -> dict[str, Any]:
    """Return the label and the receipt of a comparison that was charged, with what is proven of it by itself."""
    receipt = Receipt(cost=cost(loss), losses=described(loss), balances=balances, proven=promise)
    both = together([table.label.receipt, receipt])
    return {"label": replace(table.label, product=PRODUCT, receipt=both), "receipt": receipt}


def _known(value: float, deviation: float, *, believed: bool) -> str:
    """Return a mean distance, with what is known of its error."""
    if believed:
        return f"{value:.4f} (expected from the noise of what was measured)"
    return " ".join(numbers.with_margin(value, 1.96 * deviation)) if deviation else f"{value:.4f}"


def released(table: Synthetic) -> Comparison:
    """Return the comparison that is free: from what was released while the table was made."""
    model, total = table.model, table.total
    names = table.domain.names
    found: list[Distance] = []
    known = model.evidence.gathered(1)
    for (column,), m in known.items():
        cells = np.minimum(_ROOT * np.sqrt(m.variances), model.ones[column]).sum() / total
        found.append(Distance((names[column],), float(cells), 0.0, BELIEVED))
    for pair in model.variances:
        off = _ROOT * float(np.sqrt(model.variances[pair]).sum()) / total
        found.append(Distance(tuple(names[c] for c in pair), off, 0.0, BELIEVED))
    for score in table.scores.get("triples", ()):
        columns = tuple(names[c] for c in score.columns)
        found.append(Distance(columns, score.value / total, score.deviation / total, EARLIER))
    return Comparison("What the measurements say of the synthetic table", tuple(found), **_free(table))


def beside(table: Synthetic, public: Any) -> Comparison:
    """Return the comparison with a public table that has the same columns."""
    record = priors.of_rows(public, table.axes, table.metadata)[0]
    places, counts = np.array(record["places"], np.int64), np.array(record["counts"], float)
    rows = max(float(counts.sum()), 1.0)
    found = []
    for columns in _sets(table):
        shape = table.domain.shape(columns)
        flat = np.ravel_multi_index([places[c] for c in columns], shape)
        there = np.bincount(flat, counts, math.prod(shape)).reshape(shape) / rows
        here = table.model.marginal(columns)
        off = float(np.abs(there - here / max(float(here.sum()), 1e-12)).sum())
        found.append(Distance(tuple(table.domain.names[c] for c in columns), off, 0.0, "beside a public table"))
    return Comparison("The synthetic table beside a public one", tuple(found), **_free(table))


def _sets(table: Synthetic) -> list[Columns]:
    """Return sets of one, two and three columns; if they are too many, some of each, spread evenly over all."""
    found: list[Columns] = []
    for ways in (1, 2, 3):
        found += table.domain.spread(ways, (MOST_SETS - len(found)) // (4 - ways))
    return [c for c in found if table.domain.cells(c) <= MOST_CELLS]


def _looks(table: Synthetic, show: Sequence[Sequence[str]]) -> list[Columns]:
    """Return the marginals to look at, or refuse them."""
    if isinstance(show, str) or any(isinstance(names, str) for names in show):
        raise ParameterError(
            "The marginals to show are a list of lists of columns.", found=show, fix=Fix("show", [["age", "city"]])
        )
    looks = [table.domain.places(names) for names in show] or _worst(table)
    for columns in looks:
        if not columns:
            raise ParameterError("A marginal to show names its columns.", fix=Fix("show", [["age", "city"]]))
        check_cells([table.domain.names[c] for c in columns], table.domain.shape(columns))
    return looks


def paid(
    table: Synthetic, epsilon: Rational | None, spend: str | None, show: Sequence[Sequence[str]]
) -> Comparison:
    """Return the comparison with the vault itself, and charge it."""
    source = table.source
    if source is None:
        raise ParameterError(
            "A comparison that is charged asks the vault, and this table was loaded from a file.",
            fix="Make the table again, which is free: vault.synthesize(…).compare(epsilon=…).",
        )
    if not source.is_newest():
        raise ParameterError(
            "The vault was sealed again since this table was made.",
            fix="Synthesize the new rows, and compare that table.",
        )
    rho = release_rho(source.payer.balances(), epsilon, spend)
    looks = _looks(table, show)
    sets = _sets(table)
    believed = table.model
    believed.triples  # noqa: B018, made here: a lack of memory is met before the charge
    digest = table.label.receipt.losses, [m.values.sum() for m in table.measurements[:3]]
    text = f"comparison of a synthetic table over {', '.join(table.domain.names)} [rho {rho}, {looks}, {digest}]"
    budget = parts(rho, {"scores": 1.0, "looks": 1.0})
    each = parts(budget["looks"], dict.fromkeys(looks, 1.0))
    unit = Unit(table.metadata.rows_per_person * UNIT)
    loss = ZeroConcentrated(rho)
    promise = proven(source.payer.balances(), epsilon)

    def prepare(ready: Ready) -> Job[Comparison]:
        if not unit.affords(budget["scores"], len(sets)) or not unit.affords(min(each.values())):
            raise ParameterError(
                "This epsilon buys noise that would leave int64.",
                found=epsilon or spend,
                fix=Fix("epsilon", "0.1"),
            )

        def run(charge: Charge) -> Comparison:
            done = Released(table.domain, unit, float(UNIT))
            marginals = marginals_of(ready.engine, table.axes)
            measure.score(done, marginals, sets, believed.marginal, budget["scores"], "paid")
            measure.measure(done, marginals, each)
            record.update(
                scores=[[list(s.columns), s.value, s.deviation] for s in done.scores["paid"]],
                looks=[[list(m.columns), m.values.ravel().tolist(), m.variance] for m in done.measurements],
            )
            return replace(_read(record, table, loss, charge.balances, promise), test_bits=done.test_bits)

        record: dict[str, Any] = {}
        return Job(loss, run, lambda made: None if made.test_bits else json.dumps(record), silent=True)

    return spend_on(
        source,
        [cache_key.text(table.metadata, text)],
        read=lambda standing: _read(json.loads(standing.answer or ""), table, loss, standing.balances, promise),
        prepare=prepare,
    )


def _worst(table: Synthetic) -> list[Columns]:
    """Return the pair that depends on each other most, and the column that it begins with."""
    ties = table.model.ties
    pair = max(ties, key=lambda c: ties[c]) if ties else tuple(range(min(2, len(table.domain))))
    return [pair[:1], *([pair] if len(pair) > 1 else [])]


def _read(
    record: Any, table: Synthetic, loss: ZeroConcentrated, balances: Sequence[Balance], promise: Promise | None
) -> Comparison:
    names, total = table.domain.names, table.total
    distances = tuple(
        Distance(tuple(names[c] for c in columns), value / total, deviation / total, "measured")
        for columns, value, deviation in record["scores"]
    )
    shown = tuple(
        Shown(
            tuple(names[c] for c in columns),
            np.array(values, float).reshape(table.domain.shape(columns)),
            table.model.marginal(columns),
            math.sqrt(variance),
        )
        for columns, values, variance in record["looks"]
    )
    released = _charged(table, loss, balances, promise)
    return Comparison("The synthetic table beside the vault, with noise", distances, shown, **released)
