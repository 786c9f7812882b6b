"""Real `discreet serve` processes for tests that kill them: one command, its address, its workers, its log."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

from tests.serve.conftest import Heard

COMMAND = [sys.executable, "-m", "discreet", "serve"]


class Served:
    """A server process, seen from a test."""

    def __init__(self, process: subprocess.Popen[str]):
        self.process, self.log = process, Heard()
        assert process.stdout is not None
        found = (re.search(r"http://\S+", line) for line in process.stdout)
        self.address = next(one[0] for one in found if one is not None)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.write(line)

    def client(self, token: str) -> httpx2.Client:
        headers = {"Authorization": f"Bearer {token}"}
        return httpx2.Client(base_url=self.address, headers=headers, timeout=60, verify=False)

    def workers(self) -> list[int]:
        """Return descriptors of the workers that can be waited for."""
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        return [os.pidfd_open(int(pid)) for path in tasks for pid in path.read_text().split()]

    def kill(self) -> None:
        """Kill the server alone, and wait until it and its workers are gone."""
        workers = self.workers()
        assert workers
        self.process.kill()
        self.process.wait(60)
        for worker in workers:
            poll = select.poll()
            poll.register(worker, select.POLLIN)
            assert poll.poll(60_000), "a worker outlived its server"
            os.close(worker)


@contextmanager
def serving(folder: Path, **settings: Any) -> Iterator[Served]:
    """Start a server, and kill it at the end if it still runs."""
    given = {"workers": 1, "quantum": 0.05, "deadline": 0.05, **settings}
    environment = {f"DISCREET_SERVE_{name.upper()}": str(value) for name, value in given.items()}
    with subprocess.Popen(
        [*COMMAND, str(folder), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    ) as process:
        try:
            yield Served(process)
        finally:
            process.kill()
            process.wait(60)


def polled(client: httpx2.Client, where: str) -> httpx2.Response:
    """Poll until there is a reply: each poll waits a quantum."""
    while (reply := client.get(where)).status_code == 202:
        pass
    return reply


def events(log: Heard) -> list[dict[str, Any]]:
    """Return what the server noted."""
    return [json.loads(line) for line in log.getvalue().splitlines() if line.startswith("{")]
