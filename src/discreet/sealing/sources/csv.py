r"""Check a CSV file, so that the text of one row cannot change how the rows around it are read.

A cell that begins with a quotation mark goes on to the next one that is not doubled, past the ends of lines. So a
forgotten quotation mark joins the rows after it into one cell, and these rows are lost: one row has decided about
others. `check` scans a file before its rows are read, and refuses it

 1. if a quote opens a cell and does not close it, by the end of the file or within `LONGEST` bytes,
 2. if anything but blanks stands between the closing quote and the end of the cell,
 3. if quotes stand inside some unquoted cells (5" pipe), and another cell has line breaks and a line that looks
    like a row (as many cells as the header), or a closing quote that could open a cell where it stands,
 4. if `LINES` lines of one cell, and most of its lines, look like rows,
 5. if a row begins with an unquoted cell that has a quote inside, and the row before has a quoted cell and more
    cells than the header, or line breaks: DuckDB's reader does not separate the two,
 6. if there is a lone \r outside of quotes, and lines end otherwise: some writers leave it in a text unquoted,
 7. if a byte is not UTF-8.

Claim. In a file whose writer puts cells with quotes, separators and line breaks in quotes, and doubles the quotes
in them (RFC 4180), every row is read as it was written, whatever its texts, and the others would be read the same
without it. Add to such a file one line that was not written so. If it leaves no quoted cell open, it stays a line.
If it does, all quotes after it change sides. Either this goes on to the end (1); or a quote that opens a cell is
taken for one that closes, with text behind it (2); or that text begins with a separator or a line break, and then
the quote that closes it stands inside a cell (3). Two such lines, one that opens and one that closes, cannot be
distinguished from a cell with line breaks: 3 and 4 are for those, and do not find them all. And a line break that
is not quoted ends a row, whatever its writer meant.

Lines end in \n, \r\n or \r, as in DuckDB's reader. That both see the same rows is tested in
tests/sealing/test_seal.py.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.errors import ParameterError, SealingFailed

LONGEST = 2_000_000
"""The bytes of the longest row that DuckDB's reader accepts."""

LINES = 8
"""How many lines that look like rows are taken to be rows. Perhaps one in five lines of ordinary text has as many
separators as the header; eight, and most lines of a cell, are not a coincidence."""

_SEPARATORS = ",;\t|"
_MEND = (
    "It would change how the rows after it are read. Remove the quote, or quote the cell that it belongs to and "
    'double it: "5"" pipe".'
)
_CHUNK = 1 << 20
_BREAK = re.compile(rb"\r\n|\r|\n")
_REST = re.compile(rb'[^"]*+(?:""[^"]*+)*+"')  # the rest of a quoted cell, after its opening quote


def header(path: str, separator: str | None) -> tuple[list[str], str]:
    """Read the first line alone. By default the separator is the one that it has most of."""
    line, _ = _first_line(path)
    try:
        text = line.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:  # every other byte of UTF-16 text is zero
        raise _not_utf8(path, 1, line)
    if separator is None:
        separator = max(_SEPARATORS, key=text.count)
    try:
        names = next(csv.reader([text], delimiter=separator, strict=True), [])
    except csv.Error:
        raise SealingFailed(
            f"{Path(path).name}: a quote opens in the header and does not close a name there.", fix=_MEND
        ) from None
    if not names:
        raise ParameterError(
            f"{Path(path).name} has no header line.", fix="Write the names of the columns in its first line."
        )
    return names, separator


def check(path: str, separator: str, cells: int) -> None:
    """Refuse a file in which the text of one row may have swallowed others, and name the line."""
    _, end = _first_line(path)
    with _opened(path) as file:
        _Scan(path, file, separator.encode(), cells, end).run()


def line_end(path: str) -> str:
    """Return the line end of a file, from its first line: \\r alone, or \\n and \\r\\n mixed."""
    return r"\r" if _first_line(path)[1] == b"\r" else r"\r\n"


