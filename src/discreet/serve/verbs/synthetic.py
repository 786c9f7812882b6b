"""Make synthetic tables, and return their rows and their report. Rows are drawn from the record, and are free."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from discreet.serve.verbs.verb import Result, Tell, Verb, given, recorded_only

if TYPE_CHECKING:
    from discreet.query.bins import Axis
    from discreet.synth.synthetic import Synthetic
    from discreet.vault.vault import Vault

MEDIA = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet", "json": "application/json"}
"""The forms of rows, by name."""
_SHOWN = 24  # columns of a report whose counts are drawn


def synthesize(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Make a synthetic table, and charge it once."""
    made = vault.synthesize(**given(arguments), progress=tell)
    made.expect_release("the service")
    return Result(made.to_json())


def rows(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Return rows of a table that was made before, as bytes."""
    made = _made(vault, arguments["opening"]).drawn(arguments.get("rows"), seed=arguments.get("seed") or 0)
    table, form, out = made.to_arrow(), arguments["form"], io.BytesIO()
    if form == "csv":
        from pyarrow import csv

        csv.write_csv(table, out)
    elif form == "parquet":
        from pyarrow import parquet

        parquet.write_table(table, out)
    else:
        import json

        out.write(json.dumps(table.to_pylist(), default=str).encode())
    return Result({"media": MEDIA[form], "data": base64.b64encode(out.getvalue()).decode()}, public=True)


def report(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Report how wrong a table is, by what was released already."""
    from discreet.release.serialize import written_label

    made = _made(vault, arguments["opening"])
    compared = made.compare()
    return Result(
        {
            "words": f"{made}\n\n{compared}",
            "notes": list(made.notes),
            "comparison": compared.to_json(),
            "total": made.total,
            "margins": [_margin(made, axis) for axis in made.axes[:_SHOWN]],
            "label": written_label(made.label),
        },
        public=True,
    )


def _margin(made: Synthetic, axis: Axis) -> dict[str, Any]:
    """Return the counts of a column by bin, with the typical error of each: they follow from what was released."""
    from discreet.release.render import key

    found = made.marginal([axis.name])
    return {
        "column": axis.name,
        "starts": [*axis.starts, axis.levels] if _ordered(made, axis) else None,
        "levels": [key(level) for level in found.levels[0]],
        "counts": found.counts.tolist(),
        "deviations": found.deviations.tolist(),
    }


def _ordered(made: Synthetic, axis: Axis) -> bool:
    return made.metadata.columns[axis.name].kind not in ("category", "boolean", "text")


def _made(vault: Vault, opening: Mapping[str, Any]) -> Synthetic:
    from discreet.synth.synthesize import synthesize as again

    return again(recorded_only(vault), **given(opening))


VERBS = {
    "synthesize": Verb(synthesize, job=True),
    "synthetic_rows": Verb(rows, public=True),
    "synthetic_report": Verb(report, public=True),
}
