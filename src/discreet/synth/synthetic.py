"""Define the synthetic table: a model of noisy marginals, with rows, answers and a report of their errors.

    table.to_pandas()                          rows like those of the vault; also to_arrow(), to_polars()
    table.marginal(["age", "city"])            estimated counts, from the model rather than from rows
    table.ask("select avg(income) from people where age >= 65")
    table.compare()                            how wrong marginals of one, two and three columns are
    table.save("people.synthetic"), Synthetic.load(…)

Everything in it was released, so every use of it is post-processing and free.
**Except if it was made from test bits**: then it refuses to become a table or a file.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.errors import ParameterError
from discreet.query.bins import Axis
from discreet.rational import Rational, whole
from discreet.release.label import Label
from discreet.release.receipt import Receipt
from discreet.release.released import Guarded
from discreet.release.render import key
from discreet.render.html import fragment, framed
from discreet.schema.metadata import UNIT, TableMetadata
from discreet.synth import decode, evaluate, serialize
from discreet.synth.answer import SyntheticAnswer, answer
from discreet.synth.evaluate import Comparison
from discreet.synth.marginals.domain import Columns, Domain, Floats
from discreet.synth.marginals.estimate import estimate
from discreet.synth.marginals.measurements import Evidence, Measurement
from discreet.synth.marginals.model import Model
from discreet.synth.person_ids import ids
from discreet.synth.released import Score, ties
from discreet.synth.rows.residual import Fit, fit_of
from discreet.synth.sample import Codes, check, sample
from discreet.synth.structural_zeros import masks

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from discreet.kernel import SealedTable


_PAGE = (
    "<p><strong>{{ first }}</strong></p>{% if columns %}<table><thead><tr>{% for column in columns %}"
    '<th{% if column.number %} class="n"{% endif %}>{{ column.name | plain }}</th>{% endfor %}</tr></thead><tbody>'
    "{% for row in range(columns[0].cells | length) %}<tr>{% for column in columns %}"
    '<td{% if column.number %} class="n"{% endif %}>{{ column.cells[row] | plain }}</td>{% endfor %}</tr>'
    "{% endfor %}</tbody></table>{% endif %}{% for line in rest %}<p>{{ line }}</p>{% endfor %}"
)


class Marginal(NamedTuple):
    """Estimated counts over some columns, with the typical error of each cell."""

    columns: tuple[str, ...]
    levels: tuple[tuple[Any, ...], ...]
    counts: Floats
    deviations: Floats


@dataclass(frozen=True, eq=False)
class Synthetic(Guarded):
    """A synthetic table, made by `vault.synthesize`. See the module for its methods."""

    metadata: TableMetadata
    axes: tuple[Axis, ...]
    measurements: tuple[Measurement, ...]
    scores: Mapping[str, tuple[Score, ...]]
    stages: Mapping[str, int]
    label: Label
    impossible: tuple[str, ...] = ()
    prior: Mapping[str, Any] | None = None
    sizes: tuple[int, ...] | None = None
    test_bits: bool = False
    rows: int | None = None
    seed: int = 0
    free: bool = False
    source: SealedTable | None = field(default=None, repr=False)

    # -- the model --------------------------------------------------------------------------------------------

    @cached_property
    def domain(self) -> Domain:
        """The columns and their numbers of bins."""
        return Domain(tuple(axis.name for axis in self.axes), tuple(axis.size for axis in self.axes))

    @cached_property
    def model(self) -> Model:
        """The model of all measurements."""
        return self.model_of(len(self.measurements))

    def model_of(self, count: int) -> Model:
        """Return the model of the first measurements."""
        return estimate(
            Evidence(self.domain, self.measurements[:count]),
            ties(self.scores),
            prior=prior_pairs(self.prior, self.domain),
            impossible=masks(self.impossible, self.axes, self.metadata),
        )

    def scored(self, columns: Columns) -> Floats:
        """Return the predicted table of three columns whose distance was scored, rounded as it was then."""
        return np.rint(self._before.marginal(columns) * UNIT) / UNIT

    @cached_property
    def _before(self) -> Model:
        return self.model_of(self.stages["triples"])

    @property
    def total(self) -> float:
        """The noisy number of rows."""
        return self.model.total

    def drawn(self, rows: int | None = None, *, seed: int = 0) -> Synthetic:
        """Return the same table with other rows. It is free.

        Args:
            rows: The number of rows; by default about as many as the vault has.
            seed: Another seed gives other rows.
        """
        size = None if rows is None else check(whole(rows, "rows"), len(self.domain))
        return replace(self, rows=size, seed=whole(seed, "seed", least=0))

    # -- rows -------------------------------------------------------------------------------------------------

    @cached_property
    def codes(self) -> Codes:
        """The rows as bins, one column for each column of the table."""
        count = max(1, round(self.total)) if self.rows is None else self.rows
        return sample(self.model, check(count, len(self.domain)), seed=self.seed)

    @cached_property
    def fit(self) -> Fit:
        """How far the rows are from the answers, beside how far noise moves the answers."""
        return fit_of(self.codes, self.model)

    def to_arrow(self) -> pyarrow.Table:
        """Return the rows as a table of Arrow, in the schema of the vault."""
        self.expect_release("to_arrow")
        table = decode.table(self.codes, self.axes, self.metadata, seed=self.seed, impossible=self.impossible)
        if self.sizes is not None:
            whose = ids(self.sizes, len(self.codes), seed=self.seed)
            table = table.add_column(0, str(self.metadata.person), [whose])
        about = {"product": self.label.product, "cost": self.cost.spent, "label": self.label.facts}
        about["rows"] = str(self.fit)
        return table.replace_schema_metadata({"discreet": json.dumps(about, ensure_ascii=False)})

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows as a data frame of pandas."""
        frame: pandas.DataFrame = self.to_arrow().replace_schema_metadata(None).to_pandas(date_as_object=False)
        frame.attrs["discreet"] = {"cost": self.cost.spent, "label": self.label.facts}
        return frame

    def to_polars(self) -> polars.DataFrame:
        """Return the rows as a data frame of polars."""
        import polars

        frame = polars.from_arrow(self.to_arrow().replace_schema_metadata(None))
        assert isinstance(frame, polars.DataFrame)
        return frame

    # -- answers ----------------------------------------------------------------------------------------------

    def marginal(self, columns: Sequence[str]) -> Marginal:
        """Return the estimated counts over some columns, by bin."""
        self.expect_release("marginal")
        places = self.domain.places(columns)
        return Marginal(
            tuple(self.domain.names[place] for place in places),
            tuple(self._levels(place) for place in places),
            self.model.marginal(places),
            self.model.deviation(places),
        )

    def ask(self, question: Any, *, confidence: Rational = "0.95") -> SyntheticAnswer:
        """Answer a count, a sum or an average, in SQL or made with `dp.select`, from the model. It is free.

        Intervals hold for questions that were chosen before looking at the table. For questions that follow from
        earlier answers use an oracle, whose intervals hold for these too: `vault.oracle(…)`.
        """
        self.expect_release("ask")
        return answer(self, question, confidence)

    def compare(
        self,
        public: Any = None,
        *,
        epsilon: Rational | None = None,
        spend: str | None = None,
        show: Sequence[Sequence[str]] = (),
    ) -> Comparison:
        """Report how wrong the table is: by what was released already, beside a public table, or for a price.

        `epsilon` or `spend` pays for distances of its marginals from the vault's, and for a fresh look at those to
        `show`. Reports that are free also say how far the rows are from the answers they were drawn from.
        """
        self.expect_release("compare")
        if epsilon is not None or spend is not None:
            return evaluate.paid(self, epsilon, spend, show)
        found = evaluate.beside(self, public) if public is not None else evaluate.released(self)
        return replace(found, rows=str(self.fit))

    # -- facts ------------------------------------------------------------------------------------------------

    @property
    def receipt(self) -> Receipt:
        """What was charged, and what is left."""
        return self.label.receipt

    @property
    def cost(self) -> Receipt:
        """The receipt, under its old name."""
        return self.receipt

    @property
    def notes(self) -> tuple[str, ...]:
        """Facts that users of the table should know."""
        spread = float(np.sqrt(self.model.evidence.total().variance))
        found = list(self.label.notes)
        if spread > 0.05 * self.total:
            found.append(
                f"The table has about {self.total:,.0f} rows, and their noisy count is off by {spread:,.0f}: "
                "there are too few rows at this epsilon to know more than single columns well."
            )
        if len(self.domain) > 1 and not any(len(m.columns) > 1 for m in self.measurements):
            found.append("No two columns were measured together: they are independent of each other here.")
        elif not self.scores.get("triples") and len(self.domain) > 2:
            found.append("Noise was too large to measure three columns together: they follow from pairs.")
        if "fit" in self.__dict__ and self.fit.worse:  # known once rows were drawn
            found.append(str(self.fit))
        found.append(
            "Intervals of its answers hold for questions chosen before looking at it. To ask one question after "
            "another, take an oracle: vault.oracle(…)."
        )
        return tuple(found)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table to a directory: its releases in synthetic.json, and its rows in rows.parquet."""
        self.expect_release("save")
        serialize.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Synthetic:
        """Return a saved table. No code from the files is run."""
        return cls.from_json(serialize.load(path))

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads: the releases, and no rows. It says if it was made from test bits."""
        return serialize.written(self)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Synthetic:
        """Return the table that `to_json` wrote, in this version of the format or the one before."""
        return cls(**serialize.fields(record))

    def __repr__(self) -> str:
        return f"Synthetic({', '.join(self.domain.names)}; {self.cost.used})"

    def __str__(self) -> str:
        pairs = len({m.columns for m in self.measurements if len(m.columns) == 2})
        triples = len({m.columns for m in self.measurements if len(m.columns) == 3})
        lines = [
            f"Synthetic table {self.metadata.name}: {len(self.axes)} columns, about {self.total:,.0f} rows.",
            f"Measured: {len(self.axes)} columns, {pairs} of {math.comb(len(self.axes), 2):,} pairs, "
            f"{triples} of {math.comb(len(self.axes), 3):,} triples.",
            f"This used {self.cost.used}; {self.cost.remaining}."
            + (" Answered from the record: free." * self.free),
            *self.notes,
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        if self.test_bits:
            return framed(fragment('<p class="test">{{ text }}: made from test bits.</p>', text=repr(self)))
        first, *rest = str(self).split("\n")
        columns: list[dict[str, Any]] = []
        try:  # these are its own first rows: a table of only five rows would have other rows
            head = self.to_pandas().head()
        except ParameterError as wrong:
            rest = [str(wrong), *rest]
        else:
            for name in head:
                number = head[name].dtype.kind in "iuf"
                pairs = zip(head[name], head[name].isna(), strict=True)
                cells = ["null" if missing else key(value) for value, missing in pairs]
                columns.append({"name": name, "number": number, "cells": cells})
        return framed(fragment(_PAGE, first=first, columns=columns, rest=rest))

    def _levels(self, place: int) -> tuple[Any, ...]:
        axis = self.axes[place]
        column: Any = self.metadata.columns[axis.name]
        values = column.values(list(axis.starts))
        return (*values, *([None] if axis.nullable else []))


def prior_pairs(record: Mapping[str, Any] | None, domain: Domain) -> dict[Columns, Floats] | None:
    """Return the two-way marginals of a public table, from its counted cells."""
    if record is None:
        return None
    places, counts = np.array(record["places"], np.int64), np.array(record["counts"], float)
    if places.shape[0] != len(domain):
        raise ParameterError(
            "The public table has other columns than the synthetic one.", fix="Give both the same columns."
        )
    found: dict[Columns, Floats] = {}
    for pair in domain.sets(2):
        flat = np.ravel_multi_index([places[column] for column in pair], domain.shape(pair))
        found[pair] = np.bincount(flat, counts, domain.cells(pair)).astype(float).reshape(domain.shape(pair))
    return found
