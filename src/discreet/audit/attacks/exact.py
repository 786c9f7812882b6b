"""Run the exact attack: enumerate all draws that a mechanism can make, and add up what an observer sees.

The code itself is run, once for every sequence of draws, the likeliest first, with `noise.testing.scripted`
deciding each draw; the laws of the draws are known (`draw_laws`), and each is tested by itself in tests/noise. The
result is the law of the answers on one table: for every outcome a certified interval around its probability, and a
bound on the mass that was not explored. The laws on two neighbours are compared with the claim (`comparison`). So
a claim that is wrong by more than what was not explored is refuted with certainty: there are no statistics. An
attack that leaves too much unexplored, and has refuted nothing, is undecided. Assumptions: all randomness comes
from `discreet.noise`, in the thread that runs, and the code does nothing else that varies between runs. Both are
checked: a run that asks for other draws than an earlier one is refused, and so is code whose likeliest runs,
repeated, show different outcomes.
"""

from __future__ import annotations

import copy
import heapq
import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from typing import Any, TypeAlias

from discreet.audit.attacks.comparison import Law, compare, hockey_stick
from discreet.audit.attacks.draw_laws import ONE, PRECISION, Option, options
from discreet.audit.attacks.outcomes import observed
from discreet.audit.inputs.subject import Subject
from discreet.audit.report.verdict import Verdict
from discreet.errors import NotEnumerable
from discreet.noise.certified_exp import Interval, times
from discreet.noise.testing import Asked, scripted
from discreet.rational import Rational, positive

__all__ = ["Law", "attack", "hockey_stick", "law"]

_REPEATS, _PATHS = 48, 32  # repeated runs of the likeliest path, and of the next ones: all must agree

Path: TypeAlias = tuple[int, ...]
"""The index of the option that was taken at each draw."""


class _Stopped(BaseException):
    """Draws that cannot be enumerated. Not an Exception: audited code must not catch it."""


def law(run: Callable[[], Any], *, unexplored: Rational = "1e-5", most: int = 100_000) -> Law:
    """Return the law of what `run()` shows, except for a mass of `unexplored`, or after `most` runs.

    >>> from discreet import noise
    >>> noisy = law(lambda: 3 + noise.discrete_laplace("1/2"))
    >>> low, high = noisy.chance(3)
    >>> low <= 0.7615941559557649 <= high  # tanh 1
    True
    """
    return _explored(lambda _: run(), None, int(positive(unexplored, "unexplored") * ONE), most)


def _explored(release: Callable[[Any], Any], data: Any, rest: int, most: int) -> Law:
    chances: dict[Hashable, Interval] = {}
    seen: dict[Path, Asked] = {}
    missing = ONE
    first: list[tuple[Path, Hashable]] = []
    # The likeliest come first: the probability of a prefix bounds that of all its continuations.
    waiting: list[tuple[int, Path]] = [(-ONE, ())]
    for _ in range(most):
        if missing <= rest or not waiting:
            break
        _, start = heapq.heappop(waiting)
        walk = _Walk(start, seen)
        answer = walk.run(release, data)
        if len(first) < _PATHS:
            first.append((start, answer))
        low, high = chances.get(answer, (0, 0))
        chances[answer] = low + walk.chance[0], high + walk.chance[1]
        missing -= walk.chance[0]
        for branch in walk.branches():
            heapq.heappush(waiting, branch)
    for path, answer in [*first, *[first[0]] * _REPEATS] if first else ():
        if _Walk(path, seen).run(release, data) != answer:
            raise _not_enumerable("The code shows another outcome in another run with the same draws.")
    return Law(chances, missing)


def _not_enumerable(problem: str) -> NotEnumerable:
    return NotEnumerable(
        problem,
        fix=[
            "The exact attack needs code whose only randomness is discreet.noise, drawn in the thread that runs.",
            "For other code use audit.lower_bound, which samples releases.",
        ],
    )


def _fresh(data: Any) -> Any:
    """Return a copy for one run: code that changes its data must not change the next run."""
    try:
        return copy.deepcopy(data)
    except TypeError:  # sealed values refuse to be copied, and cannot be changed
        return data


class _Walk:
    """One run: a given start of the path of draws, and after it the likeliest option of each draw."""

    def __init__(self, start: Path, seen: dict[Path, Asked]):
        self._start, self._seen = start, seen
        self._path: list[int] = []
        self._chances: list[Interval] = [(ONE, ONE)]
        self._known: list[tuple[Option, ...]] = []
        self._stopped: NotEnumerable | None = None

    @property
    def chance(self) -> Interval:
        return self._chances[-1]

    def run(self, release: Callable[[Any], Any], data: Any) -> Hashable:
        """Return what an observer sees of one run, on its own copy of the data."""
        try:
            with scripted(self.choose):
                answer = observed(release, _fresh(data))
        except _Stopped:
            answer = None
        if not self._stopped and len(self._path) < len(self._start):
            before = len(self._start)
            self._stopped = _not_enumerable(
                f"The code makes {len(self._path)} draws where it made {before} before."
            )
        if self._stopped:  # also if the code caught the exception that stopped it
            raise self._stopped
        return answer

    def choose(self, asked: Asked) -> int:
        depth, path = len(self._path), tuple(self._path)
        if self._seen.setdefault(path, asked) != asked:
            one = self._seen[path]
            raise self._stop(_not_enumerable(f"The code asks for {one} in one run and for {asked} in another."))
        try:
            known = options(asked)
        except NotEnumerable as error:
            raise self._stop(error) from None
        choice = self._start[depth] if depth < len(self._start) else 0
        value, chance = known[choice]
        self._path.append(choice)
        self._chances.append(times(self._chances[-1], chance, PRECISION))
        self._known.append(known)
        return value

    def _stop(self, reason: NotEnumerable) -> _Stopped:
        self._stopped = reason.with_traceback(None)
        return _Stopped()

    def branches(self) -> Iterator[tuple[int, Path]]:
        """Yield the next option at the last draw of the start, and at every draw after it."""
        for depth in range(max(len(self._start) - 1, 0), len(self._path)):
            known, option = self._known[depth], self._path[depth] + 1
            if option < len(known):
                chance = times(self._chances[depth], known[option][1], PRECISION)[1]
                yield -chance, (*self._path[:depth], option)


def attack(
    subject: Subject, *, unexplored: Rational = "1e-5", most: int = 100_000, enough: Rational | None = None
) -> Verdict:
    """Compare the declared loss with the exact laws on every pair of neighbours, both ways.

    Args:
        subject: What is attacked.
        unexplored: The mass at which the enumeration ends.
        most: The number of runs on each input at which it ends as well.
        enough: An enumeration that leaves more than this, and has refuted nothing, is undecided; by default
            `unexplored`.

    >>> from discreet import noise, privacy
    >>> half = Subject(
    ...     name="half the noise",
    ...     release=lambda count: count + noise.discrete_laplace("1/2"),
    ...     loss=privacy.Pure(1),
    ...     pairs=[(0, 1)],
    ... )
    >>> verdict = attack(half)
    >>> verdict.caught, round(verdict.found, 2)
    (True, 2.0)
    """
    start = time.process_time()
    rest = int(positive(unexplored, "unexplored") * ONE)
    left = rest if enough is None else int(positive(enough, "enough") * ONE)
    verdict = compare(subject, lambda data: _explored(subject.release, data, rest, most), rest=left)
    return replace(verdict, seconds=time.process_time() - start)
