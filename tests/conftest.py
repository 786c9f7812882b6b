"""What all tests share: witnesses that compute with 320 bits (96 digits), PostgreSQL and Spark on demand."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import mpmath
import pytest
from hypothesis import settings

from tests.servers.postgres import Server
from tests.servers.spark import Cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

mpmath.mp.prec = 320  # whatever another test asked for

# `make test` looks at the same examples every time, so that what fails can be repeated. `make search` looks at new
# ones.
settings.register_profile("same", derandomize=True)
settings.register_profile("new", print_blob=True)
settings.load_profile("same")

_numbers = itertools.count(1)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Give tests that share a fixture of their module to one worker, and keep the groups that xdist names.

    A server, its workers and its vaults take seconds to start: without a group every worker starts its own.

    xdist (3.8) appends the group to the name of a test, which pytest 9.2 reads from another place. Without it
    every worker starts a PostgreSQL, a Spark and a browser of its own. A test that xdist gave no group, and a run
    without workers, are left as they are.
    """
    for item in items:
        if item.get_closest_marker("xdist_group") is None and _shares(item):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition(".py::")[0]))
    yield
    for item in items:
        named = vars(item).get("_nodeid")
        if named and named != item.nodeid:
            item._id = type(item.id).parse(named)


def pytest_collection_finish() -> None:
    """Hide modules and tests from the garbage collector: they stay, and each full look at them takes 0.5 s."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Show them to the collector again: at the end of a process, libraries complain of what is never collected."""
    gc.unfreeze()


def _shares(item: pytest.Item) -> bool:
    known: Any = getattr(item, "_fixtureinfo", None)
    made = known.name2fixturedefs.values() if known else ()
    return any(one.scope == "module" for several in made for one in several)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """The server of this process, started for the first test that asks for it."""
    server = Server.started()
    yield server
    server.stopped()


@pytest.fixture
def postgres_address(postgres: Server) -> str:
    """An address at the server, with a schema that is not there yet."""
    return postgres.address(f"people {next(_numbers)}")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The Spark of this process, started for the first test that asks for it."""
    cluster = Cluster.started()
    yield cluster.session
    cluster.stopped()