class _Scan:
    """A scan of a file. In the current chunk `text`, everything before `at` has been checked."""

    def __init__(self, path: str, file: Any, separator: bytes, cells: int, end: bytes):
        self.path, self.file, self.separator, self.cells = path, file, separator, cells
        self.text, self.at, self.read, self.ended = b"\n", 1, 0, False  # a cell begins after a line break
        self.decoder = codecs.getincrementaldecoder("utf-8")()
        self.stray = False  # whether a quote stands inside an unquoted cell
        self.doubtful: tuple[int, int] | None = None  # begin and end of a cell that may be several rows
        self.spanned = -1  # the end of the last line that a cell reaches from an earlier line
        cut = re.escape(separator)
        some = rb'"[^"\r\n]*+"'
        quoted = rb"(?:(?<=[\r\n])|(?<=" + cut + rb"))" + some + rb"(?:" + some + rb"|" + cut + some + rb")*+"
        blanks = b"" if separator == b" " else b" *+"
        closed = rb"(?=[\r\n]|" + cut + rb")"
        self.harmless = re.compile(rb'(?:[^"]*+' + quoted + closed + rb')*+[^"]*+')
        self.foreign = re.compile(rb"\n" if end == b"\r" else rb"\r(?!\n)")  # a line break of another kind
        self.closed = re.compile(blanks + rb"(?:[\r\n]|" + cut + rb"|\Z)")

    def run(self) -> None:
        while self.more():
            self.skip()
            while self.at < len(self.text):
                self.quote()
                self.skip()
        if self.stray and self.doubtful:
            raise self.swallowing(*self.doubtful, "and quotes stand inside other cells")

    def skip(self) -> None:
        before, found = self.at, self.harmless.match(self.text, self.at)
        self.at = found.end() if found else before
        if wrong := self.foreign.search(self.text, before, self.at):
            self.at = wrong.start()
            char = r"\n" if wrong[0] == b"\n" else r"\r"
            raise self.refusal(
                f"line {self.line(self.place)} has a lone {char} outside of quotes, but lines end otherwise.",
                "It is not clear whether a row ends there. Remove it, or quote the cell.",
            )

    def more(self) -> bool:
        """Read the next chunk, and drop the lines that are checked, except the last."""
        kept = self.begin(self.above(self.at)) - 1
        chunk = self.file.read(_CHUNK)
        while chunk.endswith(b"\r") and (byte := self.file.read(1)):  # \r\n stays together
            chunk += byte
        try:
            self.decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as wrong:
            place = self.read + len(chunk) - len(wrong.object) + wrong.start
            raise _not_utf8(self.path, self.line(place), b"") from None
        if self.read == 0 and chunk.startswith(codecs.BOM_UTF8):
            self.read, chunk = len(codecs.BOM_UTF8), chunk[len(codecs.BOM_UTF8) :]
        self.text, self.at = self.text[kept:] + chunk, self.at - kept
        self.read, self.ended = self.read + len(chunk), not chunk
        return bool(chunk)

    def quote(self) -> None:
        """Pass one quote: it opens a cell, after at most one blank, or it is a character of a cell."""
        start = self.at - (self.separator != b" " and self.text[self.at - 1 : self.at] == b" ")
        if self.text[start - 1 : start] in (b"\r", b"\n") or self.text.endswith(self.separator, 0, start):
            self.cell()
        else:
            self.keep_apart()
            self.stray, self.at = True, self.at + 1

    def keep_apart(self) -> None:
        """Refuse a quote inside a first cell, if DuckDB's reader may mix it with quotes of the row before."""
        if self.separator in self.text[self.begin(self.at) : self.at]:
            return
        end = self.above(self.at)
        above = self.text[self.begin(end) : end]
        spanned = self.spanned == self.place - self.at + end
        if spanned or (b'"' in above and above.count(self.separator) >= self.cells):
            raise self.refusal(
                f"line {self.line(self.place)} begins with a cell that has a quote inside, after a row with a "
                "quoted cell and line breaks or too many cells.",
                'The two rows are not separated when they are read. Quote the first cell: "5"" pipe".',
            )

    def begin(self, at: int) -> int:
        """Return where the line of a position begins."""
        return max(self.text.rfind(b"\n", 0, at), self.text.rfind(b"\r", 0, at), 0) + 1

    def above(self, at: int) -> int:
        """Return the end of the last line before it that is not empty."""
        end = self.begin(at) - 1
        while end > 1 and self.text[end - 1 : end] in (b"\r", b"\n"):
            end -= 1
        return max(end, 1)

    def cell(self) -> None:
        """Pass a quoted cell, and check that it swallows no rows."""
        while True:
            rest = _REST.match(self.text, self.at + 1)
            over = rest and _BREAK.search(self.text, rest.end())
            if self.ended or over:
                break
            if len(self.text) - self.at > LONGEST:
                raise self.unclosed(f"does not close within {LONGEST:,} bytes, more than a row may have")
            self.more()
        if rest is None:
            raise self.unclosed("never closes")
        place = self.place
        if not self.closed.match(self.text, rest.end()):
            ends = self.line(place + rest.end() - self.at)
            where = "there" if ends == self.line(place) else f"at line {ends}"
            raise self.unclosed(f"closes {where} with more text behind it")
        stop = over.start() if over else len(self.text)
        lines = _BREAK.split(self.text[self.at : stop])[1:]
        self.spanned = place - self.at + stop if lines else self.spanned
        rows = sum(line.count(self.separator) == self.cells - 1 for line in lines)
        span = (place, place + rest.end() - self.at)
        if rows >= LINES and 2 * rows > len(lines):
            raise self.swallowing(*span, f"{rows} lines of it have as many cells as the header")
        start = self.text[self.at : rest.end()].rstrip(b'"')[-len(self.separator) :]  # perhaps the start of a cell
        opens = start == self.separator or start[-1:] in (b"\r", b"\n")
        if lines and (rows or opens) and self.doubtful is None:
            self.doubtful = span
        self.at = rest.end()

    @property
    def place(self) -> int:
        """The number of bytes of the file before `at`."""
        return self.read - len(self.text) + self.at

    def line(self, place: int) -> int:
        """Return the line number of a byte. Lines are counted here only, for the message."""
        number, last = 1, b""
        with _opened(self.path) as file:
            while place and (chunk := file.read(min(_CHUNK, place))):
                number += chunk.count(b"\n") + chunk.count(b"\r") - (last + chunk).count(b"\r\n")
                place, last = place - len(chunk), chunk[-1:]
        return number

    def unclosed(self, how: str) -> SealingFailed:
        return self.refusal(f"a quote opens at line {self.line(self.place)} and {how}.", _MEND)

    def swallowing(self, opens: int, closes: int, why: str) -> SealingFailed:
        return self.refusal(
            f"a quote opens at line {self.line(opens)} and closes at line {self.line(closes)}, and the text "
            f"between looks like rows ({why}).",
            "If it is rows, remove both quotes. If it is one text, read the file with another reader (such as "
            "pandas.read_csv with dtype=str), write it to a Parquet file, and seal that.",
        )

    def refusal(self, problem: str, fix: str) -> SealingFailed:
        return SealingFailed(f"{Path(self.path).name}: {problem}", fix=fix)


