"""Carry requests to the workers: one at a time for each analyst, once for each idempotency key, and on ticks.

Claims.

* While a question of an analyst runs, no other request of theirs does: a second one would measure how busy the
  machine is. It gets 409 (`AlreadyRunning`), with the time after which to try again.
* What ends with a question changes at its tick (`clock`): the reply leaves, a poll sees it, the next question is
  admitted. Only results whose time depends on public facts alone (`Result.public`) end at once.
* A key is carried out once. The same key and request, meanwhile or later, gets the same reply, also after a
  restart: either it is stored, or the kernel answers from the record or resumes the charge, free.
* Past the deadline the client gets 202 and an address. The question goes on, is charged, recorded and stored.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from discreet.errors import AlreadyRunning, DiscreetError, Fix, from_json
from discreet.serve import problems
from discreet.serve.accounts import Actor, Replies, Reply
from discreet.serve.accounts.replies import RUNNING
from discreet.serve.clock import last_tick, tick, until_tick
from discreet.serve.logs import Log
from discreet.serve.metrics import Metrics
from discreet.serve.tasks import TASKS
from discreet.serve.vaults import Vaults
from discreet.serve.workers import Pool, Task, WorkerLost


@dataclass(frozen=True)
class Pools:
    """The workers: for what reads rows, for what reads public facts alone, and for jobs."""

    private: Pool
    public: Pool
    jobs: Pool


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
        *,
        quantum: float,
        deadline: float,
        metrics: Metrics,
        log: Log,
    ):
        """Take the parts."""
        self._pools, self._replies, self._vaults = pools, replies, vaults
        self._quantum, self._deadline = quantum, deadline
        self._metrics, self._log = metrics, log
        self._running: dict[str, _Running] = {}

    def expect_alone(self, name: str) -> None:
        """Refuse a request of an analyst whose question runs."""
        if name in self._running:
            self._metrics.count("refused_beside_question")
            raise AlreadyRunning(
                "A question of yours is running, and nothing else is answered meanwhile.",
                fix=[
                    Fix("Retry-After", self._quantum, note="seconds"),
                    "Wait for its answer, then send this again.",
                ],
            )

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
        """
        place = self._vaults.place_for(actor, vault) if vault else ""
        task = Task(verb, place, actor.name, purpose, arguments)
        print_ = fingerprint(verb, vault, purpose, arguments)
        if TASKS[verb].public:
            self.expect_alone(actor.name)
            status, body, _ = await self._computed(self._pools.public, task)
            self._metrics.count("questions", verb=verb, status=str(status))
            return Reply("", actor.name, key, print_, verb, vault, self._replies.server, status, body)
        running = self._running.get(actor.name)
        if running is None or not key or (running.key, running.fingerprint) != (key, print_):
            self.expect_alone(actor.name)
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
        """Return a reply to its owner; while the question runs, a quantum after the request."""
        begun = asyncio.get_running_loop().time()
        running = self._running.get(actor.name)
        found = await asyncio.to_thread(self._replies.find, actor.name, id_)
        if running is not None and running.id == id_:
            await until_tick(begun, self._quantum)
            if self._running.get(actor.name) is running:
                return replace(found, status=RUNNING, body=None)
            found = await asyncio.to_thread(self._replies.find, actor.name, id_)
        if found.status == RUNNING and found.server != self._replies.server:
            problem = problems.lost() if TASKS[found.verb].resumable else problems.stopped()
            return replace(found, status=problem.status, body=msgspec.to_builtins(problem))
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
        """End a question of the account, and return its reply: that it was cancelled, or what it had become."""
        running = self._running.get(actor.name)
        if running is None or running.id != id_ or running.task is None:
            return await self.poll(actor, id_)
        running.cancelled = True
        if running.computing is not None:
            running.computing.cancel()
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

    async def _carried_out(self, actor: Actor, vault: str, task: Task, running: _Running) -> Reply:
        """Look up, accept, compute, store, and wait for the tick: all that is seen of a question ends here."""
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
            running.accepted.set()
            if self._running.get(actor.name) is running:
                del self._running[actor.name]

    async def _accepted(self, actor: Actor, vault: str, task: Task, running: _Running) -> tuple[Reply, bool]:
        """Write the row of a question before it starts."""
        made, new = await asyncio.to_thread(
            self._replies.accept, actor.name, running.key, running.fingerprint, task.verb, vault, _now()
        )
        running.id = made.id
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
        if running is not None:
            running.computing = computing
            if running.cancelled:
                computing.cancel()
        try:
            found = await computing
        except asyncio.CancelledError:
            if running is None or not running.cancelled:
                raise  # the server stops
            return *_problem(problems.cancelled()), False
        except WorkerLost:
            return *_problem(problems.lost()), False
        if "absent" in found:
            return 0, None, False
        if "body" in found:
            return 200, found["body"], found["public"]
        if "error" in found:
            return *_problem(problems.problem_of(found["error"], found.get("left"))), found["public"]
        self._log.note("failed", verb=task.verb, kind=found["failed"], line=found["line"])
        return *_problem(problems.failure()), False


def fingerprint(verb: str, vault: str, purpose: str | None, arguments: dict[str, Any]) -> str:
    """Return the hash by which a request is known in the store and in the log.

    >>> fingerprint("ask", "trips", None, {"sql": "select 1"})[:8]
    '44c74a90'
    """
    text = json.dumps([verb, vault, purpose, arguments], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def error_of(reply: Reply) -> DiscreetError | None:
    """Return the error of a reply, for doors that do not speak HTTP; None for an answer."""
    return None if reply.status in (RUNNING, 200) else from_json(reply.body)


def _problem(problem: problems.Problem) -> tuple[int, Any]:
    return problem.status, msgspec.to_builtins(problem)


def _now() -> int:
    return int(time.time())
