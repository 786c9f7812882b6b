"""A real Chromium for the tests, and a server of this machine alone with the JavaScript client for its pages.

The browser is told what to do through a pipe (the DevTools protocol: JSON, then a zero byte), and ends when it is
closed, so that it does not outlive the tests. Every wait has an end.

It needs Chromium or Chrome, which the Makefile looks for. Without it the tests fail, unless the variable
DISCREET_WITHOUT_BROWSER says that they are to be skipped, and why.
"""

from __future__ import annotations

import json
import os
import queue
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

CLIENT = Path(__file__).parents[2] / "clients" / "js"
PATIENCE = 300
"""How many seconds anything may take, where other tests run at the same time."""

_OPTIONS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--no-proxy-server", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),  # no way to other machines
    "--remote-debugging-pipe",
]


class Server:
    """The files of the client, whose list is as good a page as any, and what pages have posted."""

    def __init__(self) -> None:
        self._posted: queue.Queue[bytes] = queue.Queue()
        self.on_arrival: Callable[[], None] | None = None
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, self._arrived, directory=str(CLIENT)))
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def origin(self) -> str:
        """Where it is: an origin like no other, which a browser trusts as HTTPS, since it is its own machine."""
        return f"http://127.0.0.1:{self._http.server_port}"

    def posted(self) -> bytes:
        """Return what was posted next, as soon as it is there."""
        return self._posted.get(timeout=PATIENCE)

    def silent(self) -> bool:
        """Return whether nothing was posted that was not yet asked for."""
        return self._posted.empty()

    def _arrived(self, body: bytes) -> None:
        if self.on_arrival is not None:
            self.on_arrival()
        self._posted.put(body)

    def stopped(self) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


class _Handler(SimpleHTTPRequestHandler):
    def __init__(self, arrived: Callable[[bytes], None], *arguments: Any, **options: Any) -> None:
        self._arrived = arrived
        super().__init__(*arguments, **options)

    def do_GET(self) -> None:
        if self.path != "/forget":
            return super().do_GET()
        return self._done(
            {"Clear-Site-Data": '"storage"'}
        )  # the browser forgets what pages of this origin have kept

    def do_POST(self) -> None:
        self._arrived(self.rfile.read(int(self.headers["Content-Length"])))
        self._done({})

    def _done(self, headers: dict[str, str]) -> None:
        self.send_response(204)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class Browser:
    """A browser and its profile, in which pages find again what they have kept."""

    def __init__(self, profile: Path):
        self._chromium, self._profile = _chromium(), profile
        self._scratch = Path(tempfile.mkdtemp(prefix="browser"))  # a short name, since it has a socket there
        self._start()

    def restart(self) -> None:
        """Start it again, with what its profile has on the disk."""
        assert self._process.poll() is not None, "it has not ended"
        self._start()

    def _start(self) -> None:
        # it reads from file 3 and writes to file 4; in a session of its own, all of it can be killed at once
        command = ["sh", "-c", 'exec "$@" 3<&0 4>&1 </dev/null >/dev/null', "sh", self._chromium, *_OPTIONS]
        self._process = subprocess.Popen(
            [*command, f"--user-data-dir={self._profile}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": str(self._profile), "TMPDIR": str(self._scratch)},
            start_new_session=True,
        )
        self._asked, self._rest = 0, b""
        self._answers: dict[int, dict[str, Any]] = {}

    def tab(self, address: str) -> Tab:
        """Return a new tab with the page at an address."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.navigate", session, url=address)
        return Tab(self, session)

    def call(self, method: str, session: str | None = None, **parameters: Any) -> Any:
        """Return what the browser answers to a command."""
        return self.answer(self.ask(method, session, **parameters))

    def ask(self, method: str, session: str | None = None, **parameters: Any) -> int:
        """Send a command, and return its number."""
        self._asked += 1
        message = {"id": self._asked, "method": method, "params": parameters}
        assert self._process.stdin is not None
        self._process.stdin.write(
            json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0"
        )
        self._process.stdin.flush()
        return self._asked

    def answer(self, number: int) -> Any:
        """Wait for the answer to a command."""
        end = time.monotonic() + PATIENCE
        while number not in self._answers:
            *whole, self._rest = (self._rest + self._read(end)).split(b"\0")
            messages = [json.loads(each) for each in whole]
            self._answers |= {
                message["id"]: message for message in messages if "id" in message
            }  # others are events
        answer = self._answers.pop(number)
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def _read(self, end: float) -> bytes:
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], max(0, end - time.monotonic()))
        read = os.read(self._process.stdout.fileno(), 2**16) if ready else b""
        assert read, "the browser has ended" if ready else f"the browser has said nothing for {PATIENCE} seconds"
        return read

    def killed(self) -> None:
        """End all of its processes at once, without a word to them."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(timeout=PATIENCE)
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    def stopped(self) -> None:
        """End it, and remove what it wrote."""
        if self._process.poll() is None:
            self.killed()
        for folder in (self._profile, self._scratch):
            shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Tab:
    """A tab with a page of its own."""

    browser: Browser
    session: str

    def run(self, script: str, **names: Any) -> Any:
        """Return what a script returns, which may wait, and knows these names and the `client`."""
        return self.result(self.begin(script, **names))

    def begin(self, script: str, **names: Any) -> int:
        """Begin with a script, and return the number of its result."""
        known = "".join(f"const {name} = {json.dumps(value)};\n" for name, value in names.items())
        # A page that was just opened may have no body yet.
        loading = 'document.readyState === "loading"'
        ready = f'if ({loading}) await new Promise((go) => addEventListener("DOMContentLoaded", go));'
        whole = f'(async () => {{ {ready}\nconst client = await import("/index.js");\n{known}{script} }})()'
        options = {"awaitPromise": True, "returnByValue": True}
        return self.browser.ask("Runtime.evaluate", self.session, expression=whole, **options)

    def result(self, number: int) -> Any:
        """Wait for the result of a script."""
        answer = self.browser.answer(number)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")


def _chromium() -> str:
    if reason := os.environ.get("DISCREET_WITHOUT_BROWSER"):
        pytest.skip(f"without a browser: {reason}")
    for name in ("chromium", "google-chrome"):
        if command := shutil.which(name):
            return command
    pytest.fail(
        "These tests need Chromium. Install it (Debian: apt-get install chromium), or set "
        "DISCREET_WITHOUT_BROWSER to the reason for going without."
    )
