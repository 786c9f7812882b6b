"""Write results as Arrow: schemas, batches, and the messages of Flight that carry them.

A result has the columns of the PostgreSQL door, whose types are numbers there; here they are types of Arrow. A
batch has at most about a megabyte, which clients take by default.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from discreet.release import frames
from discreet.serve.door import results
from discreet.serve.door.flight.protobuf import encode
from discreet.serve.door.results import KINDS, Column, Result

BATCH = 1 << 20
"""About how many bytes a batch has."""

_KINDS = {oid: kind for kind, oid in KINDS.items()} | {
    **dict.fromkeys((results.INT2, results.INT4, results.OID), "integer"),
    results.FLOAT4: "real",
}


def schema_of(columns: Sequence[Column], about: Mapping[bytes, bytes] | None = None) -> pa.Schema:
    """Return the schema of columns.

    >>> schema_of([Column("n", results.FLOAT8), Column("oids", results.OIDS)]).types
    [DataType(double), ListType(list<item: int64>)]
    """
    fields = []
    for column in columns:
        element = results.ELEMENTS.get(column.oid)
        kind = _KINDS.get(column.oid if element is None else element, "text")
        (one,) = frames.schema([(column.name, kind)])
        fields.append(one if element is None else pa.field(column.name, pa.list_(one.type)))
    return pa.schema(fields, metadata=about or None)


def table_of(result: Result) -> pa.Table:
    """Return a result as a table. What the release says about itself is the metadata of its schema."""
    schema = schema_of(result.columns, result.about)
    listed = [*zip(*result.rows, strict=True)] or [()] * len(schema)
    arrays = [pa.array(values, field.type) for values, field in zip(listed, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def schema_bytes(schema: pa.Schema) -> bytes:
    """Return a schema as a message of Arrow's stream format."""
    found: bytes = schema.serialize().to_pybytes()
    return found


def stream(table: pa.Table, notes: str = "") -> Iterator[bytes]:
    """Return a table as messages of FlightData: the schema, then batches.

    Args:
        table: The table.
        notes: Sentences for the client, sent with the schema as application metadata.
    """
    yield _flight_data(schema_bytes(table.schema), notes.encode())
    rows = max(1, BATCH * table.num_rows // max(table.nbytes, 1))
    for batch in table.to_batches(max_chunksize=rows):
        yield _flight_data(batch.serialize().to_pybytes())


def _flight_data(message: bytes, notes: bytes = b"") -> bytes:
    """Return FlightData of an encapsulated message: a mark of four bytes, the size of the header, header, body."""
    size = int.from_bytes(message[4:8], "little")
    header, body = message[8 : 8 + size], message[8 + size :]
    return encode({2: header, **({3: notes} if notes else {}), **({1000: body} if body else {})})
