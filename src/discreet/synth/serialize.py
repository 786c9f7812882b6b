"""Write a synthetic table as JSON, and read it: its releases, from which everything else follows.

    {"schema": "discreet synthetic table 2", "metadata": …, "axes": […], "measurements": […], "scores": …,
     "receipt": {"unit": "rho", "spent": {"exact": "1/10", "value": 0.1}, …}, "label": {…}, …}

Noisy values are integers, packed as base64 of compressed int64. Reading runs no code, trusts no declared length,
and either returns the fields of a table or raises ParameterError. A saved table is a directory with that JSON and
with rows in Parquet. "receipt" is for programs, and is not read back. Version 1, which had neither "receipt" nor
"test_bits", and wrote "description" for the metadata, is still read.
"""

from __future__ import annotations

import base64
import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import DiscreetError, ParameterError
from discreet.query.bins import Axis
from discreet.release.released import expect_schema
from discreet.release.serialize import (
    list_in,
    of_type,
    read_label,
    read_receipt,
    reading,
    written_label,
    written_receipt,
)
from discreet.schema.metadata import UNIT, TableMetadata
from discreet.synth.adaptive_bins import Cut
from discreet.synth.marginals.domain import Floats
from discreet.synth.marginals.measurements import Measurement
from discreet.synth.released import Score

if TYPE_CHECKING:
    from discreet.synth.evaluate import Comparison
    from discreet.synth.synthetic import Synthetic

SCHEMA = "discreet synthetic table 2"
"""The version of the files that are written."""

READABLE = (SCHEMA, "discreet synthetic table 1")
"""The versions of the files that are read."""

COMPARISON = "discreet comparison 1"
"""The version of the JSON of a comparison: the only one that is written and read."""

FILE, ROWS = "synthetic.json", "rows.parquet"
_MOST = 2**27  # the most bytes that one marginal unpacks to


def written(table: Synthetic) -> dict[str, Any]:
    """Return a synthetic table as JSON."""
    return {
        "schema": SCHEMA,
        "metadata": table.metadata.as_json(),
        "axes": [_written_axis(axis) for axis in table.axes],
        "measurements": [_written_measurement(m) for m in table.measurements],
        "scores": {
            name: [[list(s.columns), s.value, s.deviation] for s in scores]
            for name, scores in table.scores.items()
        },
        "stages": dict(table.stages),
        "impossible": list(table.impossible),
        "prior": None if table.prior is None else dict(table.prior),
        "sizes": None if table.sizes is None else list(table.sizes),
        "receipt": table.receipt.in_numbers(),
        "label": written_label(table.label),
        "rows": table.rows,
        "seed": table.seed,
        "test_bits": table.test_bits,
    }


def fields(record: Any) -> dict[str, Any]:
    """Return the fields of the synthetic table of a JSON record."""
    schema = expect_schema(record, *READABLE)
    try:
        axes = tuple(map(_read_axis, record["axes"]))
        sizes = [axis.size for axis in axes]
        return {
            "metadata": TableMetadata.from_json(record["metadata" if schema == SCHEMA else "description"]),
            "axes": axes,
            "measurements": tuple(_read_measurement(m, sizes) for m in record["measurements"]),
            "scores": {
                str(name): tuple(Score(tuple(map(int, c)), float(v), float(d)) for c, v, d in scores)
                for name, scores in record["scores"].items()
            },
            "stages": {str(name): int(stage) for name, stage in record["stages"].items()},
            "label": read_label(record["label"]),
            "impossible": tuple(map(str, record["impossible"])),
            "prior": record["prior"],
            "sizes": None if record.get("sizes") is None else tuple(map(int, record["sizes"])),
            "rows": None if record["rows"] is None else int(record["rows"]),
            "seed": int(record["seed"]),
            "test_bits": of_type(bool, record["test_bits"]) if schema == SCHEMA else False,
        }
    except KeyError as missing:
        raise _damaged(f"no {missing}") from None
    except (TypeError, ValueError, AttributeError, IndexError, zlib.error, DiscreetError) as wrong:
        raise _damaged(str(wrong).rstrip(".")) from None


def _damaged(found: str) -> ParameterError:
    return ParameterError("The synthetic table is damaged.", found=found, fix="Restore it from a backup.")


