"""Bombs through the curator's upload: a few kB that inflate to terabytes, and files that are broken on purpose."""

from __future__ import annotations

import io
import struct
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pyarrow
import pyarrow.parquet
import pytest

from discreet.errors import SealingFailed
from discreet.serve.accounts import Role
from discreet.serve.console.uploads import Uploads
from discreet.serve.verbs.uploads import bounded
from tests.serve.conftest import Running, sealed, started
from tests.serve.console.test_pages import signed_in

MB = 1 << 20
MEMORY, SECONDS = 1024 * MB, 15
FORM = {"name": "people", "rows": "1", "counts": "40", "margin": "20", "delta": "1e-9", "person": "who"}
INTEGERS = {**FORM, "type-1": "integer", "lo-1": "0", "hi-1": "99"}


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("vaults")
    sealed(folder)
    with pytest.MonkeyPatch.context() as patched:  # a folder for temporary files that this server has alone
        place = str(tmp_path_factory.mktemp("temporary"))
        patched.setattr(tempfile, "tempdir", place)
        patched.setenv("TMPDIR", place)
        made = started(folder, upload_limit=64 * MB, upload_memory=MEMORY, upload_seconds=SECONDS)
        made.account("cora", Role.CURATOR)
        made.account("ana", Role.ANALYST, "visits")
        yield made
        made.stop()


@pytest.fixture(scope="module")
def session(attacked: Running) -> Iterator[httpx2.Client]:
    with signed_in(attacked, "cora") as client:  # once: a stranger's browser may sign in ten times a minute
        client.timeout = 120
        yield client


@pytest.fixture
def cora(attacked: Running, session: httpx2.Client) -> Iterator[httpx2.Client]:
    yield session
    left = [*(attacked.settings.folder / ".uploads").glob("*/source.*")]
    assert left == []
    assert [*attacked.settings.folder.glob(".*sealing*"), *Path(tempfile.gettempdir()).glob(".*sealing*")] == []


def parquet(columns: dict[str, Any], **how: Any) -> bytes:
    out = io.BytesIO()
    options = {"compression": "zstd", "store_schema": False, "write_statistics": False}
    pyarrow.parquet.write_table(pyarrow.table(columns), out, **{**options, **how})
    return out.getvalue()


def repeated(file: bytes, doublings: int) -> bytes:
    """Return a file whose footer names the same rows again and again: its row groups share their bytes."""
    data = file[: -8 - struct.unpack("<I", file[-8:-4])[0]]
    for _ in range(doublings):
        whole = pyarrow.parquet.read_metadata(io.BytesIO(file))
        whole.append_row_groups(pyarrow.parquet.read_metadata(io.BytesIO(file)))
        footer = io.BytesIO()
        whole.write_metadata_file(footer)
        file = data + footer.getvalue()[4:]
    return file


def rows(doublings: int) -> bytes:
    count = 1_000_000
    return repeated(parquet({"who": [1] * count, "age": [30] * count}, row_group_size=count), doublings)


def texts() -> bytes:
    """Return 300 kB that hold 100 GB of text: one text of 1 MB, which a dictionary repeats."""
    count = 100_000
    note = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * count, pyarrow.int32()), ["x" * 1_000_000])
    return parquet({"who": [*range(count)], "note": note, "age": [30] * count})


def nested(levels: int) -> bytes:
    value: Any = pyarrow.array([1])
    for _ in range(levels):
        value = pyarrow.StructArray.from_arrays([value], ["s"])
    return parquet({"who": [1], "deep": value})


def sent(client: httpx2.Client, name: str, file: bytes) -> str:
    return str(client.post("/new", files={"file": (name, file)}).headers["location"])


WHOLE = parquet({"who": [1, 2], "age": [30, 40]})
BROKEN: dict[str, tuple[str, Any, str]] = {
    "8 billion rows": ("people.parquet", lambda: rows(13), "8,192,000,000 rows"),
    "20,000 columns": ("people.parquet", lambda: parquet({f"c{i}": [1] for i in range(20_000)}), "20,000"),
    "20,000 columns of a text": (
        "people.csv",
        lambda: ",".join(f"c{i}" for i in range(20_000)).encode(),
        "20,000",
    ),
    "a header without an end": ("people.csv", lambda: b"a," * 16 * MB, "header line"),
    "a name without an end": ("people.csv", lambda: b"a" * 500_000, "header line"),
    "no footer": ("people.parquet", lambda: WHOLE[:-3], "cannot be read"),
    "a footer that is longer than the file": (
        "people.parquet",
        lambda: WHOLE[:-8] + b"\xff\xff\xff\x7fPAR1",
        "cannot be read",
    ),
    "a garbled footer": ("people.parquet", lambda: WHOLE[:-60] + bytes(52) + WHOLE[-8:], "cannot be read"),
    "nothing": ("people.parquet", lambda: b"", "cannot be read"),
    "a picture": ("people.parquet", lambda: b"\x89PNG" * 100, "cannot be read"),
}


