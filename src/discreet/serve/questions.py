"""Carry requests to the workers: one at a time for each analyst, once for each idempotency key, and on ticks.

Claims.

* While a question of an analyst runs, no other request of theirs does, at this server or another one (`Turns`): a
  second one would measure how busy the machine is. It gets 409 (`AlreadyRunning`), a quantum after it arrived:
  by then a question that began before it has ended, or passed a tick, so that its time shows nothing.
* What ends with a question changes at its tick (`clock`): the reply leaves, a poll sees it, the next question is
  admitted. Only results whose time depends on public facts alone (`Result.public`) end at once. A question that is
  cancelled while it computes ends at a tick too: whether it was recorded by then tells how long it took.
* A key is carried out once. The same key and request, meanwhile or later, gets the same reply, also after a
  restart: either it is stored, or the kernel answers from the record or resumes the charge, free.
* Past the deadline the client gets 202 and an address. The question goes on, is charged, recorded and stored.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from discreet.errors import AlreadyRunning, DatabaseUnavailable, NotFound
from discreet.serve import problems
from discreet.serve.accounts import Actor, Replies, Reply, Turns
from discreet.serve.accounts.replies import RUNNING
from discreet.serve.clock import last_tick, tick, until_tick
from discreet.serve.logs import Log
from discreet.serve.metrics import Metrics
from discreet.serve.tasks import TASKS
from discreet.serve.vaults import Vaults
from discreet.serve.workers import Pool, Task, WorkerLost


@dataclass(frozen=True)
class Pools:
    """The workers: for what reads rows, for what reads public facts alone, for jobs, and for uploads."""

    private: Pool
    public: Pool
    jobs: Pool
    uploads: Pool


@dataclass
class _Running:
    """The question of an analyst that runs."""

    key: str
    fingerprint: str
    begun: float
    id: str = ""
    task: asyncio.Task[Reply] | None = None
    computing: asyncio.Future[dict[str, Any]] | None = None
    cancelled: bool = False
    done: Callable[[Any], object] | None = None
    told: list[tuple[float, str, float]] = field(default_factory=list)
    accepted: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True)
class Progress:
    """How far a job was at its last tick."""

    words: str
    share: float


class Questions:
    """The questions of a server process.

    Args:
        pools: The workers.
        replies: The durable replies.
        vaults: The registry of vaults.
        turns: One question of an account at a time, in all servers.
        quantum: The quantum of the clock, in seconds.
        deadline: The longest that a client waits, in seconds.
        metrics: Counts what happens.
        log: Notes what happens.
    """

    def __init__(
        self,
        pools: Pools,
        replies: Replies,
        vaults: Vaults,
        turns: Turns,
        *,
        quantum: float,
        deadline: float,
        metrics: Metrics,
        log: Log,
    ):
        """Take the parts."""
        self._pools, self._replies, self._vaults = pools, replies, vaults
        self._turns, self._quantum, self._deadline = turns, quantum, deadline
        self._metrics, self._log = metrics, log
        self._running: dict[str, _Running] = {}

    async def expect_alone(self, name: str) -> None:
        """Refuse a request of an analyst whose question runs, at this server or another one, after a quantum."""
        async with self._late_refusals():
            self._expect_none_here(name)
            if not await self._turns.free(name):
                raise self._turns.refusal()

    def _expect_none_here(self, name: str) -> None:
        if name in self._running:
            raise self._turns.refusal()

    @asynccontextmanager
    async def _late_refusals(self) -> AsyncIterator[None]:
        """Let a refusal beside a question leave on a tick: its speed would show how busy the machine is."""
        begun = asyncio.get_running_loop().time()
        try:
            yield
        except AlreadyRunning:
            self._metrics.count("refused_beside_question")
            await until_tick(begun, self._quantum)
            raise

    async def run(
        self,
        actor: Actor,
        vault: str,
        verb: str,
        arguments: dict[str, Any],
        *,
        purpose: str | None = None,
        key: str = "",
        done: Callable[[Any], object] | None = None,
        seconds: float | None = None,
    ) -> Reply:
        """Carry out a verb of the workers, and return its reply; `status` is `RUNNING` past the deadline.

        Args:
            actor: Who asks. Rights are checked before.
            vault: The name of the vault.
            verb: One of `tasks.TASKS`.
            arguments: The arguments of the verb, as JSON.
            purpose: The purpose that is charged as well.
            key: The idempotency key of the client; a new one by default.
            done: Called in a thread with the answer once there is one, before it is stored.
            seconds: It is ended after so many seconds of a worker; never by default.
        """
        place = self._vaults.place_for(actor, vault) if vault else ""
        task = Task(verb, place, actor.name, purpose, arguments, seconds=seconds)
        async with self._late_refusals():
            return await self._run(actor, vault, task, key, done)

    async def _run(
        self, actor: Actor, vault: str, task: Task, key: str, done: Callable[[Any], object] | None
    ) -> Reply:
        verb, print_ = task.verb, fingerprint(task.verb, vault, task.purpose, task.arguments)
        if TASKS[verb].public:
            self._expect_none_here(actor.name)
            async with self._turns.public(actor.name):
                pool = self._pools.uploads if TASKS[verb].upload else self._pools.public
                status, body, _ = await self._computed(pool, task)
            self._metrics.count("questions", verb=verb, status=str(status))
            return Reply("", actor.name, key, print_, verb, vault, self._replies.server, status, body)
        running = self._running.get(actor.name)
        if running is None or not key or (running.key, running.fingerprint) != (key, print_):
            self._expect_none_here(actor.name)
            running = self._running[actor.name] = _Running(key, print_, asyncio.get_running_loop().time())
            running.done = done
            running.task = asyncio.create_task(self._carried_out(actor, vault, task, running))
        assert running.task is not None
        if TASKS[verb].job:
            await running.accepted.wait()
        else:
            left = self._deadline - (asyncio.get_running_loop().time() - running.begun)
            await asyncio.wait({running.task}, timeout=max(left, 0))
            await running.accepted.wait()
        if running.task.done():
            return running.task.result()
        return Reply(running.id, actor.name, key, print_, verb, vault, self._replies.server)

    async def poll(self, actor: Actor, id_: str) -> Reply:
        """Return a reply to its owner; while a question of theirs runs, this one or another, after a quantum.

        A login that may not use the vault, because it has another scope or the grant was taken back, finds none.
        """
        begun = asyncio.get_running_loop().time()
        if actor.name in self._running or not await self._turns.free(actor.name):
            await until_tick(begun, self._quantum)
        # What ends with a question is stored before its turn ends. So the turn is looked at first, then the row.
        running = self._running.get(actor.name)
        elsewhere = running is None and not await self._turns.free(actor.name)
        found = await self._found(actor, id_)
        another = found.server != self._replies.server
        # A question of theirs at another server may be this one: it shows when its turn ends, at its tick.
        if (running is not None and running.id == id_) or (elsewhere and another):
            return replace(found, status=RUNNING, body=None)
        if found.status == RUNNING and another:
            problem = problems.lost() if TASKS[found.verb].resumable else problems.stopped()
            return replace(found, status=problem.status, body=msgspec.to_builtins(problem))
        return found

    async def _found(self, actor: Actor, id_: str) -> Reply:
        """Return the row of a question to a login of its owner that may still use the vault."""
        found = await asyncio.to_thread(self._replies.find, actor.name, id_)
        if found.vault and not actor.may_see(found.vault):
            raise NotFound("There is no such question of yours.", found=id_[:64])
        return found

    def progress(self, actor: Actor, id_: str) -> Progress | None:
        """Return how far a job was at its last tick: 1, 2, 4 … quanta after it began. None if it does not run."""
        running = self._running.get(actor.name)
        if running is None or running.id != id_:
            return None
        elapsed = asyncio.get_running_loop().time() - running.begun
        until = running.begun + last_tick(elapsed, self._quantum)
        seen = [(words, share) for at, words, share in running.told if at <= until]
        return Progress(*seen[-1]) if seen else Progress("waiting", 0.0)

    async def next_tick(self, actor: Actor, id_: str) -> bool:
        """Wait for the next tick of a question, and return whether it still runs."""
        running = self._running.get(actor.name)
        if running is None or running.id != id_ or running.task is None:
            return False
        elapsed = asyncio.get_running_loop().time() - running.begun
        wait = tick(elapsed + 1e-6, self._quantum) - elapsed
        await asyncio.wait({running.task}, timeout=wait)
        return not running.task.done()

    async def cancel(self, actor: Actor, id_: str) -> Reply:
        """End a question of the account, and return its reply: that it was cancelled, or what it had become.

        A question at another server ends when that server looks, a quantum later at most, and at its tick.
        """
        running = self._running.get(actor.name)
        if running is None or running.id != id_ or running.task is None:
            found = await self.poll(actor, id_)
            if found.status == RUNNING:
                await asyncio.to_thread(self._replies.cancel, id_, _now())
                until = asyncio.get_running_loop().time() + self._deadline
                while found.status == RUNNING and asyncio.get_running_loop().time() < until:
                    found = await self.poll(actor, id_)  # which waits a quantum
            return found
        await self._found(actor, id_)
        await self._end(running)
        await asyncio.wait({running.task})
        return running.task.result()

    async def drain(self, seconds: float) -> None:
        """Wait until the questions that run have ended, or so many seconds."""
        tasks = [running.task for running in self._running.values() if running.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def close(self) -> None:
        """Give the turns of all accounts back."""
        self._turns.close()

    async def _carried_out(self, actor: Actor, vault: str, task: Task, running: _Running) -> Reply:
        """Carry out a question in its turn. All that is seen of it ends here, at its tick."""
        try:
            async with self._turns.alone(actor.name):
                return await self._in_turn(actor, vault, task, running)
        finally:
            running.accepted.set()
            if self._running.get(actor.name) is running:
                del self._running[actor.name]

    async def _in_turn(self, actor: Actor, vault: str, task: Task, running: _Running) -> Reply:
        """Look up, accept, compute, store, and wait for the tick."""
        public, verb = True, TASKS[task.verb]
        made: Reply | None = None
        try:
            if running.key:  # what a key was replied before comes first
                made, new = await self._accepted(actor, vault, task, running)
                if made.status != RUNNING:
                    return made
                if not new and not verb.resumable:
                    return await self._ended(made, *_problem(problems.stopped()), keep=True)
            if verb.recorded is not None:
                status, body, found = await self._computed(self._pools.public, replace(task, recorded=True))
                if found:  # recorded, or refused by its text: it needs no row of its own without a key
                    made = made or Reply("", actor.name, "", running.fingerprint, task.verb, vault, "")
                    return await self._ended(made, status, body, keep=bool(made.id))
            if made is None:
                made, _ = await self._accepted(actor, vault, task, running)
            public = False
            pool = self._pools.jobs if verb.job else self._pools.private
            status, body, public = await self._computed(pool, task, running)
            if status == 200 and running.done is not None:
                await asyncio.to_thread(running.done, body)
            # What is not an answer is forgotten, so that the same key starts it again.
            return await self._ended(made, status, body, keep=status != 503 or not verb.resumable)
        finally:
            if not public:
                await until_tick(running.begun, self._quantum)

    async def _accepted(self, actor: Actor, vault: str, task: Task, running: _Running) -> tuple[Reply, bool]:
        """Write the row of a question before it starts."""
        made, new = await asyncio.to_thread(
            self._replies.accept, actor.name, running.key, running.fingerprint, task.verb, vault, _now()
        )
        running.id = made.id
        if made.status == RUNNING:  # a reply that was stored before comes with the end of the turn
            running.accepted.set()
        self._log.note("accepted", analyst=actor.name, verb=task.verb, vault=vault, id=made.id)
        return made, new

    async def _ended(self, reply: Reply, status: int, body: Any, *, keep: bool) -> Reply:
        """Store a reply, or forget its row; note it."""
        if keep:
            await asyncio.to_thread(self._replies.complete, reply.id, status, body)
        elif reply.id:
            await asyncio.to_thread(self._replies.forget, reply.id)
        self._metrics.count("questions", verb=reply.verb, status=str(status))
        self._log.note("question", analyst=reply.owner, verb=reply.verb, vault=reply.vault, status=status,
                       fingerprint=reply.fingerprint[:16], id=reply.id)  # fmt: skip
        return replace(reply, status=status, body=body)

    async def _computed(self, pool: Pool, task: Task, running: _Running | None = None) -> tuple[int, Any, bool]:
        """Return status, body, and whether the time depends on public facts alone; (0, None, False) if absent."""
        loop = asyncio.get_running_loop()

        def tell(words: str, share: float) -> None:  # called in the thread that reads from the worker
            if running is not None:
                if not running.told:
                    self._log.note("computing", verb=task.verb, id=running.id)
                running.told.append((loop.time(), words, share))

        computing = asyncio.ensure_future(pool.run(task, tell))
        watching: asyncio.Future[None] | None = None
        if running is not None:
            running.computing = computing
            if running.cancelled:
                computing.cancel()
            watching = asyncio.ensure_future(self._cancelled_elsewhere(running))
        try:
            found = await computing
        except asyncio.CancelledError:
            if running is None or not running.cancelled:
                raise  # the server stops
            return *_problem(problems.cancelled()), True  # it ended at a tick, or before it read a row
        except TimeoutError:
            return *_problem(problems.too_long(task.seconds or 0)), False
        except WorkerLost:
            return *_problem(problems.lost()), False
        finally:
            if watching is not None:
                watching.cancel()
        if "absent" in found:
            return 0, None, False
        if "body" in found:
            return 200, found["body"], found["public"]
        if "error" in found:
            return *_problem(problems.problem_of(found["error"], found.get("left"))), found["public"]
        self._log.note("failed", verb=task.verb, kind=found["failed"], line=found["line"])
        return *_problem(problems.failure()), False

    async def _cancelled_elsewhere(self, running: _Running) -> None:
        """Look every quantum whether another server was asked to cancel a question that computes here."""
        while running.computing is not None and not running.cancelled:
            await asyncio.sleep(self._quantum)
            with suppress(DatabaseUnavailable):
                if await asyncio.to_thread(self._replies.cancelled, running.id):
                    await self._end(running)

    async def _end(self, running: _Running) -> None:
        """End a question that was cancelled: at its tick if it computes, at once if it waits for a worker."""
        if running.told:
            await until_tick(running.begun, self._quantum)
        running.cancelled = True
        if running.computing is not None:
            running.computing.cancel()


def fingerprint(verb: str, vault: str, purpose: str | None, arguments: dict[str, Any]) -> str:
    """Return the hash by which a request is known in the store and in the log.

    >>> fingerprint("ask", "trips", None, {"sql": "select 1"})[:8]
    '44c74a90'
    """
    text = json.dumps([verb, vault, purpose, arguments], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _problem(problem: problems.Problem) -> tuple[int, Any]:
    return problem.status, msgspec.to_builtins(problem)


def _now() -> int:
    return int(time.time())
