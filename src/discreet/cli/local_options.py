"""Read the options that the commands of `discreet local` share: signed collections, keys, values, states.

A collection is a signed file. The key that checks it is in the file with the ending .pub beside it, unless
--public names another one.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.errors import Code, DiscreetError, Fix, ParameterError

if TYPE_CHECKING:
    from discreet.local.collection.collection import Collection
    from discreet.local.collection.guarantee import Guarantee
    from discreet.local.protocols.protocol import Coded
    from discreet.local.server.aggregator import Aggregator

File = Annotated[Path, typer.Argument(metavar="COLLECTION", help="A signed collection, as design wrote it.")]
Public = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The public key that checks it. [COLLECTION.pub]")
]
Labels = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The labels of a domain of which the collection has only the hash."),
]
Delta = Annotated[str, typer.Option(help="The δ of the shuffled guarantee.")]
Malicious = Annotated[str, typer.Option(help="The fraction of devices that may send malicious reports.")]
Confidence = Annotated[str, typer.Option(help="The confidence of the intervals.")]

_LOOKED_AT = 20  # lines that are read to find the column with the values
_NAMED = 3  # columns that a message offers


def opened(
    file: Path, public: Path | None, labels: Path | None = None, *, on: date | None = None, named: bool = True
) -> Collection:
    """Return the collection of a file, if its key signed it.

    Args:
        file: The signed collection.
        public: The file of the public key; by default the one beside the collection.
        labels: The file of the labels; none by default.
        on: A day on which the collection must not have ended; any day by default.
        named: Whether the labels are needed; yes by default.
    """
    from discreet.local.collection.signing import opened as verified

    envelope = _read("COLLECTION", file, "Name the file that discreet local design wrote with --out.")
    key = public or file.with_suffix(".pub")
    if public is None and not key.exists():
        raise DiscreetError(
            f"The public key of {file} is not beside it.", found=f"no {key}", fix=Fix("public", Code("FILE"))
        )
    keys = [*_keys("--public", key)]
    if len(keys) != 1:
        raise DiscreetError(
            f"{key} must hold one public key, of 64 hexadecimal digits.",
            found=f"{len(keys)} keys",
            fix="Name the file with the ending .pub that discreet local design wrote.",
        )
    with about(file):
        collection = verified(envelope, keys[0], today=on or date.min)
    if labels is not None:
        return collection.with_labels(lines(labels))
    if named and collection.digest is not None:
        raise DiscreetError(
            f"The labels of {collection.name!r} are not in {file}.", fix=Fix("labels", Code("FILE"))
        )
    return collection


def signing_key(file: Path) -> tuple[bytes, bytes]:
    """Return the private and the public key of a file. A missing file is written, for its owner alone."""
    from discreet.local.collection.signing import new_key

    if not file.exists():
        private, public = new_key()
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            out.write(f"{private.hex()}\n{public.hex()}\n")
        return private, public
    keys = [*_keys("--key", file)]
    if len(keys) != 2:
        raise DiscreetError(
            f"{file} must hold a private and a public key, in two lines.",
            found=f"{len(keys)} keys",
            fix="Name the file that discreet local design wrote with --key, or a new file.",
        )
    return keys[0], keys[1]


def lines(file: Path, column: str | None = None) -> list[str]:
    """Return the lines of a text file, or a column of a CSV file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "some.csv"
    ...     _ = path.write_text("who,what\\n1,yes\\n2,no\\n")
    ...     lines(path), lines(path, "what")
    (['who,what', '1,yes', '2,no'], ['yes', 'no'])
    """
    text = _read("FILE", file)
    try:
        rows = text.decode().splitlines()
    except UnicodeDecodeError:
        raise DiscreetError(f"{file} is not text in UTF-8.", fix="Convert it to UTF-8.") from None
    if column is None:
        return rows
    table = csv.DictReader(rows)
    if column not in (table.fieldnames or ()):
        raise DiscreetError(
            f"{file} has no column {column!r}.", fix=f"It has: {', '.join(table.fieldnames or ())}"
        )
    return [row[column] or "" for row in table]


def expect_no_heads(collection: Collection, file: Path, rows: Sequence[str]) -> None:
    """Refuse a table without a named column: neither its lines nor its headings are values.

    The headings may be shown, because the user who encodes has the file. In an open domain, or in one with a label
    for values outside of it, lines with commas are a table only if the file has the ending .csv.
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
        likely = fit or heads
        raise DiscreetError(
            f"{file} is a table of several columns: name the one that has the values.",
            found=", ".join(heads),
            fix=[Fix("column", head) for head in (likely if len(likely) <= _NAMED else [Code("NAME")])],
        )
    if strict and len(rows) > 1 and all(map(inside, rows[1:])):
        raise DiscreetError(
            f"The first line of {file} is not in the domain of {collection.name!r}, and all others are.",
            found=repr(rows[0]),
            fix=Fix("column", rows[0], note="if it is the name of a column"),
        )


