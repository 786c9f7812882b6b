"""Run the exact attack in pieces: enumerate the noise that is shared, and add up all other noise over intervals.

A comparison with noise is one of two: "below" or "above". So given the noise of the threshold, the thousands of
values that the noise of a query may take are two pieces, and the queries are independent of each other. Here the
draws that a caller names as pivots (the noise of a threshold, the noise of one candidate) are enumerated value by
value; every other draw is cut into the ranges within which the code does the same, and the probability of a range
is the sum of its values. The sum over the noise of the threshold is thereby exact to about 2^−60, with a few
thousand runs of the code: an event of probability 10⁻⁷ is seen, which the enumeration of single values
(`attacks.exact`) reaches only after billions of runs.

**How ranges are found.** The code is run with the draw at points of a grid, all later draws being at their middle,
at their lowest and at their highest. Where two neighbouring points differ in the outcome, or in what the code asks
for next, the border between them is found by bisection.

**What is assumed**, beyond what `attacks.exact` assumes: within a range the code does the same whatever the later
draws are. It is checked at corners of the boxes that the ranges form, and at a thousand points inside; code that
fails the check is refused as not enumerable.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable, Container, Hashable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, TypeAlias

from discreet.audit.attacks.comparison import Law, compare
from discreet.audit.attacks.draw_laws import ONE, PRECISION, likeliest, line, options
from discreet.audit.attacks.outcomes import observed
from discreet.audit.inputs.subject import Subject
from discreet.audit.report.verdict import Verdict
from discreet.errors import NotEnumerable
from discreet.noise.certified_exp import Interval, times
from discreet.noise.testing import Asked, scripted

_WIDE = 8  # a draw of at most so many values is enumerated
_SHORT = 16  # of a draw of at most so many values, each is tried
_NEGLIGIBLE = ONE >> 56  # values of a pivot below this probability are left out
_CORNERS, _INSIDE = 96, 1000  # boxes whose corners are checked, and points inside of all of them together
MOST_RUNS = 200_000

Range: TypeAlias = tuple[int, int]
"""The lowest and the highest value of a piece."""

Played: TypeAlias = tuple[tuple[Asked, ...], Hashable]
"""What a run asked for, and what it showed."""


@dataclass(frozen=True, order=True)
class _Box:
    """A start of the draws: a range for each, and bounds on its probability. The likeliest sorts first."""

    order: int
    ranges: tuple[Range, ...]
    chance: Interval = field(compare=False)
    outcome: Hashable = field(compare=False)
    asked: tuple[Asked, ...] = field(compare=False)

    @property
    def depth(self) -> int:
        return len(self.ranges)


def law(run: Callable[[], Any], *, pivots: Container[int] = (0,), most: int = MOST_RUNS) -> Law:
    """Return the law of what `run()` shows, as far as `most` runs come.

    Args:
        run: The code.
        pivots: The places of the draws that are enumerated value by value, counted from 0.
        most: The largest number of runs.

    >>> from discreet import noise
    >>> above = law(lambda: noise.discrete_laplace(3) >= noise.discrete_laplace(3) + 40)
    >>> low, high = above.chance(True)
    >>> 1e-6 < low <= high < 2e-5
    True
    """
    return _Pieces(lambda _: run(), None, pivots, most).law()


def attack(subject: Subject, *, pivots: Container[int] = (0,), most: int = MOST_RUNS) -> Verdict:
    """Compare the declared loss with the laws of whole transcripts on every pair of neighbours, both ways.

    Args:
        subject: What is attacked. Its release should show few different outcomes: a number as "high" or "low".
        pivots: The places of the draws that are enumerated value by value.
        most: The largest number of runs of the code on each table.

    >>> from discreet import noise, privacy
    >>> def run(counts):
    ...     line = noise.discrete_laplace(1)
    ...     return [count + noise.discrete_laplace(1) >= line for count in counts]
    >>> verdict = attack(Subject(name="no end", release=run, loss=privacy.Pure(2), pairs=[((5, 6, 6), (6, 5, 5))]))
    >>> verdict.caught, round(verdict.found, 2)
    (True, 2.3)
    """
    start = time.process_time()

    def laws(data: Any) -> Law:
        return _Pieces(subject.release, data, pivots, most).law()

    verdict = compare(subject, laws, rest=ONE >> 30)
    return replace(verdict, attack="piecewise", seconds=time.process_time() - start)


class _Pieces:
    """The boxes of draws of one release on one table."""

    def __init__(self, release: Callable[[Any], Any], data: Any, pivots: Container[int], most: int):
        self._release, self._data, self._pivots = release, data, pivots
        self._left, self._step = most, 0
        # Where ranges ended for each value of the first draw: the ranges of the next value are near.
        self._known: dict[tuple[int, Asked], dict[int, list[int]]] = {}

    def law(self) -> Law:
        chances: dict[Hashable, Interval] = {}
        missing, whole = ONE, list[_Box]()
        asked, outcome = self.play(())
        waiting = [_Box(-ONE, (), (ONE, ONE), outcome, asked)]
        while waiting and self._left > 0:
            box = heapq.heappop(waiting)
            if len(box.asked) == box.depth:
                low, high = chances.get(box.outcome, (0, 0))
                chances[box.outcome] = low + box.chance[0], high + box.chance[1]
                missing -= box.chance[0]
                whole.append(box)
                continue
            for part in self._parts(box):
                heapq.heappush(waiting, part)
        self._check(whole)
        return Law(chances, missing)

    def _parts(self, box: _Box) -> Iterator[_Box]:
        """Yield the boxes into which the next draw cuts a box."""
        asked = box.asked[box.depth]
        cut = _Cut(self, tuple(_nearest(part) for part in box.ranges), asked)
        for part in self._ranges(cut):
            chance = times(box.chance, line(asked).chance(*part), PRECISION)
            after, outcome = cut.played(_nearest(part))
            yield _Box(-chance[1], (*box.ranges, part), chance, outcome, after)

    def _ranges(self, cut: _Cut) -> list[Range]:
        values = line(cut.asked).values
        if cut.depth in self._pivots or len(values) <= _WIDE:
            return [(value, value) for value, chance in options(cut.asked) if chance[1] >= _NEGLIGIBLE]
        known = self._known.setdefault((cut.depth, cut.asked), {})
        borders = self._guessed(cut, known)
        if borders is None:
            borders = [b for low, high in pairwise(_grid(values)) for b in _borders(cut.does, low, high)]
        if cut.start:
            known[cut.start[0]] = borders
        return list(zip([values[0], *borders], [*(b - 1 for b in borders), values[-1]], strict=True))

    def _guessed(self, cut: _Cut, known: dict[int, list[int]]) -> list[int] | None:
        """Return the borders if they are those for the next value of the first draw, moved by at most 1."""
        values = line(cut.asked).values
        if not cut.start or len(values) <= _SHORT:
            return None
        first = cut.start[0]
        for near in (first, first - 1, first + 1):
            for step in (self._step, 0, 1, -1) if near in known else ():
                borders = [border + step for border in known[near]]
                if self._fits(cut, borders, values):
                    self._step = step
                    return borders
        return None

    def _fits(self, cut: _Cut, borders: list[int], values: tuple[int, ...]) -> bool:
        """Return whether such ranges do the same at both ends and at 0, and differ at each border."""
        # Where the middle of later draws shows every border, there is no need to look at their ends as well.
        does = cut.played if borders else cut.does
        ranges = zip([values[0], *borders], [*(border - 1 for border in borders), values[-1]], strict=True)
        return all(does(border - 1) != does(border) for border in borders) and all(
            does(low) == does(high) and (does(0) == does(low) if low < 0 < high else True) for low, high in ranges
        )

    def play(self, values: tuple[int, ...], rest: int = 0) -> Played:
        """Return what a run asks for and shows, with its first draws given, and the rest middle or extreme."""
        self._left -= 1
        asked: list[Asked] = []

        def choose(one: Asked) -> int:
            asked.append(one)
            if len(asked) <= len(values):
                return values[len(asked) - 1]
            return line(one).values[0 if rest < 0 else -1] if rest else likeliest(one)

        with scripted(choose):
            outcome = observed(self._release, self._data)
        if len(asked) < len(values):
            raise _refused("The code makes fewer draws than before with the same draws.")
        return tuple(asked), outcome

    def _check(self, boxes: list[_Box]) -> None:
        """Run some boxes at their corners and inside, by the law of their draws: all must do the same."""
        some = boxes[:: max(1, len(boxes) // _CORNERS)]
        inside = _INSIDE // max(1, len(some))
        for box in some:
            for values in (*_corners(box), *(_drawn(box, number) for number in range(inside))):
                if self.play(values) != (box.asked, box.outcome):
                    raise _refused("The code does different things within a range of a draw.")


class _Cut:
    """What the code does for each value of one draw, after given ones."""

    def __init__(self, pieces: _Pieces, start: tuple[int, ...], asked: Asked):
        self._pieces, self.start, self.asked = pieces, start, asked
        self._seen: dict[int, tuple[Played, ...]] = {}
        self._middle: dict[int, Played] = {}

    @property
    def depth(self) -> int:
        return len(self.start)

    def does(self, value: int) -> tuple[Played, ...]:
        """Return what is asked for and shown, with all later draws in the middle, lowest and highest."""
        if value not in self._seen:
            values, middle = (*self.start, value), self.played(value)
            last = len(middle[0]) == len(values)
            ends = () if last else tuple(self._pieces.play(values, rest) for rest in (-1, 1))
            self._seen[value] = (middle, *ends)
        return self._seen[value]

    def played(self, value: int) -> Played:
        """Return it with all later draws in the middle."""
        if value not in self._middle:
            self._middle[value] = self._pieces.play((*self.start, value))
        return self._middle[value]


def _grid(values: tuple[int, ...]) -> list[int]:
    """Return points of a line: all of a short one, or else its ends, and powers of two between them."""
    if len(values) <= _SHORT:
        return list(values)
    powers = [sign * 2**k for sign in (-1, 1) for k in range(values[-1].bit_length())]
    return sorted({values[0], values[-1], *(x for x in (0, *powers) if values[0] <= x <= values[-1])})


def _borders(does: Callable[[int], Hashable], low: int, high: int) -> Iterator[int]:
    """Yield every border that bisection finds between two points: the first value of the next range."""
    if does(low) == does(high):
        return
    if high - low == 1:
        yield high
        return
    middle = (low + high) // 2
    yield from _borders(does, low, middle)
    yield from _borders(does, middle, high)


def _corners(box: _Box) -> Iterator[tuple[int, ...]]:
    points = [(low, high, min(max(0, low), high)) for low, high in box.ranges]
    for even, odd in ((0, 0), (1, 1), (0, 1), (1, 0), (2, 2)):
        yield tuple(point[odd if place % 2 else even] for place, point in enumerate(points))


def _drawn(box: _Box, number: int) -> tuple[int, ...]:
    """Return a point of the box, spread evenly by the law of its draws: multiples of roots, modulo 1."""
    return tuple(
        line(asked).within(*part, (number + 1) * math.sqrt(place + 2) % 1)
        for place, (asked, part) in enumerate(zip(box.asked, box.ranges, strict=True))
    )


def _nearest(part: Range) -> int:
    """Return the end of a range that is nearer to 0."""
    return min(part, key=abs)


def _refused(problem: str) -> NotEnumerable:
    return NotEnumerable(
        problem,
        fix=["Name the draws that all others are compared with as pivots.", "Or use the exact attack."],
    )
