"""Runs of the online mechanisms: one of each, on one sealed histogram, in one process."""

from __future__ import annotations

import copy
import os
import pickle
import threading
from typing import Any

import numpy as np
import pytest

from discreet.errors import BudgetExceeded, ParameterError, SensitivityExceeded
from discreet.mechanisms import Exact
from discreet.oracle import HardtRothblum, PrivateMultiplicativeWeights
from discreet.oracle.textbook.interaction import QueryRun

SETTING: dict[str, Any] = {"cells": 4, "rows": 10**9, "queries": 100, "failure": "0.01"}
MECHANISMS = [
    PrivateMultiplicativeWeights.for_epsilon(1, **SETTING),
    HardtRothblum(epsilon=1, delta="1e-6", **SETTING),
]
every_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS, ids=["pmw", "hardt_rothblum"])


def started(mechanism: Any) -> QueryRun:
    run: QueryRun = mechanism.start(Exact([SETTING["rows"], 0, 0, 0], sensitivity=1))
    return run


@every_mechanism
def test_a_run_cannot_be_doubled(mechanism: Any) -> None:
    run = started(mechanism)
    for double in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match=r"mechanism\.start"):
            double(run)


@every_mechanism
def test_a_forked_process_may_not_go_on_with_it(mechanism: Any) -> None:
    run, (read, write) = started(mechanism), os.pipe()
    if not (child := os.fork()):
        try:
            run.ask([1, 0, 0, 0])
            os.write(write, b"answered")
        except Exception as error:
            os.write(write, str(error).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert "started by another process" in os.read(read, 1000).decode()
    run.ask([1, 0, 0, 0])


@every_mechanism
def test_the_histogram_is_not_shown(mechanism: Any) -> None:
    run = started(mechanism)
    assert repr(run) == "<run over 4 cells, 0 updates made>"
    assert dir(run) == ["ask", "hypothesis", "updates"]
    assert not any("histogram" in name for name in dir(run))


@every_mechanism
def test_the_hypothesis_is_a_copy_that_nobody_can_change(mechanism: Any) -> None:
    run = started(mechanism)
    run.hypothesis[0] = 7
    assert run.hypothesis.tolist() == [0.25] * 4


@every_mechanism
def test_what_it_was_not_built_for_is_refused_before_it_begins(mechanism: Any) -> None:
    with pytest.raises(SensitivityExceeded):
        mechanism.start(Exact([1, 2, 3, 4], sensitivity=2))
    with pytest.raises(ParameterError, match="3 cells"):
        mechanism.start(Exact([1, 2, 3], sensitivity=1))
    with pytest.raises(ParameterError, match="Exact"):
        mechanism.start([1, 2, 3, 4])


@every_mechanism
@pytest.mark.parametrize("query", [[1, 0], [2, 0, 0, 0], [0.5, 0, 0, 0], [[1, 0, 0, 0]], [-1, 0, 0, 0]])
def test_a_query_that_is_none_is_refused_and_costs_nothing(mechanism: Any, query: Any) -> None:
    run = started(mechanism)
    with pytest.raises(ParameterError):
        run.ask(query)
    assert run.updates == 0


@every_mechanism
def test_hostile_counts_make_no_exception(mechanism: Any) -> None:
    for counts in ([2**62 - 1] * 4, [-(2**62) + 1] * 4):
        run = mechanism.start(Exact(counts, sensitivity=1))
        for query in ([1, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]):
            run.ask(query)


def test_threads_take_turns_so_that_no_update_is_made_twice() -> None:
    mechanism = PrivateMultiplicativeWeights(alpha=1, each=100, failure="0.5", cells=4, rows=1, queries=2)
    run = mechanism.start(Exact([10**6, 0, 0, 0], sensitivity=1))
    given: list[bool] = []

    def ask() -> None:
        for _ in range(20):
            try:
                given.append(run.ask([1, 0, 0, 0]).paid)
            except BudgetExceeded:
                break

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(given) == mechanism.most_updates == run.updates == 22
    assert np.isclose(run.hypothesis.sum(), 1)
