"""CSV files: one line is one row, whatever its text, and no row vanishes."""

from __future__ import annotations

import csv
import gzip
import io
import os
from collections import Counter
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError, SealingFailed
from discreet.schema import Column, Integer, Text
from discreet.sealing.seal import seal
from discreet.sealing.sources import Source, text_files
from discreet.sealing.sources import csv as reader
from tests.vault.sealed_tables import column, scratch, sealed


def codes_of_csv(folder: Path, text: bytes, **options: Any) -> list[Any]:
    (folder / "rows.csv").write_bytes(text)
    columns: dict[str, Column] = {"a": Integer(0, 99), "b": Text()}
    seal(Source(folder / "rows.csv", **options), to=folder / "v", person=None, columns=columns)
    return sorted(((row["c0"], row["c1"]) for row in sealed(folder / "v")), key=str)


def cells(folder: Path, text: bytes, *, chunk: int | None = None, **form: Any) -> list[list[str | None]]:
    """Read a file of columns a and b as cells, without sealing it, in chunks of this many bytes."""
    (folder / "rows.csv").write_bytes(text)
    names, separator = reader.header(str(folder / "rows.csv"), None)
    shape = reader.Form(tuple(names), separator, **form)
    before = text_files.CHUNK
    text_files.CHUNK = chunk or before
    try:
        found = list(reader.batches([str(folder / "rows.csv")], shape, range(len(names)), reader.Lines()))
    finally:
        text_files.CHUNK = before
    return [[row[f"v{i}"] for i in range(len(names))] for batch in found for row in batch.to_pylist()]


def test_rows_that_are_too_short_too_long_or_oddly_quoted_are_read(tmp_path: Path) -> None:
    text = b'a,b\n1,x\n2\n3,y,z\nfour,"q""q"\n,\n6,un"quoted\n7,"a, b"\n'
    assert codes_of_csv(tmp_path, text) == sorted(
        [(1, "x"), (2, None), (3, "y"), (None, 'q"q'), (None, None), (6, 'un"quoted'), (7, "a, b")], key=str
    )


ROWS_OF_TEXT = b"".join(b"%d,x\n" % n for n in range(10, 40))
PIPE = b'5,"6"" pipe"\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b'1,x\n2,"oops\n' + ROWS_OF_TEXT, "opens a cell in line 3 and does not close on that line"),
        (b'2,"oops\n' + ROWS_OF_TEXT + PIPE, "opens a cell in line 2 and does not close on that line"),
        (b'2,"oops\n3,x\n4,12"\n5,6" pipe\n', "opens a cell in line 2"),
        (b'2,"oops\n3,",x"\n4,y\n', "opens a cell in line 2"),
        (b'1,"Main St 5\nOslo, Norway"\n', "opens a cell in line 2"),
        (b'1,"5" pipe"\n2,x\n', "closes a cell of line 2 with more text behind it"),
        (b'1,x\n\n\n2,"" y\n', "closes a cell of line 5 with more text behind it"),
        (b"1,x\r2,y\n3,z\n", r"line 2 has a lone \\r"),
    ],
)
def test_a_line_that_is_not_one_row_is_refused_with_its_number(tmp_path: Path, text: bytes, says: str) -> None:
    with pytest.raises(SealingFailed, match=f"rows.csv: .*{says}"):
        codes_of_csv(tmp_path, b"a,b\n" + text)
    assert os.listdir(tmp_path) == ["rows.csv"]


