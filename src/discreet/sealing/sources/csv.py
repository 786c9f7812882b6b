r"""Read CSV files: one line is one row.

A line is read by itself, so no text of one row can change how another row is read, and no row can vanish: every
line that is not blank becomes exactly one row, or the file is refused with the number of the line. A file is
refused

 1. if a quotation mark opens a cell and the cell does not close on the same line,
 2. if anything but blanks stands between the closing quotation mark and the end of the cell,
 3. if there is a lone \r and lines end in \n, or the other way round: it is not clear whether a row ends there,
 4. if a line is longer than `LONGEST` bytes,
 5. if a byte does not belong to the encoding.

A cell is quoted if a quotation mark is its first character, or its second after one blank; elsewhere a quotation
mark is a character like any other (5" pipe). Lines with too few cells are filled with missing values, and of lines
with too many cells the first ones are taken. Blank lines are not rows. All three are counted for the curator.

With `multiline` a quoted cell may hold line breaks. A row then ends at a line break outside of quotation marks,
and the file must be written as RFC 4180 says: a quotation mark that is neither around a cell nor doubled is
refused, because the rest of the file would be read inside out.

How it runs. The bytes of a chunk are classified by numpy: which quotation marks open and close, which separators
stand between cells. Lines with the right number of cells and nothing odd go to Arrow's reader as they are; the
others are parsed here and written anew. The number of rows that Arrow returns is compared with the number of
lines.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Fix, ParameterError, SealingFailed
from discreet.sealing.sources.text_files import BREAK, chunks_of, not_encoded

if TYPE_CHECKING:
    import pyarrow

LONGEST = 1 << 26
"""The bytes of the longest line that is read: 64 MB."""

FILE = 40
"""The number of a row is its line, plus the index of its file shifted by this many bits."""

_LONGEST_HEADER = 1 << 20  # bytes
_SEPARATORS = ",;\t|"
_QUOTE, _CR, _LF = 0x22, 0x0D, 0x0A
_MULTILINE = Fix("multiline", True, call="Source", note="if cells of this file hold line breaks")
_MEND = 'Or remove the quotation mark, or quote the cell that it belongs to and double it: "5"" pipe".'


@dataclass
class Lines:
    """What was seen of the lines of the files, for the curator: how many were blank, too short and too long."""

    blank: int = 0
    short: int = 0
    long: int = 0
    examples: dict[str, list[int]] = field(default_factory=lambda: {"short": [], "long": []})

    def note(self, kind: str, numbers: Sequence[int]) -> None:
        """Count lines of a kind, and keep the numbers of the first three."""
        setattr(self, kind, getattr(self, kind) + len(numbers))
        kept = self.examples[kind]
        kept += [int(number) for number in numbers[: 3 - len(kept)]]


@dataclass(frozen=True)
class Form:
    """How files are written: names of columns, separator, encoding, and whether cells span lines."""

    names: tuple[str, ...]
    separator: str
    encoding: str | None = None
    multiline: bool = False


def header(path: str, separator: str | None, encoding: str | None = None) -> tuple[list[str], str]:
    """Read the first line alone. By default the separator is the one that it has most of."""
    with chunks_of(path, encoding) as chunks:
        line = BREAK.split(next(chunks, b""), maxsplit=1)[0]
    if len(line) > _LONGEST_HEADER:
        raise _long_header(path)
    try:
        text = line.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:  # every other byte of UTF-16 text is zero
        raise not_encoded(path, 1, line, encoding)
    if separator is None:
        separator = max(_SEPARATORS, key=text.count)
    try:
        names = next(csv.reader([text], delimiter=separator, strict=True), [])
    except csv.Error as error:
        if "field larger" in str(error):  # than Python's reader takes: 131,072 characters
            raise _long_header(path) from None
        raise SealingFailed(
            f"{Path(path).name}: a quotation mark opens in the header and does not close a name there.",
            fix=_MEND.removeprefix("Or ").capitalize(),
        ) from None
    if not names:
        raise ParameterError(
            f"{Path(path).name} has no header line.", fix="Write the names of the columns in its first line."
        )
    return names, separator


def _long_header(path: str) -> SealingFailed:
    return SealingFailed(
        f"{Path(path).name}: the header line, or a name in it, is too long.",
        found=f"more than {_LONGEST_HEADER:,} bytes, or 131,072 in a name",
        fix="Write the names of the columns in the first line, and one row in each line.",
    )


def batches(paths: Sequence[str], form: Form, wanted: Sequence[int], seen: Lines) -> Iterator[pyarrow.RecordBatch]:
    """Yield the rows of files: the wanted cells as text v0, v1 …, and the `number` of each row.

    Args:
        paths: The files, which have the same header.
        form: How they are written.
        wanted: The positions of the columns to read.
        seen: Counts the lines that are blank, too short or too long.
    """
    for index, path in enumerate(paths):
        yield from _File(path, index << FILE, form, wanted, seen).batches()


class _File:
    """One file, read chunk by chunk. `line` is the number of the first line that has not been read."""

    def __init__(self, path: str, offset: int, form: Form, wanted: Sequence[int], seen: Lines):
        self.path, self.offset, self.form, self.wanted, self.seen = path, offset, form, wanted, seen
        self.cells, self.line, self.end = len(form.names), 1, _LF
        self.separator = form.separator.encode()
        self.plain = len(self.separator) == 1  # Arrow's reader takes no other separator

    def batches(self) -> Iterator[pyarrow.RecordBatch]:
        with chunks_of(self.path, self.form.encoding) as chunks:
            rest = b""
            for chunk in chunks:
                if self.line == 1 and not rest:
                    found = BREAK.search(chunk)
                    self.end = _CR if found and found[0] == b"\r" else _LF
                whole, rest = self.divided(rest + chunk)
                if whole:
                    yield self.batch(whole)
            if rest:
                yield self.batch(rest + bytes([self.end]))

    def divided(self, text: bytes) -> tuple[bytes, bytes]:
        """Divide text after its last row; what follows is not complete yet."""
        at = text.rfind(bytes([self.end])) + 1
        if self.form.multiline and at:
            marks = np.frombuffer(text, np.uint8, count=at)
            self.check_book(marks)
            ends = np.flatnonzero(marks == self.end)
            outside = np.searchsorted(np.flatnonzero(marks == _QUOTE), ends) % 2 == 0
            at = int(ends[outside][-1]) + 1 if outside.any() else 0
        if len(text) - at > LONGEST:
            begins = self.line + text.count(bytes([self.end]), 0, at)
            raise self.refusal(
                f"line {begins} begins a row of more than {LONGEST >> 20} MB.",
                ["Check whether a line break or a closing quotation mark is missing there."],
            )
        return text[:at], text[at:]

    def check_book(self, marks: NDArray[Any]) -> None:
        """Refuse a quotation mark that is neither around a cell nor doubled, in a text that begins with a row."""
        quotes = np.flatnonzero(marks == _QUOTE)
        if len(quotes) == 0:
            return
        around = np.isin(marks, [self.separator[0], _CR, _LF])
        doubled = np.concatenate([[False], np.diff(quotes) == 1])
        begins = doubled | (quotes == 0) | around[quotes - 1]
        closes = np.concatenate([doubled[1:], [True]]) | around[np.minimum(quotes + 1, len(marks) - 1)]
        wrong = quotes[np.where(np.arange(len(quotes)) % 2 == 0, ~begins, ~closes)]
        if len(wrong):
            line = self.line + int((marks[: wrong[0]] == self.end).sum())
            raise self.refusal(
                f"line {line} has a quotation mark that neither begins nor ends a cell.",
                ['With multiline such a cell must be quoted, and the mark doubled: "5"" pipe".'],
            )

    def batch(self, text: bytes) -> pyarrow.RecordBatch:
        """Return the rows of a text that ends with a line break."""
        if self.form.encoding is None:
            self.check_utf8(text)
        marks = np.frombuffer(text, np.uint8)
        quotes, breaks = np.flatnonzero(marks == _QUOTE), np.flatnonzero(marks == self.end)
        ends = breaks
        if self.form.multiline:
            ends = breaks[np.searchsorted(quotes, breaks) % 2 == 0]
            if len(ends) == 0 or ends[-1] != len(text) - 1:
                raise self.open(text, int(quotes[-1]))
        starts = np.concatenate([[0], ends[:-1] + 1])
        stops = ends - ((self.end == _LF) & (ends > starts) & (marks[ends - 1] == _CR))
        self.check_breaks(marks, quotes, ends)
        numbers = self.line + np.searchsorted(breaks, starts)
        odd, cells = self.shape(marks, quotes, starts, stops)
        blank = stops == starts
        rows = self.parsed(text, starts, ends, stops, blank, odd | (cells != self.cells), numbers)
        first = self.line == 1  # the header is the first line
        self.line += len(breaks)
        self.seen.blank += int(blank.sum())
        return _batch(rows.slice(1) if first else rows, (numbers[~blank] + self.offset)[first:])

    def shape(
        self, marks: NDArray[Any], quotes: NDArray[Any], starts: NDArray[Any], stops: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return which rows have a quotation mark that is neither around a cell nor doubled, and their cells."""
        odd = np.zeros(len(starts), bool)
        if not self.plain:
            return ~odd, np.zeros(len(starts), np.int64)
        cuts = np.flatnonzero(marks == self.separator[0])
        if len(quotes):
            row = np.searchsorted(starts, quotes, "right") - 1
            first = np.searchsorted(quotes, starts)  # the first quotation mark of each row
            opens = (np.arange(len(quotes)) - first[row]) % 2 == 0
            doubled = np.concatenate([[False], np.diff(quotes) == 1])
            begins = doubled | (quotes == starts[row]) | (marks[quotes - 1] == self.separator[0])
            follows = np.concatenate([doubled[1:], [False]])
            closes = follows | (quotes + 1 == stops[row]) | (marks[quotes + 1] == self.separator[0])
            wrong = np.where(opens, ~begins, ~closes)
            odd[row[wrong]] = True
            odd |= np.bincount(row, minlength=len(starts)) % 2 == 1
            owner = np.searchsorted(starts, cuts, "right") - 1
            cuts = cuts[(np.searchsorted(quotes, cuts) - first[owner]) % 2 == 0]
        owner = np.searchsorted(starts, cuts, "right") - 1
        return odd, np.bincount(owner, minlength=len(starts)) + 1

    def parsed(
        self,
        text: bytes,
        starts: NDArray[Any],
        ends: NDArray[Any],
        stops: NDArray[Any],
        blank: NDArray[Any],
        irregular: NDArray[Any],
        numbers: NDArray[Any],
    ) -> pyarrow.Table:
        """Parse rows with Arrow's reader, after the irregular ones are written anew."""
        pieces, done = [], 0
        sizes: dict[str, list[int]] = {"short": [], "long": []}
        for i in np.flatnonzero(irregular & ~blank):
            cells = self.parse(text[starts[i] : stops[i]], int(numbers[i]))
            if len(cells) != self.cells and numbers[i] > 1:
                sizes["short" if len(cells) < self.cells else "long"].append(int(numbers[i]) + self.offset)
            pieces += [text[done : starts[i]], _written(cells, self.cells, self.cut), bytes([self.end])]
            done = int(ends[i]) + 1
        for kind, found in sizes.items():
            self.seen.note(kind, found)
        whole = b"".join([*pieces, text[done:]]) if pieces else text
        rows = self.read(whole)
        if rows.num_rows != int((~blank).sum()):
            raise self.refusal(
                f"the rows from line {self.line} on cannot be separated.",
                ["Read the file with another reader, write it to a Parquet file, and seal that."],
            )
        return rows

    def read(self, text: bytes) -> pyarrow.Table:
        import pyarrow
        from pyarrow import csv as arrow

        names = [f"v{i}" for i in range(self.cells)]
        kept = [names[i] for i in self.wanted] or names[:1]
        return arrow.read_csv(
            pyarrow.BufferReader(text),
            read_options=arrow.ReadOptions(column_names=names, block_size=len(text) + 1, use_threads=False),
            parse_options=arrow.ParseOptions(
                delimiter=self.cut.decode(), newlines_in_values=self.form.multiline, ignore_empty_lines=True
            ),
            convert_options=arrow.ConvertOptions(
                include_columns=kept,
                column_types=dict.fromkeys(kept, pyarrow.string()),
                null_values=[""],
                strings_can_be_null=True,
            ),
        )

    @property
    def cut(self) -> bytes:
        """The separator that Arrow's reader gets."""
        return self.separator if self.plain else b","

    def parse(self, row: bytes, number: int) -> list[bytes]:
        """Return the cells of a row that is not written by the book."""
        cells, at, cut = list[bytes](), 0, self.separator
        while True:
            start = at + (cut != b" " and row[at : at + 2] == b' "')
            if row[start : start + 1] == b'"':
                cell, at = self.quoted(row, start, number)
            else:
                stop = row.find(cut, at)
                cell, at = (row[at:], -1) if stop < 0 else (row[at:stop], stop + len(cut))
            cells.append(cell)
            if at < 0:
                return cells

    def quoted(self, row: bytes, start: int, number: int) -> tuple[bytes, int]:
        """Return a quoted cell, and where the next one begins; -1 if it is the last."""
        found = _REST.match(row, start + 1)
        if found is None:
            raise self.open(row, start, number)
        stop = found.end()
        while self.separator != b" " and row[stop : stop + 1] == b" ":
            stop += 1
        cell = found[0][:-1].replace(b'""', b'"')
        if stop == len(row):
            return cell, -1
        if row.startswith(self.separator, stop):
            return cell, stop + len(self.separator)
        raise self.refusal(
            f"a quotation mark closes a cell of line {number} with more text behind it.",
            ['Quote the whole cell, and double the quotation marks in it: "5"" pipe".'],
        )

    def check_breaks(self, marks: NDArray[Any], quotes: NDArray[Any], ends: NDArray[Any]) -> None:
        """Refuse a line break of another kind than that of the first line, unless it is in a quoted cell."""
        other = np.flatnonzero(marks == (_CR if self.end == _LF else _LF))
        if self.end == _LF:
            other = other[marks[np.minimum(other + 1, len(marks) - 1)] != _LF]
        if self.form.multiline:
            other = other[np.searchsorted(quotes, other) % 2 == 0]
        if len(other):
            line = self.line + int(np.searchsorted(ends, other[0]))
            char = r"\r" if self.end == _LF else r"\n"
            raise self.refusal(
                f"line {line} has a lone {char}, but lines end otherwise.",
                ["It is not clear whether a row ends there. Remove it, or write all lines with the same end."],
            )

    def check_utf8(self, text: bytes) -> None:
        try:
            text.decode()
        except UnicodeDecodeError as wrong:
            line = self.line + text.count(bytes([self.end]), 0, wrong.start)
            raise not_encoded(self.path, line, b"", None) from None

    def open(self, text: bytes, at: int, number: int | None = None) -> SealingFailed:
        line = self.line + text.count(bytes([self.end]), 0, at) if number is None else number
        where = "does not close by the end of the file" if self.form.multiline else "does not close on that line"
        fixes: list[Fix | str] = [_MULTILINE, _MEND]
        if self.form.multiline:
            fixes = [_MEND.removeprefix("Or ").capitalize()]
        return self.refusal(f"a quotation mark opens a cell in line {line} and {where}.", fixes)

    def refusal(self, problem: str, fixes: Sequence[Fix | str]) -> SealingFailed:
        return SealingFailed(f"{Path(self.path).name}: {problem}", fix=list(fixes))


_REST = re.compile(rb'[^"]*+(?:""[^"]*+)*+"(?!")')  # the rest of a quoted cell, after its opening mark


def _written(cells: Sequence[bytes], count: int, cut: bytes) -> bytes:
    """Return cells as a regular line: as many as the header has, each of them quoted."""
    kept = [b'"' + cell.replace(b'"', b'""') + b'"' for cell in cells[:count]]
    return cut.join([*kept, *[b'""'] * (count - len(kept))])


def _batch(rows: pyarrow.Table, numbers: NDArray[Any]) -> pyarrow.RecordBatch:
    import pyarrow

    table = rows.append_column("number", integers(numbers)).combine_chunks()
    found = table.to_batches()
    return found[0] if found else pyarrow.RecordBatch.from_pylist([], schema=table.schema)


def integers(values: NDArray[Any]) -> pyarrow.Array:
    """Return integers as Arrow has them, from their bytes: pyarrow.array would import pandas."""
    import pyarrow

    return pyarrow.Array.from_buffers(
        pyarrow.int64(), len(values), [None, pyarrow.py_buffer(values.astype(np.int64).tobytes())]
    )
