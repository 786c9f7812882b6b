"""What all tests share: witnesses that compute with 320 bits (96 digits), PostgreSQL and Spark on demand."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

import mpmath
import pytest

from .postgres import Server
from .spark import Cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

mpmath.mp.prec = 320  # whatever another test asked for

_numbers = itertools.count(1)


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
