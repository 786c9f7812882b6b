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
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from discreet.errors import AlreadyRunning, DiscreetError, Fix
from discreet.serve import problems
from discreet.serve.accounts import Actor, Replies, Reply
from discreet.serve.accounts.replies import RUNNING
from discreet.serve.clock import until_tick
from discreet.serve.logs import Log
from discreet.serve.metrics import Metrics
from discreet.serve.tasks import TASKS
from discreet.serve.vaults import Vaults
from discreet.serve.workers import Pool, Task, WorkerLost


@dataclass
class _Running:
    """The question of an analyst that runs."""

    key: str
    fingerprint: str
    begun: float
    id: str = ""
    task: asyncio.Task[Reply] | None = None
    accepted: asyncio.Event = field(default_factory=asyncio.Event)


class Questions:
    """The questions of a server process.

    Args:
        pool: The workers.
        replies: The durable replies.
        vaults: The registry of vaults.
        quantum: The quantum of the clock, in seconds.
        deadline: The longest that a client waits, in seconds.
        metrics: Counts what happens.
        log: Notes what happens.
    """

    def __init__(
        self,
        pool: Pool,
        replies: Replies,
        vaults: Vaults,
        *,
        quantum: float,
        deadline: float,
        metrics: Metrics,
        log: Log,
    ):
        """Take the parts."""
        self._pool, self._replies, self._vaults = pool, replies, vaults
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
    ) -> Reply:
        """Carry out a verb of the workers, and return its reply; `status` is `RUNNING` past the deadline.

        Args:
            actor: Who asks. Rights are checked before.
            vault: The name of the vault.
            verb: One of `tasks.TASKS`.
            arguments: The arguments of the verb, as JSON.
            purpose: The purpose that is charged as well.
            key: The idempotency key of the client; a new one by default.
        """
        place = self._vaults.place_for(actor, vault)
        print_ = fingerprint(verb, vault, purpose, arguments)
        running = self._running.get(actor.name)
        if running is None or not key or (running.key, running.fingerprint) != (key, print_):
            self.expect_alone(actor.name)
            running = self._running[actor.name] = _Running(key, print_, asyncio.get_running_loop().time())
            task = Task(verb, place, actor.name, purpose, arguments)
            running.task = asyncio.create_task(self._carried_out(actor, vault, task, running))
        await running.accepted.wait()
        assert running.task is not None
        left = self._deadline - (asyncio.get_running_loop().time() - running.begun)
        await asyncio.wait({running.task}, timeout=max(left, 0))
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

    async def drain(self, seconds: float) -> None:
        """Wait until the questions that run have ended, or so many seconds."""
        tasks = [running.task for running in self._running.values() if running.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _carried_out(self, actor: Actor, vault: str, task: Task, running: _Running) -> Reply:
        """Accept, compute, store, and wait for the tick: everything that is seen of a question ends here."""
        public = True
        try:
            reply, new = await asyncio.to_thread(
                self._replies.accept, actor.name, running.key, running.fingerprint, task.verb, vault, _now()
            )
            running.id = reply.id
            running.accepted.set()
            self._log.note("accepted", analyst=actor.name, verb=task.verb, vault=vault, id=reply.id)
            if reply.status != RUNNING:
                return reply
            public = False
            if not new and not TASKS[task.verb].resumable:
                status, body, public = *_problem(problems.stopped()), True
            else:
                status, body, public = await self._computed(task)
            if status == 503 and TASKS[task.verb].resumable:  # not an answer: the same key starts it again
                await asyncio.to_thread(self._replies.forget, reply.id)
            else:
                await asyncio.to_thread(self._replies.complete, reply.id, status, body)
            self._metrics.count("questions", verb=task.verb, status=str(status))
            self._log.note("question", analyst=actor.name, verb=task.verb, vault=vault, status=status,
                           fingerprint=running.fingerprint[:16], id=reply.id)  # fmt: skip
            return replace(reply, status=status, body=body)
        finally:
            if not public:
                await until_tick(running.begun, self._quantum)
            running.accepted.set()
            if self._running.get(actor.name) is running:
                del self._running[actor.name]

    async def _computed(self, task: Task) -> tuple[int, Any, bool]:
        """Return status, body, and whether the time depends on public facts alone."""
        try:
            found = await self._pool.run(task)
        except WorkerLost:
            return *_problem(problems.lost()), False
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
    if reply.status in (RUNNING, 200):
        return None
    from discreet import errors

    kind = getattr(errors, str(reply.body.get("error")), DiscreetError)
    fixes = [
        Fix(one["parameter"], one["value"], one.get("call") or "", one.get("note") or "")
        if "parameter" in one
        else one["text"]
        for one in reply.body.get("fixes", [])
    ]
    found = reply.body.get("found")
    made: DiscreetError = kind(reply.body["detail"], fix=fixes, **({} if found is None else {"found": found}))
    return made


def _problem(problem: problems.Problem) -> tuple[int, Any]:
    return problem.status, msgspec.to_builtins(problem)


def _now() -> int:
    return int(time.time())
