"""What the commands of `discreet local` read alike: signed collections, keys, lists of values, states.

A collection is a file that was signed; the key that it is checked with lies beside it, with the ending .pub, if
--public names no other.
"""

from __future__ import annotations

import csv
import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.errors import DiscreetError, ParameterError

if TYPE_CHECKING:
    from discreet.local.collection.collection import Collection
    from discreet.local.collection.guarantee import Guarantee
    from discreet.local.protocols.protocol import Coded
    from discreet.local.server.aggregator import Aggregator

File = Annotated[Path, typer.Argument(metavar="COLLECTION", help="A signed collection, as design wrote it.")]
Public = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The key that signed it; COLLECTION.pub if unsaid.")
]
Labels = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The labels of a domain that the collection only names by hash."),
]
Delta = Annotated[str, typer.Option(help="The δ of the shuffled guarantee.")]
Liars = Annotated[str, typer.Option(help="The fraction of devices that may lie.")]
Confidence = Annotated[str, typer.Option(help="How often an interval holds the truth.")]

_LOOKED_AT = 20  # lines, to tell which column has values
_NAMED = 3  # columns that a message offers


def opened(
    file: Path, public: Path | None, labels: Path | None = None, *, on: date | None = None, named: bool = True
) -> Collection:
    """Return the collection of a file, if its key signed it.

    `on` is the day on which it must not have ended; `named=False` is for work that needs no labels.
    """
    from discreet.local.collection.signing import opened as verified

    envelope = _read("COLLECTION", file, "Name what discreet local design wrote, its --out FILE")
    key = public or file.with_suffix(".pub")
    if public is None and not key.exists():
        raise DiscreetError(f"The key that signed {file} is not beside it, {key}: name its file, --public FILE")
    keys = [*_keys("--public", key)]
    if len(keys) != 1:
        raise DiscreetError(f"--public {key} has {len(keys)} keys: it is one, of 64 hexadecimal digits.")
    with about(file):
        collection = verified(envelope, keys[0], today=on or date.min)
    if labels is not None:
        return collection.with_labels(lines(labels))
    if named and collection.digest is not None:
        raise DiscreetError(f"The labels of {collection.name!r} are not in {file}: name their file, --labels FILE")
    return collection


def signing_key(file: Path) -> tuple[bytes, bytes]:
    """Return the private and the public key of a file. One that is not there is written, for its owner alone."""
    from discreet.local.collection.signing import new_key

    if not file.exists():
        private, public = new_key()
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            out.write(f"{private.hex()}\n{public.hex()}\n")
        return private, public
    keys = [*_keys("--key", file)]
    if len(keys) != 2:
        raise DiscreetError(
            f"--key {file} is no key to sign with: it has a private and a public one, in two lines."
        )
    return keys[0], keys[1]


def lines(file: Path, column: str | None = None) -> list[str]:
    """Return the lines of a text, or a column of a CSV, as they are.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = Path(folder) / "some.csv"
    ...     _ = place.write_text("who,what\\n1,yes\\n2,no\\n")
    ...     lines(place), lines(place, "what")
    (['who,what', '1,yes', '2,no'], ['yes', 'no'])
    """
    text = _read("FILE", file)
    try:
        rows = text.decode().splitlines()
    except UnicodeDecodeError:
        raise DiscreetError(f"{file} is no text in UTF-8.") from None
    if column is None:
        return rows
    table = csv.DictReader(rows)
    if column not in (table.fieldnames or ()):
        raise DiscreetError(f"{file} has no column {column!r}. It has: {', '.join(table.fieldnames or ())}")
    return [row[column] or "" for row in table]


def expect_no_heads(collection: Collection, file: Path, rows: Sequence[str]) -> None:
    """Refuse a table of which no column was named: its lines are no values, nor is the line of its heads.

    Whoever encodes holds the file, so that heads may be told. Where any text is a value, or has a label for what
    is none, lines with commas are a table if the file says so, with the ending .csv.
    """
    from discreet.local.collection.domains import Labels as Listed

    inside = _inside(collection)
    listed = isinstance(collection.domain, Listed)
    if not rows or (listed and inside(rows[0])):
        return
    strict = listed and collection.null is None
    heads, *cells = _cells(rows[:_LOOKED_AT]) if strict or file.suffix.lower() == ".csv" else [rows[:1]]
    if len(heads) > 1:
        fit = [head for head, *column in zip(heads, *cells, strict=False) if listed and all(map(inside, column))]
        named = [f"--column {shlex.quote(head)}" for head in fit or heads]
        which = " or ".join(named) if len(named) <= _NAMED else "--column NAME"
        raise DiscreetError(
            f"{file} is a table of the columns {', '.join(heads)}. Which one has the values? {which}"
        )
    if strict and len(rows) > 1 and all(map(inside, rows[1:])):
        raise DiscreetError(
            f"The first line of {file}, {rows[0]!r}, is not in the domain of {collection.name!r}, and all others "
            f"are. If it is the name of a column: --column {shlex.quote(rows[0])}"
        )


