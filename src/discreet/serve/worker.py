"""Run tasks in a process of its own: read one, open the vault, do it, send the result, and end with the server.

    python -m discreet.serve.worker FD        FD is one end of a socket; the server holds the other one

A thread reads the socket. When it ends, the server is gone, however it ended, and so does the worker, at once:
a charge that was not recorded yet is resumed by the next one who asks the same.

No text of an exception leaves the worker unless it is an error of Discreet's own, whose words are public but for
the place of the vault, which is taken out: folders and addresses are not for analysts. Of any other exception the
server learns the type and the line of our code, for its log.
"""

from __future__ import annotations

import importlib
import json
import os
import queue
import sys
import threading
import traceback
import warnings
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, cast

from discreet.errors import BudgetExceeded, DiscreetError, InexactFloat, QuestionRefused
from discreet.serve.tasks import OPEN, TASKS, Result, account
from discreet.vault.vault import Vault

_MOST = 16  # vaults that stay open

# What every question needs, loaded before the first one comes: loading takes as long as a quantum.
_QUESTIONS = ("duckdb", "numpy.ma", "discreet.query.parse.select", "discreet.query.answer.execute")


class _Vaults:
    """The vaults that this worker has open, the last used ones. All accounts share the files of a vault."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, Vault] = OrderedDict()

    def get(self, place: str, analyst: str | None, purpose: str | None) -> Vault:
        if place not in self._open:
            self._open[place] = Vault(place)
        self._open.move_to_end(place)
        while len(self._open) > _MOST:
            self._open.popitem(last=False)[1].close()
        return self._open[place].for_account(analyst=analyst, purpose=purpose)

    def open(self, places: Sequence[str]) -> None:
        """Open vaults with their rows before the first question, which would wait for that."""
        for place in places[:_MOST]:
            with suppress(Exception):  # a question will report it
                self.get(place, None, None).table().engine()

    def drop(self, place: str) -> None:
        vault = self._open.pop(place, None)
        if vault is not None:
            vault.close()


def main(descriptor: int) -> None:
    """Serve the socket until its other end is closed."""
    connection: Connection[Any, Any] = Connection(descriptor)
    tasks: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(connection, tasks), daemon=True).start()
    warnings.simplefilter("ignore", InexactFloat)
    for name in _QUESTIONS:
        importlib.import_module(name)
    vaults = _Vaults()
    while True:
        task = json.loads(tasks.get())
        if OPEN in task:
            vaults.open(task[OPEN])
            continue

        def tell(words: str, share: float) -> None:
            _send(connection, {"progress": words, "share": share})

        _send(connection, outcome(vaults, task, tell))


def outcome(vaults: _Vaults, task: Mapping[str, Any], tell: Any) -> dict[str, Any]:
    """Carry out one task, and return what the server may see of it."""
    place, analyst, purpose = task["place"], task["analyst"], task["purpose"]
    verb, vault = TASKS[task["verb"]], None
    # An error may come after rows were read, when its time depends on them: it leaves on a tick.
    public = verb.public or task["recorded"]
    try:
        if place:  # an audit has no vault
            vault = vaults.get(place, analyst, purpose)
        try:
            result: Result | None
            if task["recorded"]:
                assert verb.recorded is not None
                result = verb.recorded(cast(Vault, vault), task["arguments"])
            else:
                result = verb.run(cast(Vault, vault), task["arguments"], tell)
        except BudgetExceeded as error:
            left = [] if vault is None else [account(balance) for balance in vault.table().payer.balances()]
            return {"error": _told(error, place), "left": left, "public": public}
        return {"absent": True} if result is None else {"body": result.body, "public": result.public}
    except DiscreetError as error:
        return {"error": _told(error, place), "public": public and isinstance(error, QuestionRefused)}
    except Exception as error:
        vaults.drop(place)
        return {"failed": type(error).__name__, "line": _line(error), "public": False}


def _told(error: DiscreetError, place: str) -> dict[str, Any]:
    """Return an error as JSON, without the place of the vault: files in it keep their own names."""
    places = [os.path.abspath(place), place] if place else []

    def cut(value: Any) -> Any:
        if isinstance(value, str):
            for one in places:
                value = value.replace(f"{one}/", "").replace(one, "the vault")
            return value
        if isinstance(value, dict):
            return {name: cut(one) for name, one in value.items()}
        return [cut(one) for one in value] if isinstance(value, list) else value

    found: dict[str, Any] = cut(error.to_json())
    return found


def _line(error: BaseException) -> str:
    """Return the innermost line of our own code, without a value."""
    ours = [frame for frame in traceback.extract_tb(error.__traceback__) if "discreet" in frame.filename]
    return f"{os.path.basename(ours[-1].filename)}:{ours[-1].lineno}" if ours else ""


def _read(connection: Connection[Any, Any], tasks: queue.SimpleQueue[bytes]) -> None:
    while True:
        try:
            tasks.put(connection.recv_bytes())
        except (EOFError, OSError):
            os._exit(0)  # the server is gone: nothing that is computed now would be accounted for


def _send(connection: Connection[Any, Any], message: dict[str, Any]) -> None:
    try:
        connection.send_bytes(json.dumps(message).encode())
    except OSError:
        os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
