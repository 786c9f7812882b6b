"""Attack a source of randomness: look for a second holder of the same stream.

Noise hides a person only while it is secret. A generator in user space has a state, and every holder of the state
knows the noise: a forked worker, a pickle sent to another machine, a copy kept in a checkpoint, the next run with
the same seed. Two holders of one stream release the same noise twice, and the difference of their answers is the
difference of the data.

Three attempts, each of which compares streams of draws:

* the stream itself, for a period of at most `count` draws;
* parent, child and a second child, forked after a first draw, when caches and buffers are full;
* copies, deep copies and pickles of the generator, if the generator is given.

Two streams count as the same if they agree in their first `count`/4 draws, because a cache that is shared for a
while is shared noise. So `draw` must return enough bits: with 64 bits or more in `count`/4 draws, a false alarm
has probability below 2⁻⁵⁸, and the verdict needs no statistics. This attack refutes, it does not prove: a stream
that passes may still be predictable.
"""

from __future__ import annotations

import copy
import json
import math
import os
import pickle
import select
import signal
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations
from typing import Any, TypeAlias

from discreet.audit.attacks.clopper_pearson import upper
from discreet.audit.attacks.outcomes import outcome
from discreet.audit.report.verdict import Verdict
from discreet.errors import DiscreetError
from discreet.rational import whole

Stream: TypeAlias = list[str]
"""Draws, as an observer sees them."""

_PATIENCE = 30.0  # seconds to wait for a child, which may hang on an inherited lock


def attack(
    draw: Callable[..., Any], *, count: int = 16, generator: object = None, name: str = "the generator"
) -> Verdict:
    """Look for a second holder of the stream that `draw()` takes from: a repetition, a fork, a copy.

    Args:
        draw: Returns one draw; called as `draw(generator)` if a generator is given.
        count: The number of draws of each stream, 4 or more.
        generator: The generator; if it is given, copies and pickles of it are tried as well.
        name: The name of the source in the verdict.

    >>> from discreet import noise
    >>> attack(lambda: noise.uniform_below(2**64)).caught
    False
    >>> attack(lambda: 4).words
    'the generator repeats itself after 1 draw.'
    """
    started = time.perf_counter()
    count = whole(count, "count", least=4)
    take = draw if generator is None else lambda: draw(generator)
    found: list[str] = []
    tried = [*_repetition(take, count, found)]
    if not found:  # a stream that repeats itself equals all its copies anyway
        tried += _forks(take, count, found)
        tried += _copies(draw, generator, count, found) if generator is not None else ()
    words = "; ".join(found) if found else f"has no second holder: tried {', '.join(tried)}"
    return Verdict(
        attack="randomness",
        caught=bool(found),
        words=f"{name} {words}.",
        seconds=time.perf_counter() - started,
    )


def enough(draw: Callable[[], Any], *, sample: int = 512, most: int = 8192) -> int | None:
    """Return a `count` for `attack` at which two streams agree by chance once in 2⁶⁴, or None beyond `most`.

    The most frequent outcome of a sample bounds how often two draws agree, at alpha = 10⁻⁹.

    >>> from discreet import noise
    >>> enough(lambda: noise.uniform_below(2**64)), enough(lambda: 4)
    (60, None)
    """
    commonest = max(Counter(_stream(draw, sample)).values())
    bits = -math.log2(float(upper(commonest, sample, 1e-9)))
    count = 4 * math.ceil(64 / bits) if bits > 0 else most + 1
    return max(16, count) if count <= most else None


def _repetition(take: Callable[[], Any], count: int, found: list[str]) -> Iterator[str]:
    drawn = _stream(take, 2 * count)
    for period in range(1, count + 1):
        if drawn[period:] == drawn[:-period]:
            found.append(f"repeats itself after {_draws(period)}")
            return
    yield "a repetition"


def _forks(take: Callable[[], Any], count: int, found: list[str]) -> Iterator[str]:
    try:
        family = {
            "one child": in_child(lambda: _stream(take, count)),
            "another child": in_child(lambda: _stream(take, count)),
            "their parent": _stream(take, count),
        }
    except ChildFailed as failure:
        yield f"a fork, without success ({str(failure).removesuffix('.')})"
        return
    yield "a fork"
    for (one, ones), (other, others) in combinations(family.items(), 2):
        if same := _shared(ones, others):
            found.append(f"is shared after a fork: {one} and {other} have the same first {_draws(same)}")
            return


def _copies(draw: Callable[..., Any], generator: object, count: int, found: list[str]) -> Iterator[str]:
    shared: list[str] = []
    for way, duplicate in DUPLICATES.items():
        try:
            twin = duplicate(generator)
        except Exception:
            yield f"{way}, which is refused"
            continue
        yield way
        streams = [_stream(partial(draw, holder), count) for holder in (generator, twin)]
        if _shared(*streams):
            shared.append(way)
    if shared:
        found.append(f"shares its stream with {', '.join(shared)} of it")


DUPLICATES: dict[str, Callable[[Any], Any]] = {
    "a copy": copy.copy,
    "a deep copy": copy.deepcopy,
    "a pickle": lambda original: pickle.loads(pickle.dumps(original)),
}
"""The ways in which Python duplicates an object, often silently."""


def _stream(take: Callable[[], Any], count: int) -> Stream:
    return [repr(outcome(take())) for _ in range(count)]


def _shared(one: Stream, other: Stream) -> int:
    """Return how many first draws agree, if they are too many for chance; else 0."""
    agree = next((i for i, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1]), len(one))
    return agree if agree >= max(1, len(one) // 4) else 0


def _draws(count: int) -> str:
    return f"{count} draw{'s' if count > 1 else ''}"


# -- children -----------------------------------------------------------------------------------------------------


class ChildFailed(DiscreetError):
    """A forked child that raised, died or did not answer in time."""


def in_child(work: Callable[[], Any]) -> Any:
    """Return what `work` returns in a forked child, as JSON. The child has ended afterwards.

    >>> in_child(lambda: [1, 2])
    [1, 2]
    """
    if not hasattr(os, "fork"):
        raise ChildFailed("This system has no fork.")
    receive, send = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 and later warn that other threads may hold locks: a child that waits for one is killed.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _report(work, send)
    os.close(send)
    sent = None
    try:
        sent = _received(receive)
    finally:
        os.close(receive)
        if sent is None:
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    answer = json.loads(sent or '{"failed": "it died, or gave no answer in time"}')
    if "failed" in answer:
        raise ChildFailed("The forked process failed.", found=answer["failed"])
    return answer["result"]


def _report(work: Callable[[], Any], send: int) -> None:
    """Send the result to the parent and end at once: cleaning up is the parent's task."""
    try:
        try:
            message = json.dumps({"result": work()})
        except BaseException as error:
            message = json.dumps({"failed": f"{type(error).__name__}: {error}"})
        with open(send, "wb") as pipe:
            pipe.write(message.encode())
    finally:
        os._exit(0)


def _received(receive: int) -> bytes | None:
    """Return all that is sent until the pipe is closed, or None if that takes too long."""
    parts: list[bytes] = []
    deadline = time.monotonic() + _PATIENCE
    while select.select([receive], [], [], max(0.0, deadline - time.monotonic()))[0]:
        part = os.read(receive, 1 << 16)
        if not part:
            return b"".join(parts)
        parts.append(part)
    return None
