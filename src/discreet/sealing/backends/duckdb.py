"""Where a vault is built: a directory of its own beside its place, and a DuckDB that works inside it.

Claims. Whatever stops the work (an exception, an interrupt) leaves nothing behind. A killed process leaves its
directory, and only that; the directory is locked for as long as its process lives, so the next one can tell that
it is dead and removes it. Directories are for the owner alone (0700), and so are files (0600). If DuckDB fails,
its words are repeated only where they cannot quote a row.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from discreet.engines.interruptible import waited_for
from discreet.errors import ParameterError, SealingFailed

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Progress: TypeAlias = Callable[[str, float], None]
"""Called with the name of a stage and the part of it that is done, from 0 to 1."""

_SPILL = "spill"


@contextmanager
def workplace(parent: Path, name: str) -> Iterator[Path]:
    """Make a locked directory, and remove it at the end if it has not been renamed by then."""
    prefix = f".{name}.sealing-"
    try:
        _remove_dead(parent, prefix)
        place = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    except PermissionError:
        raise ParameterError(
            f"a vault is made in the directory {parent}, which may not be written by whoever runs this. "
            f"Its owner can give the right to: chmod u+rwx {parent}. Or seal to a directory of your own."
        ) from None
    except OSError as wrong:
        raise SealingFailed(f"no vault can be made in the directory {parent}: {wrong.strerror}.") from None
    handle = os.open(place, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        os.close(handle)


@contextmanager
def alone(directory: Path) -> Iterator[None]:
    """Hold the lock of a vault, or refuse if somebody else does."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        if not _locked(handle):
            raise ParameterError(f"{directory} is being sealed by another process. Wait for it to end.")
        yield
    finally:
        os.close(handle)


@contextmanager
def database(path: Path, *, memory: str | None, threads: int | None) -> Iterator[DuckDBPyConnection]:
    """Open a new DuckDB file whose temporary data stay beside it, and let nothing of them remain."""
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
    """Run one statement, telling how far it is. The caller's thread only waits, so that interrupts reach it."""
    tell = progress or _untold
    connection.execute(f"SET enable_progress_bar = {progress is not None}; SET enable_progress_bar_print = false")
    tell(stage, 0.0)
    waited_for(
        lambda: _execute(connection, query),
        stop=connection.interrupt,
        meanwhile=lambda: tell(stage, min(1.0, max(0.0, connection.query_progress() / 100))),
    )
    tell(stage, 1.0)


def _untold(stage: str, done: float) -> None:
    """Nobody wants to know."""


def make_private(directory: Path) -> None:
    """Give the files of a directory to the owner alone, and see them on disk."""
    for path in directory.iterdir():
        if path.is_file():
            handle = os.open(path, os.O_RDONLY)
            try:
                os.fchmod(handle, 0o600)
                os.fsync(handle)
            finally:
                os.close(handle)


def _execute(connection: DuckDBPyConnection, query: str) -> None:
    import duckdb

    failure = ""
    try:
        connection.execute(query)
    except duckdb.Error as error:
        failure = _told(error)
    if failure:  # raised here, so that nothing hangs on it that quotes a row
        raise SealingFailed(failure)


def _told(error: Exception) -> str:
    import duckdb

    if isinstance(error, duckdb.IOException | duckdb.PermissionException):
        return f"the rows could not be read or written: {error}"
    if isinstance(error, duckdb.OutOfMemoryException):
        return f'memory ran out. Give less of it to each step: memory="2GB", threads=1. ({error})'
    return (
        f"the source cannot be read to its end ({type(error).__name__}). What DuckDB says of it may quote a row "
        "and is not repeated here. Look at the source with its own tools."
    )


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _remove_dead(parent: Path, prefix: str) -> None:
    """Remove what killed processes left behind."""
    for place in parent.iterdir():
        if not place.name.startswith(prefix):
            continue
        with suppress(FileNotFoundError):
            handle = os.open(place, os.O_RDONLY)
            try:
                if _locked(handle):
                    shutil.rmtree(place, ignore_errors=True)
            finally:
                os.close(handle)
