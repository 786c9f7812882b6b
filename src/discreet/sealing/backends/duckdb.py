"""Build a vault in a temporary directory beside its target, with a DuckDB that works inside it.

Claims. An exception or an interrupt leaves nothing behind. A killed process leaves its directory, and only that.
The directory is locked while its process lives, so the next command that uses the folder sees that the process is
dead and removes the directory (`sweep`). A directory whose process lives is never removed: it is locked from the
moment at which it can be found, or its maker notices that it is gone and makes another. Only the owner can use
directories (0700) and files (0600). If DuckDB fails, its message is repeated only where it cannot quote a row.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from discreet.engines.interruptible import waited_for
from discreet.errors import Fix, ParameterError, SealingFailed

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Progress: TypeAlias = Callable[[str, float], None]
"""Called with the name of a stage and the part of it that is done, from 0 to 1."""

Done = TypeVar("Done")

_SPILL = "spill"
_SEALING = ".sealing-"
_LEFTOVER = re.compile(r"\..+\.sealing-[a-z0-9_]{8}")  # as mkdtemp names it
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_OUT_OF_SPACE = re.compile(
    r"No space left|Disk quota exceeded|File too large|max_temp_directory_size", re.IGNORECASE
)


@contextmanager
def workplace(parent: Path, name: str) -> Iterator[Path]:
    """Make a locked temporary directory, and remove it at the end unless it has been renamed by then."""
    try:
        sweep(parent)
        folder, handle = _locked_folder(parent, f".{name}{_SEALING}")
    except PermissionError:
        raise ParameterError(
            f"You do not have the right to write to the directory {parent}.",
            fix=[
                Fix("to", "people-2.vault", note="in a directory of your own"),
                f"Or ask its owner for the right: chmod u+rwx {parent}.",
            ],
        ) from None
    except OSError as wrong:
        raise SealingFailed(f"No vault can be made in the directory {parent}: {wrong.strerror}.") from None
    try:
        with disk_errors(parent):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


@contextmanager
def disk_errors(where: Path) -> Iterator[None]:
    """Turn the errors of a disk that is full, or of a quota or limit that is reached, into ours."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise full_disk(where, str(error.strerror)) from None


def full_disk(where: Path | str, found: str) -> SealingFailed:
    """Return the error of a disk that cannot take the rows."""
    return SealingFailed(
        f"There is not enough space in {where}, or its disk fails. Nothing was sealed.",
        found=found,
        fix=[
            "Free some space: sealing needs about twice the size of the rows.",
            Fix("to", "/data/people.vault", note="on a larger disk"),
        ],
    )


def sweep(folder: Path) -> list[Path]:
    """Remove the directories that killed sealings left in a folder, and return their paths.

    They hold private rows. A sealing that is running holds a lock on its directory, which is left alone. What
    cannot be listed or removed is left as it is: to look is not a reason for a command to fail.
    """
    removed = []
    try:
        found = [path for path in folder.iterdir() if _LEFTOVER.fullmatch(path.name)]
    except OSError:
        return []
    for path in found:
        with suppress(OSError):
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if os.fstat(handle).st_uid == os.geteuid() and _locked(handle):
                    shutil.rmtree(path)
                    removed.append(path)
            finally:
                os.close(handle)
    return removed


def _locked_folder(parent: Path, prefix: str) -> tuple[Path, int]:
    """Make a directory and lock it. Another process may remove it in between; then another one is made."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        try:
            handle = os.open(folder, os.O_RDONLY)
        except FileNotFoundError:
            continue
        fcntl.flock(handle, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), os.stat(folder)):
                return folder, handle
        os.close(handle)


@contextmanager
def alone(directory: Path) -> Iterator[None]:
    """Hold the lock of a vault, or refuse if another process holds it."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        if not _locked(handle):
            raise ParameterError(f"{directory} is being sealed by another process.", fix="Wait for it to end.")
        yield
    finally:
        os.close(handle)


@contextmanager
def database(path: Path, *, memory: str | None, threads: int | None) -> Iterator[DuckDBPyConnection]:
    """Open a new DuckDB file that keeps its temporary data beside it, and remove them at the end."""
    import duckdb

    spill = path.parent / _SPILL
    settings: dict[str, str | bool | int | float | list[str]] = {
        "temp_directory": str(spill),
        "preserve_insertion_order": False,  # lets every thread write, in bounded memory
    }
    settings |= {"memory_limit": memory} if memory is not None else {}
    settings |= {"threads": threads} if threads is not None else {}
    connection = duckdb.connect(str(path), config=settings)
    try:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection
    finally:
        connection.close()
        shutil.rmtree(spill, ignore_errors=True)


def run(connection: DuckDBPyConnection, query: str, stage: str, progress: Progress | None) -> None:
    """Run one statement and report its progress. The caller's thread only waits, so that interrupts reach it."""
    tell = progress or _silent
    if progress is not None:
        _measure_progress(connection)
    tell(stage, 0.0)
    waited_for(
        lambda: work_on(lambda: connection.execute(query)),
        stop=connection.interrupt,
        meanwhile=lambda: tell(stage, min(1.0, max(0.0, connection.query_progress() / 100))),
    )
    tell(stage, 1.0)


def _measure_progress(connection: DuckDBPyConnection) -> None:
    """Let DuckDB measure its progress and print nothing. In a notebook it refuses where ipywidgets are missing."""
    import duckdb

    with suppress(duckdb.Error):  # then only the beginning and the end of a stage are reported
        connection.execute("SET enable_progress_bar_print = false; SET enable_progress_bar = true")


def _silent(stage: str, done: float) -> None:
    """Report nothing: the caller gave no progress function."""


def make_private(directory: Path) -> None:
    """Let only the owner use the files of a directory, and flush them to disk."""
    for path in directory.iterdir():
        if path.is_file():
            handle = os.open(path, os.O_RDONLY)
            try:
                os.fchmod(handle, 0o600)
                os.fsync(handle)
            finally:
                os.close(handle)


def work_on(work: Callable[[], Done]) -> Done:
    """Return what some work with DuckDB returns, and raise our error for one of DuckDB's."""
    import duckdb

    try:
        return work()
    except duckdb.Error as error:
        failure = _failure(error)
    raise failure  # here, so that its context has no error that quotes a row


def _failure(error: Exception) -> SealingFailed:
    """Return our error for one of DuckDB's, without its message where that may quote a row."""
    import duckdb

    if _OUT_OF_SPACE.search(str(error)):
        return full_disk("the folder of the vault", "the rows cannot be written")
    if isinstance(error, duckdb.IOException | duckdb.PermissionException):
        return SealingFailed(f"The rows could not be read or written: {error}")
    if isinstance(error, duckdb.OutOfMemoryException):
        return SealingFailed(
            "Memory ran out while sealing.", found=error, fix=Fix("memory", "2GB", note="less for each step")
        )
    return SealingFailed(
        f"The source cannot be read to its end ({type(error).__name__}).",
        fix="The message of DuckDB may quote a row and is not repeated. Check the source with its own tools.",
    )


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
