"""Drafts of schemas: from declared types alone, and read back when they are finished."""

from __future__ import annotations

import datetime
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import ParameterError, SealingFailed
from discreet.schema import Boolean, Category, Date, Datetime, Integer, Real, Text
from discreet.sealing.draft import propose, read_schema
from discreet.sealing.sources import Source

SECRET = 77_123
TABLE = pa.table(
    {
        "age": pa.array([SECRET], pa.int32()),
        "paid": pa.array([None], pa.decimal128(12, 2)),
        "score": [float(SECRET)],
        "odd name": [str(SECRET)],
        "ok": [True],
        "day": pa.array([datetime.date(2020, 1, 1)]),
        "at": pa.array([None], pa.timestamp("us", "UTC")),
        "blob": [b"x"],
    }
)

DRAFT = """\
[columns.age]  # INTEGER
type = "integer"
lo = "TODO"
hi = "TODO"

[columns.paid]  # DECIMAL(12,2)
type = "real"
lo = "TODO"
hi = "TODO"
step = "0.01"

[columns.score]  # DOUBLE
type = "real"
lo = "TODO"
hi = "TODO"
step = "TODO"  # the grid that values are rounded to

[columns."odd name"]  # VARCHAR
type = "category"  # or "text", if the values cannot be listed: finding keys then costs budget
values = ["TODO"]
# other = "another"  # the name for values that are not listed; without it they are missing

[columns.ok]  # BOOLEAN
type = "boolean"

[columns.day]  # DATE
type = "date"
lo = "TODO"
hi = "TODO"

[columns.at]  # TIMESTAMP WITH TIME ZONE
type = "datetime"
lo = "TODO"
hi = "TODO"
step = "TODO"  # such as "15min", "1h" or "1d"

[columns.blob]  # BLOB
type = "TODO"  # such values are read as text
"""


def test_a_draft_says_what_is_declared_and_leaves_open_what_is_not(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "people.parquet")
    with duckdb.connect(str(tmp_path / "store.duckdb")) as connection:
        connection.register("given", TABLE)
        connection.execute("CREATE TABLE people AS FROM given")
    for source in (TABLE, tmp_path / "people.parquet", Source(tmp_path / "store.duckdb", table="people")):
        text = propose(source)
        assert text.endswith(DRAFT)
        assert "not from the data" in text
        assert str(SECRET) not in text


def test_of_a_csv_file_only_the_header_is_read(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(f'age;"odd ""name"""\n{SECRET};x\n')
    text = propose(tmp_path / "people.csv")
    assert '[columns.age]\ntype = "TODO"' in text
    assert '[columns."odd \\"name\\""]\ntype = "TODO"' in text
    assert str(SECRET) not in text


@pytest.mark.parametrize("encoding", ["latin1", "utf-16"])
def test_a_header_that_is_not_utf8_is_not_drafted(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "people.csv").write_bytes("näme,age\nx,3\n".encode(encoding))
    with pytest.raises(SealingFailed, match=f"people.csv is not UTF-8: .*iconv -f {encoding} -t utf-8 people.csv"):
        propose(tmp_path / "people.csv")


def test_a_header_with_a_quote_that_stays_open_is_not_drafted(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text('name,"age\nx,3\n')
    with pytest.raises(SealingFailed, match="a quote opens in the header"):
        propose(tmp_path / "people.csv")


def test_a_finished_schema_is_read(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_text(
        '[columns.age]\ntype = "integer"\nlo = 0\nhi = 110\nmissing = 30\n'
        '[columns.score]\ntype = "real"\nlo = 0\nhi = 1\nstep = 0.1\noutside = "missing"\n'
        '[columns."odd name"]\ntype = "category"\nvalues = ["a", "b"]\nother = "c"\n'
        '[columns.ok]\ntype = "boolean"\n[columns.day]\ntype = "date"\nlo = 2020-01-01\nhi = "2020-12-31"\n'
        '[columns.at]\ntype = "datetime"\nlo = 2020-01-01T00:00:00Z\nhi = 2021-01-01\nstep = "1h"\n'
        '[columns.name]\ntype = "text"\n'
    )
    assert read_schema(path) == {
        "age": Integer(0, 110, missing=30),
        "score": Real(0, 1, "0.1", outside="missing"),
        "odd name": Category(["a", "b"], other="c"),
        "ok": Boolean(),
        "day": Date("2020-01-01", "2020-12-31"),
        "at": Datetime("2020-01-01", "2021-01-01", "1h"),
        "name": Text(),
    }


def test_what_is_still_open_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_text(
        propose(TABLE).replace(
            '[columns.age]  # INTEGER\ntype = "integer"\nlo = "TODO"', '[columns.age]\ntype = "integer"\nlo = 0'
        )
    )
    with pytest.raises(ParameterError) as refused:
        read_schema(path)
    lines = path.read_text().splitlines()
    message = str(refused.value)
    assert "age.lo" not in message
    for place in ("age.hi", "paid.lo", "odd name.values", "at.step", "blob.type"):
        line = int(message.split(f"{place} (line ")[1].split(")")[0])
        assert "TODO" in lines[line - 1]
        assert lines[line - 1].startswith(place.split(".")[1])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[columns.age]\ntype = integer", r"not valid TOML: .*line 2, column"),
        (
            "\n\n[columns.age]\ntype = 'integer'\nlo = 5\nhi = 1",
            r"schema.toml, line 3, column 'age'.*The lower bound 5 is above",
        ),
        (
            "[columns.age]\ntype = 'integer'\nlow = 5",
            r"line 1, column 'age'.*Columns of type integer are declared with lo, hi",
        ),
        ("[columns]\nage = 'integer'", "a column is a table with a type"),
        ("person = 'user_id'\n[columns.age]\ntype='text'", r"nothing else \(found: 'person'\)"),
        ("", r"\[columns.name\] tables"),
    ],
)
def test_a_schema_with_a_mistake_says_where(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "schema.toml"
    path.write_text(text)
    with pytest.raises(ParameterError, match=says):
        read_schema(path)


def test_a_schema_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"does not exist.*propose\(source=…\)"):
        read_schema(tmp_path / "schema.toml")
