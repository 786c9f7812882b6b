"""Keep a pool of worker processes, and carry tasks to them.

Each worker is a program of its own (`discreet.serve.worker`), started anew and not forked: it inherits no socket
and no state. A worker that ends amid a task makes that task fail with `WorkerLost`, and a new one takes its place.
A worker ends with its server, because their socket does.
"""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from discreet.serve.tasks import OPEN


class WorkerLost(Exception):
    """A worker process ended amid a task."""


@dataclass(frozen=True)
class Task:
    """What a worker is told to do.

    Args:
        verb: One of `tasks.TASKS`.
        place: The path or address of the vault.
        analyst: The analyst who is signed in.
        purpose: The purpose that is charged as well; none by default.
        arguments: The arguments of the verb, as JSON.
        recorded: Whether to look for a recorded result only, which reads public facts alone.
        seconds: The worker is ended after so many seconds; never by default.
    """

    verb: str
    place: str = field(repr=False)  # an address may hold a password
    analyst: str | None
    purpose: str | None = None
    arguments: dict[str, Any] = field(default_factory=dict, repr=False)
    recorded: bool = False
    seconds: float | None = None


class Worker:
    """One worker process, and the socket to it."""

    def __init__(self, places: Sequence[str] = ()) -> None:
        """Start the process, which opens the vaults at these places. It is ready when it takes its first task."""
        ours, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "discreet.serve.worker", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C is for the server, which lets questions end
            )
        self._connection: Connection[Any, Any] = Connection(ours.detach())
        if places:
            with suppress(OSError):  # it ended: the first task finds that
                self._connection.send_bytes(json.dumps({OPEN: list(places)}).encode())

    def run(self, task: Task, tell: Callable[[str, float], None] | None = None) -> dict[str, Any]:
        """Carry out a task, and wait for its outcome."""
        try:
            self._connection.send_bytes(json.dumps(asdict(task)).encode())
            if tell is not None:
                tell("computing", 0.0)
            while True:
                message: dict[str, Any] = json.loads(self._connection.recv_bytes())
                if "progress" not in message:
                    return message
                if tell is not None:
                    tell(message["progress"], message["share"])
        except (EOFError, OSError):
            raise WorkerLost(task.verb) from None

    def end(self) -> None:
        """End the process, and wait until it is gone."""
        with suppress(OSError):
            self._connection.close()
        with suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()


class Pool:
    """A fixed number of workers; a task waits until one is free.

    Args:
        size: How many processes.
        lost: Called when a worker ended by itself.
        lazy: Whether workers are started when they are first needed, not before.
        places: Returns the places of the vaults that a new worker opens at once.
    """

    def __init__(
        self,
        size: int,
        lost: Callable[[], None] = lambda: None,
        *,
        lazy: bool = False,
        places: Callable[[], Sequence[str]] = tuple,
    ):
        """Take the size. `start` starts the workers."""
        self._size, self._lost, self._lazy, self._places = size, lost, lazy, places
        self._idle: asyncio.Queue[Worker] = asyncio.Queue()
        self._all: set[Worker] = set()
        self._threads = ThreadPoolExecutor(size + 1, thread_name_prefix="worker")
        self._lock = threading.Lock()
        self._closed = False

    @property
    def processes(self) -> list[int]:
        """The ids of the worker processes."""
        return sorted(worker.process.pid for worker in self._all)

    async def start(self) -> None:
        """Start the workers, unless they wait for their first task."""
        for _ in range(0 if self._lazy else self._size):
            await self._add()

    async def run(self, task: Task, tell: Callable[[str, float], None] | None = None) -> dict[str, Any]:
        """Carry out a task on the next free worker.

        A caller that is cancelled ends the worker: a question in it stays charged and can be resumed.
        """
        if self._idle.empty() and len(self._all) < self._size:
            await self._add()
        worker = await self._idle.get()
        if worker.process.poll() is not None:  # it ended while it was idle: no task was lost
            await self._replace(worker)
            return await self.run(task, tell)
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(task.seconds):
                found = await loop.run_in_executor(self._threads, worker.run, task, tell)
        except BaseException:
            await asyncio.shield(self._replace(worker))
            raise
        self._idle.put_nowait(worker)
        return found

    async def close(self) -> None:
        """End all workers."""
        self._closed = True
        workers, self._all = list(self._all), set()
        for worker in workers:
            worker.end()
        self._threads.shutdown(wait=True)

    async def _replace(self, worker: Worker) -> None:
        self._all.discard(worker)
        worker.end()
        if not self._closed:
            self._lost()
            await self._add()

    async def _add(self) -> None:
        worker = Worker(self._places())
        self._all.add(worker)
        self._idle.put_nowait(worker)
