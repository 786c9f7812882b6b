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
from discreet.sealing.draft import guessed, propose, read_schema
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
lo = 0  # a guess from the name: check it
hi = 110  # a guess from the name: check it

[columns.paid]  # DECIMAL(12,2)
type = "real"
lo = 0  # a guess from the name: check it
hi = 1000  # a guess from the name: check it
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
lo = "2000-01-01"  # a guess from the name: check it
hi = "2039-12-31"  # a guess from the name: check it

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
    assert '[columns.age]\ntype = "integer"  # a guess from the name: check it\nlo = 0  # a guess' in text
    assert '[columns."odd \\"name\\""]\ntype = "TODO"' in text
    assert str(SECRET) not in text


def test_a_separator_at_the_end_of_the_header_makes_no_column_to_declare(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("id;age;\n1;44;\n", encoding="utf-8")
    drafted = propose(tmp_path / "people.csv")
    assert '[columns.""]' not in drafted
    assert "# A column without a name is left out." in drafted


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_a_header_that_is_not_utf8_is_not_drafted(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "people.csv").write_bytes("näme,age\nx,3\n".encode(encoding))
    with pytest.raises(SealingFailed, match=f'people.csv is not UTF-8: .*encoding="{encoding}"'):
        propose(tmp_path / "people.csv")


def test_a_header_with_a_quote_that_stays_open_is_not_drafted(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text('name,"age\nx,3\n')
    with pytest.raises(SealingFailed, match="a quotation mark opens in the header"):
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
    path.write_text(propose(TABLE))
    with pytest.raises(ParameterError) as refused:
        read_schema(path)
    lines = path.read_text().splitlines()
    message = str(refused.value)
    assert "age.lo" not in message
    for place in ("score.lo", "score.step", "odd name.values", "at.step", "blob.type"):
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


def test_bounds_that_are_not_known_may_be_learned(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_text(
        '[columns.paid]\ntype = "real"\nlo = 0\nlearn = "2%"\nstep = "0.01"\ndecimal = ","\n'
        '[columns.n]\ntype = "integer"\nlo = "TODO"\nhi = "TODO"\n'
    )
    assert read_schema(path, learn={"n": "5%"}) == {
        "paid": Real.learned(lo=0, spend="2%", step="0.01", decimal=","),
        "n": Integer.learned(spend="5%"),
    }
    with pytest.raises(ParameterError, match="has no column 'x' to learn"):
        read_schema(path, learn={"x": "5%"})


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ('type = "date"\nlearn = "5%"', "type integer and real"),
        ('type = "real"\nlearn = "5"', "share of the whole budget"),
        ('type = "integer"\nlearn = "5%"\nstep = 2', "'step' is not a parameter"),
        ('type = "real"\nlearn = "5%"\nlo = 0\nhi = 1', "nothing to learn"),
    ],
)
def test_a_mistake_in_what_is_learned_says_where(tmp_path: Path, fields: str, says: str) -> None:
    (tmp_path / "schema.toml").write_text(f"[columns.v]\n{fields}\n")
    with pytest.raises(ParameterError, match=f"schema.toml, line 1, column 'v': .*{says}"):
        read_schema(tmp_path / "schema.toml")


@pytest.mark.parametrize(
    ("name", "kind", "fields"),
    [
        ("hour of day", "", {"type": "integer", "lo": 0, "hi": 23}),
        ("birthYear", "", {"type": "integer", "lo": 1900, "hi": 2100}),
        ("share_pct", "DOUBLE", {"type": "real", "lo": 0, "hi": 100, "step": "0.1"}),
        ("Betrag", "", {"type": "real", "lo": 0, "hi": 1000, "step": "0.01"}),
        ("price", "BIGINT", {"type": "integer", "lo": 0, "hi": 1000}),
        ("age", "DOUBLE", {"type": "real", "lo": 0, "hi": 110, "step": 1}),
        ("age", "VARCHAR", {"type": "category"}),
        ("is_member", "", {"type": "boolean"}),
        ("created", "TIMESTAMP", {"type": "datetime", "lo": "2000-01-01", "hi": "2039-12-31", "step": "1h"}),
        ("colour", "", {}),
    ],
)
def test_types_and_bounds_are_guessed_from_the_name_and_the_declared_type(
    name: str, kind: str, fields: dict[str, object]
) -> None:
    assert guessed(name, kind) == fields


def test_a_column_that_may_identify_a_person_is_pointed_out(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("user_id,age\n1,2\n")
    assert "[columns.user_id]\n# It may identify a person" in propose(tmp_path / "people.csv")
