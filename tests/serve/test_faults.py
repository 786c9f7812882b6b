"""Faults: a worker killed amid a question, a server killed, a restart. Nothing overspent, and a clear status."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path

from discreet.serve.accounts import Role
from tests.serve.conftest import Running, sealed, started

COUNT = "select count(*) from visits"


def test_a_worker_killed_amid_a_question_overspends_nothing_and_says_so(running: Running) -> None:
    running.account("kim", Role.ANALYST, "visits")
    before, (worker,) = running.spent(), running.service.pool.processes
    os.kill(worker, signal.SIGSTOP)  # it gets the question, and does not go on
    replies: list[int] = []
    sql = f"{COUNT} where age > 33"

    def ask() -> None:
        reply = running.ask("kim", sql, epsilon="1/8", key="kill")
        replies.append(reply.status_code)
        assert reply.json()["fixes"]

    asking = threading.Thread(target=ask)
    asking.start()
    running.log.wait_for('"accepted"', '"kim"')  # the question is under way
    with running.client("kim") as second:
        refused = second.get("/api/v1/whoami")
        assert (refused.status_code, refused.json()["error"]) == (409, "AlreadyRunning")
    os.kill(worker, signal.SIGKILL)
    asking.join(60)
    assert replies == [503]
    assert running.ask("kim", sql, epsilon="1/8", key="kill").status_code == 200
    assert running.spent() - before == 1 / 8
    assert running.service.pool.processes != [worker]


def test_a_key_gets_its_reply_after_a_restart(tmp_path: Path) -> None:
    sealed(tmp_path)
    first = started(tmp_path)
    first.account("ana", Role.ANALYST, "visits")
    reply = first.ask("ana", COUNT, epsilon="1", key="again")
    first.stop()
    second = started(tmp_path)
    second.tokens = first.tokens
    again = second.ask("ana", COUNT, epsilon="1", key="again")
    second.stop()
    assert (reply.status_code, reply.content) == (200, again.content)
    assert second.spent() == 1


def test_workers_end_with_a_server_that_is_killed(tmp_path: Path) -> None:
    code = (
        "import asyncio, time\nfrom discreet.serve.workers import Pool\n"
        "async def main():\n pool = Pool(2)\n await pool.start()\n print(*pool.processes, flush=True)\n"
        " time.sleep(600)\n"
        "asyncio.run(main())"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        workers = [os.pidfd_open(int(pid)) for pid in server.stdout.readline().split()]
        server.kill()
    for worker in workers:
        poll = select.poll()
        poll.register(worker, select.POLLIN)
        assert poll.poll(60_000), "a worker outlived its server"
        os.close(worker)
