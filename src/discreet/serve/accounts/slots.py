"""Hold a lock for an account that all server processes of a store see, and that ends with the process.

Claims.

* A slot is held by one server alone, or shared by several. To take one never waits.
* The system frees the slots of a server that is killed, at once: with SQLite a slot is a lock on a file beside the
  store, which belongs to an open file; with PostgreSQL it is an advisory lock of a session, which ends with its
  connection. There is no lease to wait for, and no clock to trust.
* A connection to PostgreSQL that broke is opened again, and what was held is taken again, if it is still free.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from discreet.errors import DatabaseUnavailable
from discreet.postgres import Address, execute, is_address, is_lost, opened

if TYPE_CHECKING:
    from discreet.postgres.connections import Connection


class Slots(Protocol):
    """The slots of all accounts, seen from one server process. One call at a time for each account (`Turns`)."""

    def take(self, name: str, *, shared: bool) -> bool:
        """Take a slot, alone or shared, and return whether it was free. This server must not hold it."""
        ...

    def give_back(self, name: str) -> None:
        """Give a slot back."""
        ...

    def free(self, name: str) -> bool:
        """Return whether no other server holds the slot alone. This server must not hold it."""
        if not self.take(name, shared=True):
            return False
        self.give_back(name)
        return True

    def close(self) -> None:
        """Give everything back."""
        ...


def slots_at(place: str) -> Slots:
    """Return the slots of the store of accounts at a path or an address."""
    return _Sessions(place) if is_address(place) else _Files(Path(f"{place}-slots"))


class _Files(Slots):
    """Locks on files: one file for each account, which stays. The lock belongs to the open file."""

    def __init__(self, folder: Path):
        self._folder, self._held = folder, dict[str, int]()

    def take(self, name: str, *, shared: bool) -> bool:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        file = os.open(self._folder / _digest(name).hex(), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return False
        except BaseException:
            os.close(file)
            raise
        self._held[name] = file
        return True

    def give_back(self, name: str) -> None:
        file = self._held.pop(name, None)
        if file is not None:
            os.close(file)

    def close(self) -> None:
        for name in list(self._held):
            self.give_back(name)


class _Sessions(Slots):
    """Advisory locks of one session of PostgreSQL, which this server keeps."""

    def __init__(self, address: str):
        self._address = Address.of(address)
        self._held: dict[str, bool] = {}
        self._lock = threading.Lock()
        self._session: Connection | None = None

    def take(self, name: str, *, shared: bool) -> bool:
        with self._lock:
            taken = self._asked(f"pg_try_advisory_lock{'_shared' * shared}", name)
            if taken:
                self._held[name] = shared
            return taken

    def give_back(self, name: str) -> None:
        with self._lock:
            shared = self._held.pop(name, None)
            if shared is not None:
                with suppress(DatabaseUnavailable):  # a session that ended holds nothing
                    self._asked(f"pg_advisory_unlock{'_shared' * shared}", name)

    def close(self) -> None:
        with self._lock:
            session, self._session = self._session, None
            self._held.clear()
            if session is not None:
                session.close()

    def _asked(self, function: str, name: str) -> bool:
        """Call a function of locks, in a new session if the last one broke."""
        try:
            return self._called(function, name)
        except Exception as error:
            self._dropped()
            if not is_lost(error):
                raise
        self._again()
        return self._called(function, name)

    def _again(self) -> None:
        """Take what was held, in a new session."""
        for name, shared in list(self._held.items()):
            if not self._called(f"pg_try_advisory_lock{'_shared' * shared}", name):
                del self._held[name]

    def _called(self, function: str, name: str) -> bool:
        if self._session is None:
            self._session = opened(self._address)
        key = int.from_bytes(_digest(f"{self._address.schema}\n{name}")[:8], signed=True)
        found = execute(self._session, f"SELECT {function}({key})")
        self._session.commit()  # the locks of a session outlive its transactions
        return bool(found[0][0])

    def _dropped(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            with suppress(Exception):
                session.close()


def _digest(name: str) -> bytes:
    return hashlib.sha256(f"discreet slot\n{name}".encode()).digest()
