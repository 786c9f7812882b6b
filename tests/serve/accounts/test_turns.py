"""Turns of accounts: one question at a time in all servers, and a server that is killed frees its turns."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.errors import AlreadyRunning
from discreet.serve.accounts import Turns, slots_at
from tests.servers.postgres import Server as Postgres


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.xdist_group("postgres"))])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "accounts.sqlite")
    postgres: Postgres = request.getfixturevalue("postgres")
    return postgres.address(f"turns of {tmp_path.name}")


@pytest.fixture
def servers(place: str) -> Iterator[list[Turns]]:
    made = [Turns(slots_at(place), 0.25) for _ in range(2)]
    yield made
    for one in made:
        one.close()


async def refused(turns: Turns, how: str, name: str = "ana") -> bool:
    try:
        async with turns.alone(name) if how == "alone" else turns.public(name):
            return False
    except AlreadyRunning:
        return True


def test_a_question_of_one_server_refuses_all_of_the_analyst_at_another(servers: list[Turns]) -> None:
    async def run() -> None:
        here, there = servers
        async with here.alone("ana"):
            assert not await there.free("ana")
            assert await refused(there, "alone")
            assert await refused(there, "public")
            assert await refused(here, "public")
            assert await there.free("bo")
            assert not await refused(there, "alone", "bo")
        assert await there.free("ana")
        assert not await refused(there, "alone")

    asyncio.run(run())


def test_a_question_waits_for_public_requests_here_and_is_refused_beside_those_elsewhere(
    servers: list[Turns],
) -> None:
    async def run() -> None:
        here, there = servers
        async with here.public("ana"), here.public("ana"), there.public("ana"):
            assert await there.free("ana")
        async with there.public("ana"):
            assert await refused(here, "alone")
        inside, order = asyncio.Event(), list[str]()

        async def preview() -> None:
            async with here.public("ana"):
                inside.set()
                for _ in range(20):
                    await asyncio.sleep(0)
                order.append("preview")

        async def question() -> None:
            await inside.wait()
            async with here.alone("ana"):
                order.append("question")

        await asyncio.gather(preview(), question())
        assert order == ["preview", "question"]

    asyncio.run(run())


def test_a_server_that_is_killed_frees_its_turns(place: str, servers: list[Turns]) -> None:
    code = (
        "import sys\nfrom discreet.serve.accounts import slots_at\n"
        "slots = slots_at(sys.argv[1])\nprint(slots.take('ana', shared=False), flush=True)\nsys.stdin.read()"
    )
    command = [sys.executable, "-c", code, place]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == "True\n"
        assert not asyncio.run(servers[0].free("ana"))
        server.kill()
    # The system frees it, and no lease has to end: PostgreSQL when it sees the socket close.
    assert any(asyncio.run(servers[1].free("ana")) for _ in range(1 if "://" not in place else 2000))
