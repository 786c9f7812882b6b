"""A real kernel without ipywidgets shows every face of a vault, with no traceback and no warning."""

from __future__ import annotations

import tempfile
from importlib.util import find_spec
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from traitlets.config import Config

pytestmark = pytest.mark.xdist_group("notebook")  # one kernel for all faces

BEGIN = """
import tempfile, pyarrow, discreet as dp
folder = tempfile.TemporaryDirectory()
rows = pyarrow.table({
    "who": list(range(1000)), "age": [18 + i % 70 for i in range(1000)],
    "city": ["Oslo" if i % 3 else "Bergen" for i in range(1000)], "ill": [i % 5 == 0 for i in range(1000)],
})
columns = {"age": dp.Integer(0, 110), "city": dp.Category(["Bergen", "Oslo"]), "ill": dp.Boolean()}
"""
SEAL = """
vault = dp.Vault.seal(rows, to=folder.name + "/people.vault", name="people", person="who", columns=columns,
                      budget=dp.Budget(epsilon=4, delta="1e-9"){progress})
"""
FACES = {
    "vault": "vault",
    "preview": "vault.preview('select city, count(*) from people group by city', epsilon=0.2)",
    "release": "vault.ask('select city, count(*), avg(age) from people group by city', epsilon=0.2)",
    "ledger": "vault.ledger",
    "oracle": "oracle = vault.oracle(['age', 'city'], epsilon=1, within='20%'); oracle",
    "answer": "oracle.ask(dp.where(city='Oslo'))",
    "table": "table = vault.synthesize(['age', 'city', 'ill'], epsilon=1); table",
    "comparison": "table.compare(epsilon=0.5)",
    "model": "vault.fit(dp.learn.LogisticRegression(), target='ill', features=['age'], epsilon=0.5)",
}
REFUSALS = {
    "too expensive": "vault.ask('select count(*) from people', epsilon=400)",
    "no such column": "vault.ask('select avg(height) from people', epsilon=0.1)",
}
WORDS = {
    "vault": "It protects every person",
    "preview": "This would use",
    "release": "This used",
    "ledger": "the whole vault",
    "oracle": "Answers are within",
    "answer": "confidence",
    "table": "Synthetic table people",
    "comparison": "mean distance",
    "model": "LogisticRegression of ill",
}


def run(*cells: str) -> Any:
    """Run the cells in a new kernel, and return the notebook with what they show.

    The kernel listens at sockets in a folder of its own: a port that was free when it was chosen may be taken by
    another process when the kernel wants it, and the kernel then dies.
    """
    written: list[dict[str, Any]] = [
        {"cell_type": "code", "id": str(i), "source": cell, "metadata": {}, "outputs": [], "execution_count": None}
        for i, cell in enumerate(cells)
    ]
    of_cells: Any = nbformat.from_dict
    book = of_cells({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": written})
    with tempfile.TemporaryDirectory(prefix="nb") as folder:  # a socket's path may have 107 characters
        sockets = Config({"KernelManager": {"transport": "ipc", "ip": f"{folder}/kernel"}})
        client = NotebookClient(book, kernel_name="python3", allow_errors=True, config=sockets, timeout=600)
        client.startup_timeout = 600
        client.execute()
    return book


@pytest.fixture(scope="module")
def book() -> Any:
    assert find_spec("ipywidgets") is None, "this test is about a kernel without ipywidgets"
    return run(BEGIN, SEAL.replace("{progress}", ""), *FACES.values(), *REFUSALS.values())


def outputs(book: Any, number: int) -> list[Any]:
    return list(book.cells[number].outputs)


def test_sealing_works_without_ipywidgets_and_shows_no_bar(book: Any) -> None:
    """It would catch: DuckDB's own progress bar, which raises in a notebook where ipywidgets are missing."""
    assert outputs(book, 0) == outputs(book, 1) == []


def test_every_face_is_drawn_and_nothing_is_red(book: Any) -> None:
    for number, name in enumerate(FACES, start=2):
        shown = outputs(book, number)
        assert not [each for each in shown if each.output_type == "error"], (name, shown)
        assert not [each for each in shown if each.get("name") == "stderr"], (name, shown)
        (page,) = (each.data["text/html"] for each in shown if each.output_type == "execute_result")
        assert WORDS[name] in page, name


def test_a_float_epsilon_has_one_line_and_only_once(book: Any) -> None:
    streams = [each.text for cell in book.cells for each in cell.outputs if each.output_type == "stream"]
    assert streams == ["Note: epsilon=0.2 is read as the decimal 0.2, exactly.\n"]


def test_a_refusal_is_a_sentence_and_no_traceback(book: Any) -> None:
    for number, name in enumerate(REFUSALS, start=2 + len(FACES)):
        (refused,) = outputs(book, number)
        assert len(refused.traceback) == 1, name
        assert "Traceback" not in refused.traceback[0], name


def test_the_notebook_becomes_a_page(book: Any) -> None:
    exporter: Any = HTMLExporter
    page, _ = exporter().from_notebook_node(book)
    assert all(word in page for word in WORDS.values())
    assert "Traceback" not in page


def test_progress_that_is_asked_for_is_told_without_ipywidgets() -> None:
    seal = SEAL.replace("{progress}", ", progress=lambda *step: told.append(step)")
    told = run(BEGIN, f"told = []{seal}", "told[-1][1]")
    (shown,) = outputs(told, 2)
    assert shown.data["text/plain"] == "1.0"