def test_the_refusal_of_an_open_cell_offers_multiline(tmp_path: Path) -> None:
    with pytest.raises(SealingFailed, match=r"Try: Source\(multiline=True\)"):
        codes_of_csv(tmp_path, b'a,b\n1,"Main St 5\nOslo"\n')
    assert codes_of_csv(tmp_path, b'a,b\n1,"Main St 5\nOslo"\n', multiline=True) == [(1, "Main St 5\nOslo")]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (b'1,"Main St 5\nOslo, Norway"\r\n2,"a\rb\n,"\r\n', [(1, "Main St 5\nOslo, Norway"), (2, "a\rb\n,")]),
        (b'1,"' + b"line, with, three, commas\n" * 20 + b'"\n', [(1, "line, with, three, commas\n" * 20)]),
        (b'1,"\n"\n2,"""\n"""\n\n3\n', [(1, "\n"), (2, '"\n"'), (3, None)]),
    ],
)
def test_cells_of_several_lines_are_read_where_the_curator_says_so(
    tmp_path: Path, text: bytes, rows: list[Any]
) -> None:
    assert codes_of_csv(tmp_path, b"a,b\n" + text, multiline=True) == rows


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b'1,x\n2,"oops\n' + ROWS_OF_TEXT, "line 3 and does not close by the end"),
        (b'1,x\n6,5" pipe\n7,"y"\n', "line 3 has a quotation mark"),
        (b'2,"oops\n' + ROWS_OF_TEXT + PIPE, "line 33 has a quotation mark"),
    ],
)
def test_with_multiline_the_file_must_be_written_by_the_book(tmp_path: Path, text: bytes, says: str) -> None:
    with pytest.raises(SealingFailed, match=says):
        codes_of_csv(tmp_path, b"a,b\n" + text, multiline=True)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (b'"1" , "x"  \n2,  "y\n', [(1, "x"), (2, '  "y')]),
        (b'1,""\n2,""""\n3,"",\n', [(1, None), (2, '"'), (3, None)]),
        (b'1,x,"q""q"\n6" pipe,y\n', [(1, "x"), (None, "y")]),
        (b"1,x\r\n\r\n\n2,y", [(1, "x"), (2, "y")]),
    ],
)
def test_quotation_marks_blanks_and_blank_lines_are_read(tmp_path: Path, text: bytes, rows: list[Any]) -> None:
    assert codes_of_csv(tmp_path, b"a,b\n" + text) == sorted(rows, key=str)


def test_a_line_of_three_megabytes_is_a_row_like_any_other(tmp_path: Path) -> None:
    long = b"x" * 3_000_000
    assert codes_of_csv(tmp_path, b"a,b\n1," + long + b'\n2,"' + long + b'"\n3,y\n') == sorted(
        [(1, long.decode()), (2, long.decode()), (3, "y")], key=str
    )


def test_a_line_that_is_longer_than_can_be_read_is_refused_with_its_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "LONGEST", 1 << 20)
    with pytest.raises(SealingFailed, match="line 3 begins a row of more than 1 MB"):
        codes_of_csv(tmp_path, b"a,b\n1,x\n2," + b"x" * 9_000_000)


PIECES = st.lists(st.sampled_from(['"', '""', ",", " ", "a", "7", '",']), min_size=1, max_size=6).map("".join)
TEXTS = st.lists(st.sampled_from(['"', ",", " ", "a", ',"']), min_size=1, max_size=3).map("".join)


@settings(deadline=None, max_examples=40)
@given(st.lists(TEXTS, min_size=1, max_size=5), PIECES, st.integers(0, 5), st.sampled_from([3, 7, 1 << 20]))
def test_one_line_changes_no_other_row_or_the_file_is_refused(
    texts: list[str], odd: str, at: int, chunk: int
) -> None:
    lines = [f'{i},"{text.replace(chr(34), chr(34) * 2)}"\n' for i, text in enumerate(texts)]
    before: Counter[tuple[str | None, str | None]] = Counter((str(i), text) for i, text in enumerate(texts))
    written = "".join(["a,b\n", *lines[:at], odd, "\n", *lines[at:]]).encode()
    with scratch() as folder:
        try:
            after = Counter((row[0], row[1]) for row in cells(folder, written, chunk=chunk))
        except SealingFailed:
            return
    assert before <= after
    assert (after - before).total() == 1


ANY = st.text(st.sampled_from('"",;\n\r ab\t'), max_size=5)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(ANY, ANY), max_size=5), st.sampled_from(["\n", "\r\n"]), st.sampled_from([2, 9, 1 << 20])
)
def test_what_pythons_writer_writes_is_read_as_it_was(rows: list[tuple[str, str]], end: str, chunk: int) -> None:
    file = io.StringIO()
    # Without this a lone \r would stand outside of quotes where lines end in \n.
    quoting: Literal[0, 1] = csv.QUOTE_ALL if end == "\n" else csv.QUOTE_MINIMAL
    csv.writer(file, lineterminator=end, quoting=quoting).writerows([("a", "b"), *rows])
    with scratch() as folder:
        found = cells(folder, file.getvalue().encode(), chunk=chunk, multiline=True)
    assert found == [[cell or None for cell in row] for row in rows]