@pytest.mark.parametrize("how", BROKEN.values(), ids=list(BROKEN))
def test_a_file_that_no_choice_of_columns_makes_readable_is_refused_and_deleted(
    attacked: Running, cora: httpx2.Client, how: tuple[str, Any, str]
) -> None:
    """The bugs it would catch: quadratic work on a header, a row count that is believed, a path that is shown."""
    name, make, words = how
    refused = cora.get(sent(cora, name, make()))
    assert refused.status_code == 422
    assert words in refused.text
    assert str(attacked.settings.folder) not in refused.text
    assert attacked.log.getvalue().count('"failed"') == 0


def most_memory(running: Running) -> int:
    """Return the most memory that a worker for uploads has had, in bytes."""
    found = [Path(f"/proc/{process}/status").read_text() for process in running.service.uploading.processes]
    lines = [line for text in found for line in text.splitlines() if line.startswith("VmHWM")]
    return max(1024 * int(line.split()[1]) for line in lines)


def test_texts_that_unpack_to_100_gigabytes_are_refused_and_the_rest_can_be_sealed(
    attacked: Running, cora: httpx2.Client
) -> None:
    """The bug it would catch: 300 kB that took 6 GB of memory; or 9 GB of disk, where memory was bounded."""
    place = sent(cora, "people.parquet", texts())
    assert cora.get(place).status_code == 200
    form = {**FORM, "type-1": "text"}
    refused = cora.post(f"{place}/check", data=form)
    assert refused.status_code == 422
    assert "100,000 rows, 100,001 MB" in refused.text
    assert cora.post(f"{place}/seal", data=form).status_code == 422
    without = cora.post(f"{place}/check", data={**FORM, "type-2": "integer", "lo-2": "0", "hi-2": "99"})
    assert without.status_code == 200  # the upload was kept, because without that text it can be sealed
    forget(attacked, place)


def forget(running: Running, place: str) -> None:
    uploads = Uploads(running.settings.folder)
    uploads.forget(uploads.find("cora", place.rpartition("/")[2]))


def test_what_reads_a_table_gets_no_more_memory_than_it_may_and_the_limit_ends_with_it(tmp_path: Path) -> None:
    """The bug it would catch: memory that DuckDB does not count, such as that of the reader of texts."""
    source = tmp_path / "people.csv"
    source.write_text("who,age\n1,30\n")
    limits = {"unpacked": 1, "memory": 128 * MB}
    with (
        pytest.raises(SealingFailed, match=r"takes more memory than it may.*128 MB"),
        bounded({"source": str(source), "limits": limits}),
    ):
        bytearray(512 * MB)
    assert len(bytearray(512 * MB)) == 512 * MB


def test_a_table_that_takes_too_long_ends_with_its_worker_and_others_are_answered_meanwhile(
    attacked: Running, cora: httpx2.Client
) -> None:
    """Files of the operator have as many rows as the operator likes: here 8 billion, in 1 MB."""
    tables = attacked.settings.folder / "tables"
    tables.mkdir()
    (tables / "people.parquet").write_bytes(rows(13))
    place = str(cora.post("/new", data={"table": "people.parquet"}).headers["location"])
    assert cora.get(place).status_code == 200
    before, told = attacked.service.uploading.processes, list[httpx2.Response]()
    check = threading.Thread(target=lambda: told.append(cora.post(f"{place}/check", data=INTEGERS)))
    check.start()
    asked = attacked.ask("ana", "select count(*) from visits", epsilon="0.01")
    assert asked.status_code == 200  # there is one worker for questions, and it is free
    assert most_memory(attacked) < MEMORY + 512 * MB
    with attacked.client() as stranger:
        assert stranger.get("/health").status_code == 200
    assert not told
    check.join(120)
    assert told[0].status_code == 422
    assert f"more than {SECONDS} seconds" in told[0].text
    assert attacked.service.uploading.processes != before
    assert cora.get(place).status_code == 200  # by the next worker


def test_a_long_line_is_read_within_the_limits_and_nested_columns_are_refused(
    attacked: Running, cora: httpx2.Client
) -> None:
    long = sent(cora, "people.csv", b"who,age\n1," + b"9" * (48 * MB))
    assert cora.post(f"{long}/check", data=INTEGERS).status_code == 200
    deep = sent(cora, "people.parquet", nested(100))
    found = cora.post(f"{deep}/check", data=INTEGERS)
    assert found.status_code == 422
    assert "lists or records" in found.text
    assert most_memory(attacked) < MEMORY + 512 * MB
    for place in (long, deep):
        forget(attacked, place)
