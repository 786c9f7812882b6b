"""Read Spark tables: their declared types, and their rows, for Spark itself or through the driver.

    spark.table("visits")                        a DataFrame
    Source(spark, table="shop.visits")           a session, and the name of a table or view that it knows

The schema of a DataFrame declares its types: no row is read for it. A DataFrame is a plan, and another run of it
may have other rows, so sealing reads it once and stores what came. Types without an equivalent here are read as
text. Bytes are read as text if all of them are plain ASCII, and written in hexadecimal if not, so that no two
values become the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from discreet.engines import sql_writer
from discreet.engines.spark import told
from discreet.errors import Fix, ParameterError
from discreet.sealing.sources.source import Source

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType

_SAME = ("tinyint", "smallint", "bigint", "float", "double", "boolean", "date")
_NAMES = {
    **{name: name.upper() for name in _SAME},
    "int": "INTEGER",
    "binary": "BLOB",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "timestamp_ntz": "TIMESTAMP",
    "void": '"NULL"',
}
_COLLATED = re.compile(r"\bcollate (\w+)", re.IGNORECASE)
# Without the backslash, which begins the hexadecimal form of other bytes.
_ASCII = r"'^[ !-\\[\\]-~]*\\z'"


def dataframe(source: Source) -> DataFrame:
    """Return the DataFrame of a source in Spark."""
    if _is(source.data, "SparkSession"):
        if source.table is None:
            raise ParameterError(
                "Name a table of the Spark session.", fix=Fix("table", "shop.visits", call="Source")
            )
        table = source.table
        found: DataFrame = told(lambda: source.data.table(table), f"could not find the table {table}")
        return found
    if not _is(source.data, "DataFrame"):
        raise ParameterError(
            "This is not a table of Spark.",
            found=type(source.data).__name__,
            fix='Seal a DataFrame, such as spark.table("shop.visits").',
        )
    frame: DataFrame = source.data
    return frame


def session(source: Source) -> SparkSession | None:
    """Return the session of a source in Spark; None for other sources."""
    if not _from_spark(source.data):
        return None
    found: SparkSession | None = (
        source.data if _is(source.data, "SparkSession") else getattr(source.data, "sparkSession", None)
    )
    return found


def declared(frame: DataFrame, display_name: str) -> dict[str, str]:
    """Return the types of the columns, by DuckDB's names."""
    fields = told(lambda: frame.schema, f"could not list the columns of {display_name}").fields
    names = [field.name for field in fields]
    folded = [name.casefold() for name in names]
    if len(set(folded)) < len(names):
        raise ParameterError(
            f"{display_name} has columns whose names differ in capitals only, or not at all.",
            found=", ".join(map(repr, names)),
            fix="Rename them before sealing.",
        )
    return {field.name: _kind(field.dataType) for field in fields}


def collations(frame: DataFrame) -> dict[str, str]:
    """Return the collations under which different texts are equal, by column."""
    found = {field.name: _COLLATED.findall(field.dataType.simpleString()) for field in frame.schema.fields}
    loose = {name: [one for one in each if one.upper() != "UTF8_BINARY"] for name, each in found.items()}
    return {name: each[0] for name, each in loose.items() if each}


def written(column: str, kind: str) -> str:
    """Return a column in Spark's SQL, in a form that can be stored and compared."""
    name = sql_writer.identifier(column, "spark")
    if kind == "BLOB":
        text = f"CAST({name} AS STRING)"
        return f"CASE WHEN {text} RLIKE {_ASCII} THEN {text} ELSE CONCAT('\\\\x', HEX({name})) END"
    return f"CAST({name} AS STRING)" if kind == '"NULL"' else name


def stream(source: Source, wanted: Iterable[str] | None) -> pyarrow.RecordBatchReader:
    """Return the rows as Arrow. The driver collects them when the first batch is read."""
    import pyarrow
    from pyspark.sql import functions
    from pyspark.sql.pandas.types import to_arrow_schema

    frame = dataframe(source)
    types = declared(frame, source.display_name)
    kept = set(types if wanted is None else wanted)
    _check_streamable(frame, kept, source)
    columns = []
    for column, kind in types.items():
        value = functions.col(sql_writer.identifier(column, "spark"))
        if column not in kept:
            value = functions.lit(None)
        elif kind == "VARCHAR":
            value = functions.make_valid_utf8(value)
        elif kind not in _NAMES.values() and not kind.startswith("DECIMAL("):
            value = functions.make_valid_utf8(value.cast("string"))
        columns.append(value.alias(column))
    chosen = told(lambda: frame.select(columns), f"could not read {source.display_name}")
    schema = to_arrow_schema(chosen.schema, timezone="UTC")

    def batches() -> Iterator[Any]:
        yield from chosen.toArrow().cast(schema).to_batches()

    return pyarrow.RecordBatchReader.from_batches(schema, batches())


def _check_streamable(frame: DataFrame, kept: set[str], source: Source) -> None:
    """Refuse texts that are equal in Spark and would be different outside."""
    for column, collation in collations(frame).items():
        if column in kept:
            name = sql_writer.identifier(column, "spark")
            raise ParameterError(
                f"Column {column!r} of {source.display_name} has the collation {collation}, under which different "
                "texts are equal, in Spark only.",
                fix=[
                    Fix("rows", "analytics.people_sealed", note="keeps the rows in Spark"),
                    "Or seal a frame with a canonical form of the texts, for instance "
                    f"frame.withColumn({column!r}, expr({f'lower({name}) COLLATE UTF8_BINARY'!r})).",
                ],
            )


def _kind(declared: DataType) -> str:
    """Return DuckDB's name of a type, or Spark's own name where DuckDB has none."""
    name = declared.simpleString()
    if name.startswith("decimal("):
        return name.upper()
    if name.split(" ")[0].split("(")[0] in ("string", "char", "varchar"):
        return "VARCHAR"
    return _NAMES.get(name, name)


def _is(data: Any, name: str) -> bool:
    """Return whether data have a class of this name. Attributes do not show it: Spark Connect has every one."""
    return any(kind.__name__ == name for kind in type(data).__mro__)


def _from_spark(data: Any) -> bool:
    return type(data).__module__.split(".")[0] == "pyspark"