def coded(collection: Collection, values: Sequence[str]) -> Coded:
    """Return values as the protocol takes them; one that is none is the collection's null, or refused by line."""
    import numpy as np

    from discreet.local.collection.domains import Labels as Listed
    from discreet.local.collection.domains import number

    domain = collection.domain
    if not isinstance(domain, Listed):
        return domain.coded(values)
    other = collection.place(None) if collection.null is not None else None
    if domain.labels is None:
        numbers = (number(value, domain.size) for value in values)
        found = [other if place is None else place for place in numbers]
    else:
        places = {label: place for place, label in enumerate(domain.labels)}
        found = [places.get(value, other) for value in values]
    if None in found:
        where = found.index(None)
        raise DiscreetError(
            f"Value {where + 1} of {len(values):,} is not in the domain of {collection.name!r}. Design it with a "
            "label for what is none: --null LABEL"
        )
    return np.array(found, np.int64)


def state(file: Path, collection: Collection, *, identified: bool = False) -> Aggregator:
    """Return the counts that a file holds."""
    from discreet.local.server.aggregator import Aggregator

    data = _read("STATE", file, "Name what discreet local aggregate wrote, its --state FILE")
    with about(file):
        return Aggregator.read(data, collection, identified=identified)


@contextmanager
def about(file: Path) -> Iterator[None]:
    """Say which file it is that the library refuses."""
    try:
        yield
    except ParameterError as error:
        error.args = (f"{file}: {error.problem}",)
        raise


def day(option: str, written: str | None) -> date | None:
    """Return a day.

    >>> day("--day", "2026-05-01")
    datetime.date(2026, 5, 1)
    """
    try:
        return None if written is None else date.fromisoformat(written)
    except ValueError:
        raise DiscreetError(f"{option} {written} is no day: write it as {option} 2026-05-01") from None


def replaced(file: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    part = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        part.write_bytes(data)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def one_report(collection: Collection) -> Collection:
    """Return the collection as a rehearsal counts it: whatever their number, answers are shown."""
    return replace(collection, minimum_cohort=1)


def chunks(count: int, size: int = 1 << 17) -> Iterator[slice]:
    """Return pieces of work.

    >>> [*chunks(5, 2)]
    [slice(0, 2, None), slice(2, 4, None), slice(4, 6, None)]
    """
    return (slice(start, start + size) for start in range(0, count, size))


def some(count: int, noun: str) -> str:
    """Return how many of them.

    >>> some(1, "report"), some(20_000, "report")
    ('1 report', '20,000 reports')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _inside(collection: Collection) -> Callable[[str], bool]:
    """What a value is asked to find out whether it is in the domain."""
    from discreet.local.collection.domains import Labels as Listed
    from discreet.local.collection.domains import number

    domain = collection.domain
    if not isinstance(domain, Listed):
        return lambda value: True
    if domain.labels is None:
        return lambda value: number(value, domain.size) is not None
    labels = frozenset(domain.labels)
    return lambda value: value in labels


def _cells(rows: Sequence[str]) -> list[list[str]]:
    """Return the cells of a table; of lines that are none, each line."""
    try:
        return [*csv.reader(rows)]
    except csv.Error:  # a cell of 128 KiB and more
        return [[row] for row in rows]


def _read(option: str, file: Path, fix: str = "") -> bytes:
    if not file.is_file():
        raise DiscreetError(f"{option}: there is no file {file}. {fix}".rstrip())
    return file.read_bytes()


def _keys(option: str, file: Path) -> Iterator[bytes]:
    for line in _read(option, file).decode("ascii", "replace").split():
        try:
            key = bytes.fromhex(line)
        except ValueError:
            key = b""
        if len(key) != 32:
            raise DiscreetError(
                f"{option} {file} is no key: one has 64 hexadecimal digits, as discreet local design writes it."
            )
        yield key


def guaranteed(promise: Guarantee) -> dict[str, str | int]:
    """What is promised, as JSON has it."""
    return {
        "epsilon": promise.local,
        "lifetime_epsilon": promise.lifetime,
        "shuffled_epsilon": promise.shuffled,
        "shuffled_delta": promise.delta,
        "shuffled_among": promise.n,
        "shuffled_noise": promise.noise,
    }