def _not_utf8(path: str, line: int, start: bytes) -> SealingFailed:
    name = re.sub(r"\.(gz|zst)$", "", Path(path).name, flags=re.IGNORECASE)
    written = "utf-16" if b"\0" in start else "latin1"
    return SealingFailed(
        f"{Path(path).name} is not UTF-8: see line {line}.",
        fix=f"Convert it from its encoding, for example with: iconv -f {written} -t utf-8 {name} > utf8-{name}",
    )


def _first_line(path: str) -> tuple[bytes, bytes]:
    """Return the first line of a file, and its line end."""
    line = b""
    with _opened(path) as file:
        while True:
            found, chunk = _BREAK.search(line), file.read(_CHUNK)
            if not chunk or (found and found.end() < len(line)):
                return (line[: found.start()], found[0]) if found else (line, b"")
            line += chunk


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    try:
        with _stream(path) as file:
            yield file
    except (OSError, EOFError, zlib.error) as error:
        raise SealingFailed(f"{Path(path).name} cannot be read: {error}.") from None


def _stream(path: str) -> Any:
    if path.lower().endswith(".zst"):
        import pyarrow

        return pyarrow.input_stream(path, compression="zstd")
    return gzip.open(path) if path.lower().endswith(".gz") else Path(path).open("rb")