def save(table: Synthetic, path: str | os.PathLike[str]) -> None:
    """Write a table to a directory."""
    from pyarrow import parquet

    target = Path(path)
    target.mkdir(parents=True, exist_ok=True)
    parquet.write_table(table.to_arrow(), target / ROWS)
    draft = target / f".{FILE}.{os.getpid()}"
    draft.write_text(json.dumps(written(table), ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
    os.replace(draft, target / FILE)


def load(path: str | os.PathLike[str]) -> Any:
    """Return the JSON of the table that was written to a directory."""
    target = Path(path) / FILE
    try:
        return json.loads(target.read_text(encoding="utf-8"))
    except OSError as wrong:
        raise ParameterError(
            f"The synthetic table cannot be read: {wrong.strerror}.",
            found=target,
            fix="Give the directory of a saved table.",
        ) from None
    except (ValueError, RecursionError) as wrong:
        raise ParameterError(
            f"This file is not a synthetic table: {wrong}.", found=target, fix="Restore it from a backup."
        ) from None


def written_comparison(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as JSON."""
    return {
        "schema": COMPARISON,
        "title": comparison.title,
        "distances": [
            {"columns": list(d.columns), "value": d.value, "deviation": d.deviation, "how": d.how}
            for d in comparison.distances
        ],
        "shown": [
            {
                "columns": list(shown.columns),
                "table": shown.table.tolist(),
                "synthetic": shown.synthetic.tolist(),
                "deviation": shown.deviation,
            }
            for shown in comparison.shown
        ],
        "test_bits": comparison.test_bits,
        "rows": comparison.rows,
        "receipt": comparison.receipt.in_numbers() | written_receipt(comparison.receipt),
        "label": written_label(comparison.label),
    }


def comparison_fields(record: Any) -> dict[str, Any]:
    """Return the fields of the comparison of a JSON record; distances and shown marginals as tuples."""
    expect_schema(record, COMPARISON)
    with reading("comparison"):
        distances = [
            (_columns(d), float(d["value"]), float(d["deviation"]), of_type(str, d["how"]))
            for d in list_in(record["distances"])
        ]
        shown = [
            (_columns(s), np.array(s["table"], float), np.array(s["synthetic"], float), float(s["deviation"]))
            for s in list_in(record["shown"])
        ]
        if any(table.shape != synthetic.shape for _, table, synthetic, _ in shown):
            raise ValueError("the two sides of a marginal have different shapes")
        return {
            "title": of_type(str, record["title"]),
            "distances": distances,
            "shown": shown,
            "test_bits": of_type(bool, record["test_bits"]),
            "rows": of_type(str, record.get("rows", "")),
            "label": read_label(of_type(dict, record["label"])),
            "receipt": read_receipt(of_type(dict, record["receipt"])),
        }


def _columns(record: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(of_type(str, name) for name in list_in(record["columns"]))


def _written_axis(axis: Axis) -> dict[str, Any]:
    cut = {"cells": list(axis.cells), "masses": list(axis.masses)} if isinstance(axis, Cut) else {}
    return {
        "name": axis.name,
        "sealed": axis.sealed,
        "levels": axis.levels,
        "nullable": axis.nullable,
        "starts": list(axis.starts),
        **cut,
    }


def _read_axis(record: Mapping[str, Any]) -> Axis:
    plain = (
        str(record["name"]),
        str(record["sealed"]),
        int(record["levels"]),
        bool(record["nullable"]),
        tuple(map(int, record["starts"])),
    )
    if "cells" not in record:
        return Axis(*plain)
    return Cut(*plain, cells=tuple(map(int, record["cells"])), masses=tuple(map(float, record["masses"])))


def _written_measurement(m: Measurement) -> dict[str, Any]:
    return {
        "columns": list(m.columns),
        "variance": m.variance,
        "each": None if m.each is None else m.each.ravel().tolist(),
        "values": _packed(m.values),
    }


def _read_measurement(record: Mapping[str, Any], sizes: list[int]) -> Measurement:
    columns = tuple(map(int, record["columns"]))
    shape = [sizes[column] for column in columns]
    each = None if record["each"] is None else np.array(record["each"], float).reshape(shape)
    variance = float(record["variance"])
    if not 0 < variance < float("inf"):
        raise ValueError(f"{variance} is not a variance")
    return Measurement(columns, _unpacked(record["values"]).reshape(shape), variance, each)


def _packed(values: Floats) -> str:
    integers = np.rint(values * UNIT).astype("<i8")
    return base64.b64encode(zlib.compress(integers.tobytes())).decode("ascii")


def _unpacked(text: str) -> Floats:
    unzip = zlib.decompressobj()
    raw = unzip.decompress(base64.b64decode(text, validate=True), _MOST)
    if not unzip.eof:
        raise ValueError("A marginal is too long.")
    return np.frombuffer(raw, "<i8") / UNIT
