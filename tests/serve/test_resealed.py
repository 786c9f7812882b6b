"""What was paid before is never charged again by itself; and answers from rows leave on ticks."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow

import discreet as dp
from discreet.serve.accounts import Role
from discreet.serve.api.replies import PRODUCT
from tests.serve.conftest import sealed, started

COUNT = "select count(*) from visits"


def test_a_stream_of_older_rows_is_refused_and_not_charged_anew_and_answers_leave_on_ticks(tmp_path: Path) -> None:
    place = sealed(tmp_path)
    running = started(tmp_path, quantum=1)
    running.account("ana", Role.ANALYST, "visits")
    with running.client("ana") as ana:
        opened = ana.post("/api/v1/vaults/visits/streams", json={"name": "s", "epsilon": "1", "horizon": 10})
        product = f"/api/v1/streams/{opened.headers[PRODUCT]}"
        assert ana.get(product).status_code == 200
        assert running.ask("ana", COUNT, epsilon="1/2").status_code == 200  # all workers are ready then
        begun = time.monotonic()
        assert running.ask("ana", f"{COUNT} where age > 30", epsilon="1/2").status_code == 200
        assert time.monotonic() - begun >= 1  # computed from rows: not before the first tick
        spent = running.spent()
        with dp.Vault(place) as vault:
            vault.reseal(pyarrow.table({"who": [1, 2, 3], "age": [20, 30, 40]}))
        refused = ana.get(product)
        assert (refused.status_code, refused.json()["error"]) == (404, "NotFound")
        assert "other rows" in refused.json()["detail"]
        assert running.spent() == spent == 2
    running.stop()
