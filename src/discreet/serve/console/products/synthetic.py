"""Describe synthetic tables to their pages: columns and their counts, how wrong they are, and rows to download."""

from __future__ import annotations

from typing import Any

from discreet.release.serialize import read_label
from discreet.render import svg
from discreet.render.numbers import number as shown_number
from discreet.serve.api.bodies import SyntheticTerms
from discreet.serve.console.products.kind import Described, Form, Kind, columns_of, read

_FEW, _MOST = 4, 24  # bins from which on a picture has steps; bars of a picture
_WIDE = 1.96  # deviations of a 95 % interval


def terms(form: Form, described: Described) -> SyntheticTerms:
    """Return the parameters of a table; all columns if none is ticked."""
    return read(SyntheticTerms, form, columns=columns_of(form, described))


def drawn(body: dict[str, Any], described: Described) -> dict[str, Any]:
    """Return what the page of a table shows."""
    compared = body["comparison"]
    return {
        "sentences": body["words"].partition("\n\n")[0].splitlines()[:2],
        "notes": body["notes"][:-1],  # the last one names a method of Python; the page has a link instead
        "report": body["words"].partition("\n\n")[2],
        "total": shown_number(round(body["total"])),
        "margins": [
            {
                "column": one["column"],
                "svg": margin(one),
                "more": 0 if one["starts"] else len(one["levels"]) - _MOST,
            }
            for one in body["margins"]
        ],
        "furthest": sorted(compared["distances"], key=_distance, reverse=True)[:5],
        "label": read_label(body["label"]),
    }


def margin(one: dict[str, Any]) -> str:
    """Draw the rows of a column: bars for names; for numbers and days steps, because bins are of unequal width."""
    rows = [
        svg.Bar(level, count, count - _WIDE * deviation, count + _WIDE * deviation)
        for level, count, deviation in zip(one["levels"], one["counts"], one["deviations"], strict=True)
    ]
    starts = one["starts"] or []
    if len(starts) < _FEW:
        return svg.bars(
            rows[:_MOST], f"Rows of the synthetic table by {one['column']}, with 95 % intervals for noise"
        )
    points = []
    for row, start, end in zip(rows, starts, starts[1:], strict=False):  # a missing value has no place on the axis
        density = [(value or 0.0) / (end - start) for value in (row.value, row.low, row.high)]
        points += [svg.Point(start, row.label, *density), svg.Point(end, "", *density)]
    return svg.line(points, f"Rows for each value of {one['column']}, with 95 % intervals for noise", steps=True)


def _distance(record: Any) -> float:
    return float(record["value"])


KIND = Kind(
    name="synthetic",
    words="a synthetic table",
    heading="Make a synthetic table",
    verb="synthesize",
    shown_by="synthetic_report",
    terms=terms,
    drawn=drawn,
    defaults={"spend": "20"},
    files={
        "rows.csv": "text/csv; charset=utf-8",
        "rows.parquet": "application/vnd.apache.parquet",
        "rows.json": "application/json",
        "report.json": "application/json",
        "label.yaml": "application/yaml; charset=utf-8",
    },
)
