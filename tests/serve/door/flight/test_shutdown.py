"""The end of a real server with the door open: Ctrl-C, a client that is connected, and workers."""

from __future__ import annotations

import os
import re
import select
import signal
import time
from pathlib import Path

import pytest
from adbc_driver_flightsql import dbapi

from discreet.serve.door import tls
from tests.serve.door.conftest import sealed_trips
from tests.serve.door.flight.conftest import HEADER, ROOTS
from tests.serve.processes import serving


@pytest.mark.slow
def test_ctrl_c_ends_the_server_beside_an_open_connection_and_nothing_outlives_it(tmp_path: Path) -> None:
    sealed_trips(tmp_path)
    with serving(tmp_path, flight_port=0) as served:
        assert served.process.stdout is not None
        said = ""
        while (token := re.search(r"\bdsc_\S+(?=\n)", said)) is None:
            line = served.process.stdout.readline()
            assert line, "the server ended"
            said += line
        port = re.search(r"Flight SQL connect to 127\.0\.0\.1, port (\d+)", said)
        assert port is not None
        options = {
            "username": "curator", "password": token[0], f"{HEADER}discreet.epsilon": "1",
            ROOTS: (tmp_path / tls.CERTIFICATE).read_text(),
        }  # fmt: skip
        with dbapi.connect(f"grpc+tls://127.0.0.1:{port[1]}", db_kwargs=options, autocommit=True) as connection:
            with connection.cursor() as cursor:
                cursor.execute("select count(*) from trips")
                assert len(cursor.fetchall()) == 1
            workers = served.workers()
            assert workers
            begun = time.monotonic()
            served.process.send_signal(signal.SIGINT)
            served.process.wait(30)
            took = time.monotonic() - begun
        for worker in workers:
            poll = select.poll()
            poll.register(worker, select.POLLIN)
            assert poll.poll(10_000), "a worker outlived its server"
            os.close(worker)
        assert took < 5
        assert "Traceback" not in served.log.getvalue()