def test_a_column_of_one_has_a_row_for_each_line_however_it_ends(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_bytes(b"a\n1\r\n2\n3\r\n")
    described = seal(tmp_path / "rows.csv", to=tmp_path / "v", person=None, columns={"a": Integer(0, 9)})
    assert column(tmp_path / "v", described, "a") == [1, 2, 3]


def test_lines_may_end_in_a_carriage_return_alone(tmp_path: Path) -> None:
    assert codes_of_csv(tmp_path, b'a,b\r1,x\r2,"y"\r') == [(1, "x"), (2, "y")]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,b\n1,x\n2,Zürich\n".encode("latin1"), r'line 3\. .*encoding="latin-1"'),
        ("a,ü\n1,x\n".encode("latin1"), r'line 1\. .*encoding="latin-1"'),
        ("a,b\n1,x\n".encode("utf-16"), r'line 1\. .*encoding="utf-16"'),
        ("a,b\n1,x\n".encode("utf-16-le"), r'line 1\. .*encoding="utf-16"'),
        ("a,b\n1,ü".encode()[:-1], r"line 2\."),
    ],
)
def test_a_file_that_is_not_utf8_is_refused_with_its_line_and_a_likely_encoding(
    tmp_path: Path, text: bytes, says: str
) -> None:
    with pytest.raises(SealingFailed, match=f"rows.csv is not UTF-8: see {says}"):
        codes_of_csv(tmp_path, text)


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8-sig", "utf-8"])
def test_a_file_in_another_encoding_is_read_where_the_curator_names_it(tmp_path: Path, encoding: str) -> None:
    text = "a,b\n1,Zürich\n2,Straße\n".encode(encoding)
    assert codes_of_csv(tmp_path, text, encoding=encoding) == [(1, "Zürich"), (2, "Straße")]


def test_an_encoding_that_does_not_exist_or_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="This encoding is not known"):
        codes_of_csv(tmp_path, b"a,b\n", encoding="klingon")
    with pytest.raises(SealingFailed, match="is not ascii"):
        codes_of_csv(tmp_path, "a,b\n1,ü\n".encode(), encoding="ascii")


@pytest.mark.parametrize("separator", [";", "\t", "|", ","])
def test_the_header_alone_decides_the_separator(tmp_path: Path, separator: str) -> None:
    text = f"\ufeffa{separator}b\r\n1{separator},;,;\r\n".replace(",;,;", "x;y" if separator != ";" else "x,y")
    assert codes_of_csv(tmp_path, text.encode()) == [(1, "x;y" if separator != ";" else "x,y")]


@pytest.mark.parametrize("separator", ["~", "§", " "])
def test_the_curator_may_name_the_separator_and_columns(tmp_path: Path, separator: str) -> None:
    text = f'x,y{separator}b\n1{separator}2\n"3"{separator}"4"\n'.encode()
    assert codes_of_csv(tmp_path, text, separator=separator, rename={"x,y": "a"}) == [(1, "2"), (3, "4")]


def test_compressed_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(b"a\n1\n2\n"))
    with pa.output_stream(tmp_path / "rows.csv.zst", compression="zstd") as stream:
        stream.write(b"a\n1\n2\n")
    for ending in ("gz", "zst"):
        file, vault = tmp_path / f"rows.csv.{ending}", tmp_path / ending
        described = seal(file, to=vault, person=None, columns={"a": Integer(0, 9)})
        assert column(vault, described, "a") == [1, 2]


def test_a_compressed_file_that_is_cut_off_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(b"a\n1\n2\n")[:-9])
    with pytest.raises(SealingFailed, match=r"rows\.csv\.gz cannot be read"):
        seal(tmp_path / "rows.csv.gz", to=tmp_path / "v", person=None, columns={"a": Integer(0, 9)})


def test_a_file_that_is_missing_from_a_list_is_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"a\n1\n")
    with pytest.raises(ParameterError, match=r"There is no file b\.csv"):
        seal(
            [tmp_path / "a.csv", tmp_path / "b.csv"], to=tmp_path / "v", person=None, columns={"a": Integer(0, 9)}
        )
