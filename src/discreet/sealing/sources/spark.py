"""Spark tables as sources: what they declare, and their rows, for Spark itself or through the driver.

    spark.table("visits")                        a DataFrame
    Source(spark, table="shop.visits")           a session, and the name of a table or view that it knows

What a DataFrame declares is its schema: no row is read to know it. A DataFrame is a plan, and another run of it
may have other rows, so whoever seals it reads it once and stores what came. Types that have no kin here are read
as text. Bytes are taken for the text that they are if all of them are plain ASCII, and written in hexadecimal if
not, so that no two become the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from discreet.engines import sql_writer
from discreet.engines.spark import told
from discreet.errors import ParameterError
from discreet.sealing.sources import Source

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
# In these a backslash would be part of what stands for other bytes.
_ASCII = r"'^[ !-\\[\\]-~]*\\z'"


def dataframe(source: Source) -> DataFrame:
    """Return the DataFrame that a source of Spark's is."""
    if _is(source.data, "SparkSession"):
        if source.table is None:
            raise ParameterError('which table? Write Source(spark, table="shop.visits"), or seal spark.table(…).')
        table = source.table
        found: DataFrame = told(lambda: source.data.table(table), f"could not find the table {table}")
        return found
    if not _is(source.data, "DataFrame"):
        raise ParameterError(
            f"a Spark {type(source.data).__name__} is no table. Seal a DataFrame: spark.table(…)."
        )
    frame: DataFrame = source.data
    return frame


def session(source: Source) -> SparkSession | None:
    """Return the session that a source belongs to, if it is one of Spark's."""
    if not _from_spark(source.data):
        return None
    found: SparkSession | None = (
        source.data if _is(source.data, "SparkSession") else getattr(source.data, "sparkSession", None)
    )
    return found


def declared(frame: DataFrame, words: str) -> dict[str, str]:
    """Return the types of the columns, in the names that DuckDB has for them."""
    fields = told(lambda: frame.schema, f"could not tell the columns of {words}").fields
    names = [field.name for field in fields]
    folded = [name.casefold() for name in names]
    if len(set(folded)) < len(names):
        raise ParameterError(
            f"{words} has columns whose names differ in capitals only, or not at all: "
            f"{', '.join(map(repr, names))}. Rename them before sealing."
        )
    return {field.name: _kind(field.dataType) for field in fields}


def collations(frame: DataFrame) -> dict[str, str]:
    """Return the collations under which several texts of a column are taken for one, by column."""
    found = {field.name: _COLLATED.findall(field.dataType.simpleString()) for field in frame.schema.fields}
    loose = {name: [one for one in each if one.upper() != "UTF8_BINARY"] for name, each in found.items()}
    return {name: each[0] for name, each in loose.items() if each}


def written(column: str, kind: str) -> str:
    """Return a column as Spark's SQL reads it, so that it can be stored and compared."""
    name = sql_writer.identifier(column, "spark")
    if kind == "BLOB":
        text = f"CAST({name} AS STRING)"
        return f"CASE WHEN {text} RLIKE {_ASCII} THEN {text} ELSE CONCAT('\\\\x', HEX({name})) END"
    return f"CAST({name} AS STRING)" if kind == '"NULL"' else name


def stream(source: Source, wanted: Iterable[str] | None) -> pyarrow.RecordBatchReader:
    """Return the rows as Arrow. They are collected by the driver when the first of them is asked for."""
    import pyarrow
    from pyspark.sql import functions
    from pyspark.sql.pandas.types import to_arrow_schema

    frame = dataframe(source)
    types = declared(frame, source.words)
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
    chosen = told(lambda: frame.select(columns), f"could not read {source.words}")
    schema = to_arrow_schema(chosen.schema, timezone="UTC")

    def batches() -> Iterator[Any]:
        yield from chosen.toArrow().cast(schema).to_batches()

    return pyarrow.RecordBatchReader.from_batches(schema, batches())


def _check_streamable(frame: DataFrame, kept: set[str], source: Source) -> None:
    """Refuse texts that Spark takes for one, and whoever gets them would not."""
    for column, collation in collations(frame).items():
        if column in kept:
            name = sql_writer.identifier(column, "spark")
            raise ParameterError(
                f"column {column!r} of {source.words} has the collation {collation}, which takes different texts "
                'for one, and holds in Spark only. Keep the rows there, rows="analytics.people_sealed", or seal a '
                "frame in which one spelling stands for all that are meant, for instance "
                f"frame.withColumn({column!r}, expr({f'lower({name}) COLLATE UTF8_BINARY'!r}))."
            )


def _kind(declared: DataType) -> str:
    """The name that DuckDB has for a type, and Spark's own where it has none."""
    name = declared.simpleString()
    if name.startswith("decimal("):
        return name.upper()
    if name.split(" ")[0].split("(")[0] in ("string", "char", "varchar"):
        return "VARCHAR"
    return _NAMES.get(name, name)


def _is(data: Any, name: str) -> bool:
    """Whether it is what it is called: a DataFrame of Spark Connect has every attribute, as a column."""
    return any(kind.__name__ == name for kind in type(data).__mro__)


def _from_spark(data: Any) -> bool:
    return type(data).__module__.split(".")[0] == "pyspark"
