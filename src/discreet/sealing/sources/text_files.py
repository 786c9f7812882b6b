"""Read the bytes of text files in chunks: compressed or not, in UTF-8 or in another encoding."""

from __future__ import annotations

import codecs
import gzip
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.errors import Fix, ParameterError, SealingFailed

CHUNK = 1 << 22
"""How many bytes are read at once."""

BREAK = re.compile(rb"\r\n|\r|\n")
"""The end of a line."""


def not_encoded(path: str, line: int, start: bytes, encoding: str | None) -> SealingFailed:
    """Return the error for a line that does not belong to the encoding; the start of a file tells UTF-16."""
    guess = "utf-16" if b"\0" in start else "latin-1"
    return SealingFailed(
        f"{Path(path).name} is not {encoding or 'UTF-8'}: see line {line}.",
        fix=Fix(
            "encoding", guess if encoding is None else "utf-8", call="Source", note="if it is written in that"
        ),
    )


@contextmanager
def chunks_of(path: str, encoding: str | None) -> Iterator[Iterator[bytes]]:
    """Give the bytes of a file in chunks, in UTF-8, without a byte order mark. The first holds the first line."""
    try:
        with _stream(path) as file:
            yield _decoded(path, _chunks(file), encoding)
    except (OSError, EOFError, zlib.error) as error:
        raise SealingFailed(f"{Path(path).name} cannot be read: {error}.") from None


def _chunks(file: Any) -> Iterator[bytes]:
    first = b""
    while chunk := file.read(CHUNK):
        first += chunk
        found = BREAK.search(first)
        if found and found.end() < len(first):
            break
    if first:
        yield first
    while chunk := file.read(CHUNK):
        yield chunk


def _decoded(path: str, chunks: Iterator[bytes], encoding: str | None) -> Iterator[bytes]:
    if encoding is None:
        first = next(chunks, b"")
        yield first.removeprefix(codecs.BOM_UTF8)
        yield from chunks
        return
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
    except LookupError:
        raise ParameterError(
            "This encoding is not known.", found=repr(encoding), fix=Fix("encoding", "latin-1", call="Source")
        ) from None
    line = 1
    for chunk in chunks:
        try:
            text = decoder.decode(chunk)
        except UnicodeDecodeError:
            raise not_encoded(path, line, b"", encoding) from None
        yield (text.removeprefix("\ufeff") if line == 1 else text).encode()
        line += text.count("\n")


def _stream(path: str) -> Any:
    if path.lower().endswith(".zst"):
        import pyarrow

        return pyarrow.input_stream(path, compression="zstd")
    return gzip.open(path) if path.lower().endswith(".gz") else Path(path).open("rb")