def coded(collection: Collection, values: Sequence[str]) -> Coded:
    """Return the codes of values. A value outside the domain becomes the null of the collection, or is refused."""
    import numpy as np

    from discreet.local.collection.domains import Labels as Listed
    from discreet.local.collection.domains import number

    domain = collection.domain
    if not isinstance(domain, Listed):
        return domain.coded(values)
    other = collection.place(None) if collection.null is not None else None
    if domain.labels is None:
        numbers = (number(value, domain.size) for value in values)
        found = [other if code is None else code for code in numbers]
    else:
        codes = {label: code for code, label in enumerate(domain.labels)}
        found = [codes.get(value, other) for value in values]
    if None in found:
        where = found.index(None)
        raise DiscreetError(
            f"Value {where + 1} of {len(values):,} is not in the domain of {collection.name!r}.",
            fix=Fix("null", Code("LABEL"), call="Collection.design", note="a label for values outside"),
        )
    return np.array(found, np.int64)


def state(file: Path, collection: Collection, *, identified: bool = False) -> Aggregator:
    """Return the counts that a file holds."""
    from discreet.local.server.aggregator import Aggregator

    data = _read("STATE", file, "Name the file that discreet local aggregate wrote with --state.")
    with about(file):
        return Aggregator.read(data, collection, identified=identified)


@contextmanager
def about(file: Path) -> Iterator[None]:
    """Name the file in the errors of the library."""
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
        raise DiscreetError(
            f"The value of {option} is not a day.", found=written, fix=f"Write it as {option} 2026-05-01"
        ) from None


def replaced(file: Path, data: bytes) -> None:
    """Write a file completely or not at all."""
    part = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        part.write_bytes(data)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def one_report(collection: Collection) -> Collection:
    """Return the collection as a rehearsal counts it: estimates are shown for any number of reports."""
    return replace(collection, minimum_cohort=1)


def chunks(count: int, size: int = 1 << 17) -> Iterator[slice]:
    """Return slices that cover so many items.

    >>> [*chunks(5, 2)]
    [slice(0, 2, None), slice(2, 4, None), slice(4, 6, None)]
    """
    return (slice(start, start + size) for start in range(0, count, size))


def some(count: int, noun: str) -> str:
    """Return a number with its noun.

    >>> some(1, "report"), some(20_000, "report")
    ('1 report', '20,000 reports')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _inside(collection: Collection) -> Callable[[str], bool]:
    """Return the test whether a value is in the domain."""
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
    """Return the cells of a table; each line as one cell if the lines are not CSV."""
    try:
        return [*csv.reader(rows)]
    except csv.Error:  # a cell of 128 KiB and more
        return [[row] for row in rows]


def _read(option: str, file: Path, fix: str = "") -> bytes:
    if not file.is_file():
        raise DiscreetError(f"The file of {option} does not exist.", found=file, fix=[fix] if fix else ())
    return file.read_bytes()


def _keys(option: str, file: Path) -> Iterator[bytes]:
    for line in _read(option, file).decode("ascii", "replace").split():
        try:
            key = bytes.fromhex(line)
        except ValueError:
            key = b""
        if len(key) != 32:
            raise DiscreetError(
                f"The file of {option} is not a key of 64 hexadecimal digits.",
                found=file,
                fix="Name a file that discreet local design wrote.",
            )
        yield key


def guaranteed(promise: Guarantee) -> dict[str, str | int]:
    """Return the guarantee for JSON."""
    return {
        "epsilon": promise.local,
        "lifetime_epsilon": promise.lifetime,
        "shuffled_epsilon": promise.shuffled,
        "shuffled_delta": promise.delta,
        "shuffled_among": promise.n,
        "shuffled_noise": promise.noise,
    }


def protocol_in_words(name: str, size: int) -> str:
    """Return the protocol that was asked for, in words.

    >>> protocol_in_words("two-step-grr", 1), protocol_in_words("rappor", 32)
    ('Two-step randomised response, 1 byte per report.', 'RAPPOR, 32 bytes per report.')
    """
    return f"{_PROTOCOLS.get(name, name)}, {size:,} byte{'' if size == 1 else 's'} per report."


def percent(share: str | float) -> str:
    """Return a share in percent, without needless digits.

    >>> percent("0.95"), percent(0.9975)
    ('95 %', '99.8 %')
    """
    return f"{100 * float(share):.3g} %"


_PROTOCOLS = {
    "grr": "Randomised response",
    "two-step-grr": "Two-step randomised response",
    "hadamard": "Hadamard response",
    "olh": "Local hashing",
    "projective": "Projective geometry response",
    "subset": "Subset selection",
    "sue": "Symmetric unary encoding",
    "oue": "Optimised unary encoding",
    "two-step-unary": "Two-step unary encoding",
    "bit-flip": "Bit flipping",
    "duchi": "Duchi's mechanism",
    "hybrid": "The hybrid mechanism",
    "piecewise": "The piecewise mechanism",
    "one-bit-mean": "One-bit mean",
    "square-wave": "Square wave reporting",
    "cms": "Count-mean sketch",
    "hcms": "Hadamard count-mean sketch",
    "prefix-tree": "Prefix tree",
    "rappor": "RAPPOR",
    "fragments": "Sequence fragments",
}
