"""Events that tell two laws apart, learned from samples of both.

An event that P makes likely and Q does not shows a loss of ln(P(E)/Q(E)), or of ln((P(E) − δ)/Q(E)) at δ. By
Neyman and Pearson the best events are the upper sets {s ≥ t} of the likelihood ratio. Nobody knows the ratio, so
many *scores* s stand for it, each learned from one part of the samples; another part chooses the score, the
threshold, the side of it and the direction (P against Q, or Q against P) that promise most. Nothing here needs to
be right for a bound to hold: a poor event, tested on fresh samples, shows less, and never too much.

What scores look at, for each kind of answer by itself (a number, a list of three, an exception):

    the answer as a whole        how often P and Q gave just this one
    a number                     the ratio in quantile bins, and both tails
    a double                     the exponent of its finest set bit, NaN, ±∞, −0.0: what rounding gives away
    an integer                   the power of two that divides it
    several numbers              each of them; the least and the greatest; the sum of the log-ratios of all, as if
                                 they were independent; a logistic regression on them and their squares
    answers of several kinds     the ratio of the kinds, alone and together with the ratio within each

Log-ratios of cells are drawn towards 0 by one standard error: a cell that was seen three times must not come
before one that was seen a thousand times. Tested in tests/audit/test_events.py.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.confidence import lower, upper

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_OFTEN = 10  # a value that was seen less often than this has no ratio of its own
_ATOMS = 4096  # most values with a ratio of their own
_KINDS = 8  # kinds of answers that are looked into
_SINGLE = 8  # entries of a vector that get events of their own: those whose laws differ most
_ROWS, _CELLS = 2**19, 2**22  # most outcomes, and most numbers in them, to learn from
_FEATURES = 128  # entries of a vector that the classifier looks at
_WORK = 5e8  # most multiplications of one Newton step
_CLEARLY = 1e-3  # how much more a later score must promise: the first ones are easier to put into words
_SPECIAL = {64: "0", 2000: "0.0", 2001: "-0.0", 2002: "∞", 2003: "-∞", 2004: "NaN"}  # what `finest_bit` names


@dataclass(frozen=True, eq=False)
class Group:
    """Outcomes of one kind: the numbers in each (a row), how often it was seen, and itself if that is not all."""

    numbers: NDArray[Any]
    counts: Integers
    whole: NDArray[np.object_] | None = None

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def total(self) -> int:
        """How many outcomes these are."""
        return int(self.counts.sum())

    def at(self, rows: Any) -> Group:
        """Return some of the rows."""
        return Group(self.numbers[rows], self.counts[rows], None if self.whole is None else self.whole[rows])


Outcomes = Mapping[Hashable, Group]
"""What was seen, sorted by kind."""
Rule = Callable[[Group], Floats]
"""A number for each outcome of a kind; NaN is on neither side of any threshold."""
Code = Callable[[Group], Integers]
"""An integer for each outcome of a kind, without any order that matters."""
Show = Callable[[Group, int, int], str]
"""What a code means, in words, from an outcome (a row of a group) that has it."""


@dataclass(frozen=True, eq=False)
class Score:
    """A number for each outcome, learned from samples, and the thresholds that are worth trying."""

    rules: Mapping[Hashable, Rule]
    words: Callable[[float, bool], str]
    """The event {score ≥ t}, or {score < t}, in words."""
    elsewhere: float = float("nan")
    """The score of kinds without a rule."""
    thresholds: Floats = field(default_factory=lambda: np.zeros(1))

    def above(self, outcomes: Outcomes) -> tuple[Integers, int]:
        """Return how many outcomes are at or above each threshold, and how many are on either side."""
        steps = np.zeros(len(self.thresholds) + 1)
        for scores, counts in self._read(outcomes):
            known = ~np.isnan(scores)
            passed = np.searchsorted(self.thresholds, scores[known], side="right")
            steps += np.bincount(passed, counts[known], len(steps))
        return steps[::-1].cumsum()[::-1][1:].astype(np.int64), int(steps.sum())

    def with_thresholds(self, *samples: Outcomes) -> Score:
        """Return the score with thresholds at quantiles of the samples, close together towards both ends."""
        parts = [part for sample in samples for part in self._read(sample)]
        scores = np.concatenate([s for s, _ in parts])
        counts = np.concatenate([c for _, c in parts])
        known = ~np.isnan(scores)
        return replace(self, thresholds=_quantiles(scores[known], counts[known]))

    def _read(self, outcomes: Outcomes) -> Iterator[tuple[Floats, Integers]]:
        for kind, group in outcomes.items():
            rule = self.rules.get(kind)
            yield (rule(group) if rule else np.full(len(group), self.elsewhere)), group.counts


@dataclass(frozen=True, eq=False)
class Event:
    """One event, and in which direction it is to be tested."""

    score: Score
    at: int
    """Which threshold."""
    above: bool
    """At or above it, or below."""
    swapped: bool
    """Whether it is more likely under Q than under P."""
    choice: int
    """Which of the δ it was chosen for."""

    @property
    def words(self) -> str:
        """The event in words."""
        return self.score.words(float(self.score.thresholds[self.at]), self.above)

    def hits(self, outcomes: Outcomes) -> Integers:
        """Return how many outcomes are in the event, for this and every other threshold of its score."""
        above, known = self.score.above(outcomes)
        return above if self.above else known - above


def choose(
    scores: Iterable[Score], P: Outcomes, Q: Outcomes, *, doubt: float, deltas: Floats, claimed: Floats
) -> Event:
    """Return the event whose Clopper–Pearson bound on these samples exceeds the claim most, at the best of the δ.

    Among thousands of events some look good by luck, most of all rare ones. So the bounds compared here are those
    that would hold for all events at once: the doubt is split over them.
    """
    scores = list(scores)
    doubt /= 4 * sum(len(score.thresholds) for score in scores)
    sizes = [sum(group.total for group in side.values()) for side in (P, Q)]
    best, chosen = -np.inf, None
    for score in scores:
        (above_p, known_p), (above_q, known_q) = score.above(P), score.above(Q)
        for above in (True, False):
            hits = (above_p, above_q) if above else (known_p - above_p, known_q - above_q)
            for swapped in (False, True):
                one, other = (1, 0) if swapped else (0, 1)
                low, high = lower(hits[one], sizes[one], doubt), upper(hits[other], sizes[other], doubt)
                shown = np.log(np.maximum(low[:, None] - deltas, 1e-300) / high[:, None]) - claimed
                at, choice = np.unravel_index(np.argmax(shown), shown.shape)
                if chosen is None or shown[at, choice] > best + _CLEARLY:
                    best, chosen = shown[at, choice], Event(score, int(at), above, swapped, int(choice))
    if chosen is None:
        raise ValueError("there must be a score to choose")
    return chosen


def learned(P: Outcomes, Q: Outcomes) -> list[Score]:
    """Return every score that is worth a try, learned from samples of both laws."""
    counts = {kind: (_total(P.get(kind)), _total(Q.get(kind))) for kind in dict.fromkeys([*P, *Q])}
    P, Q = _thinned(P), _thinned(Q)
    scores = [_by_kind(counts)]
    ratios: dict[Hashable, Rule] = {}
    for kind in sorted(counts, key=lambda kind: -sum(counts[kind]))[:_KINDS]:
        if min(counts[kind]) >= _OFTEN:
            rule, more = _within(kind, P[kind], Q[kind], alone=len(counts) == 1)
            ratios[kind] = rule
            scores += more
    if len(counts) > 1:
        scores.append(_combined(counts, ratios))
    return [score.with_thresholds(P, Q) for score in scores]


def _thinned(outcomes: Outcomes) -> Outcomes:
    """As many outcomes of each kind as one learns from in reasonable time."""
    return {
        kind: group.at(_spread(len(group), max(1, min(_ROWS, _CELLS // max(1, group.numbers.shape[1])))))
        for kind, group in outcomes.items()
    }


# -- kinds ------------------------------------------------------------------------------------------------------


def kind_in_words(kind: Hashable) -> str:
    """Return what kind of answer it is.

    >>> kind_in_words(("float", "float")), kind_in_words("raised ValueError")
    ('a list of 2', 'raised ValueError')
    """
    return f"a list of {len(kind)}" if isinstance(kind, tuple) else str(kind)


def _total(group: Group | None) -> int:
    return group.total if group else 0


def _kind_ratios(counts: Mapping[Hashable, tuple[int, int]]) -> dict[Hashable, float]:
    pairs = np.array(list(counts.values()), dtype=float)
    return dict(zip(counts, _log_ratio(pairs[:, 0], pairs[:, 1]).tolist(), strict=True))


def _by_kind(counts: Mapping[Hashable, tuple[int, int]]) -> Score:
    ratios = _kind_ratios(counts)
    rules = {kind: _constant(ratio) for kind, ratio in ratios.items()}

    def words(threshold: float, above: bool) -> str:
        return "the answer is " + _listed(
            [kind_in_words(k) for k, r in ratios.items() if (r >= threshold) == above]
        )

    return Score(rules, words, elsewhere=0.0)


def _combined(counts: Mapping[Hashable, tuple[int, int]], within: Mapping[Hashable, Rule]) -> Score:
    """The ratio of the kind times the ratio within it: that of the whole answer."""
    ratios = _kind_ratios(counts)
    rules = {kind: _shifted(within[kind], by) if kind in within else _constant(by) for kind, by in ratios.items()}

    def words(threshold: float, above: bool) -> str:
        plain = [
            kind_in_words(kind) for kind, r in ratios.items() if kind not in within and (r >= threshold) == above
        ]
        learned = f"any with a log-ratio, as learned, that is {_side(threshold, above)}"
        return f"the answer is {_listed([*plain, learned])}"

    return Score(rules, words, elsewhere=0.0)


def _constant(value: float) -> Rule:
    return lambda group: np.full(len(group), value)


def _shifted(rule: Rule, by: float) -> Rule:
    return lambda group: rule(group) + by


def _sum(*tables: _Table) -> Rule:
    def rule(group: Group) -> Floats:
        total = np.zeros(len(group))
        for table in tables:
            total += table.rule(group)
        return total

    return rule


# -- within one kind --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Pair:
    """Samples of both laws, of one kind: the rows of both, and how often each law gave a row."""

    rows: Group
    p: Floats
    q: Floats

    def ratios(self, cells: Integers, size: int) -> tuple[Floats, Floats]:
        """Return the log-ratio of each cell, and how often it was seen."""
        p: Floats = np.bincount(cells, self.p, size).astype(np.float64)
        q: Floats = np.bincount(cells, self.q, size).astype(np.float64)
        return _log_ratio(p, q), p + q


@dataclass(frozen=True, eq=False)
class _Table:
    """Cells with a log-ratio each: a rule, its words, and how far apart the laws are on these cells."""

    rule: Rule
    words: Callable[[float, bool], str]
    distance: float = 0.0


def _within(kind: Hashable, P: Group, Q: Group, *, alone: bool) -> tuple[Rule, list[Score]]:
    """Return the log-ratio within a kind, and all scores that look at nothing else."""
    pair = _paired(P, Q)
    width, doubles = pair.rows.numbers.shape[1], pair.rows.numbers.dtype.kind == "f"
    tables: list[_Table] = []
    bins = [_bins(pair, j, _entry(j, width)) for j in range(width)]
    telling = sorted(range(width), key=lambda j: -bins[j].distance)
    for j in telling[:_SINGLE]:
        name = _entry(j, width)
        tables += [_plain(name, _column(j)), bins[j]]
        tables.append(_atoms(pair, _finest(j), _show_finest, f"the finest set bit of {name}"))
        if doubles:
            tables.append(_plain(f"the exponent of the finest set bit of {name}", _column(j, finest_bit)))
            tables.append(_atoms(pair, _span(j), _show_span, f"the finest and the leading bit of {name}"))
    tables.append(_atoms(pair, whole, _show_whole, "the answer"))
    if width > 1:
        fine = [_atoms(pair, _finest(j), _show_finest, "") for j in range(width)]
        tables += [_plain("the least entry", _extreme(np.fmin)), _plain("the greatest entry", _extreme(np.fmax))]
        tables.append(_plain(f"the log-ratio of {width} entries, added up as learned,", _sum(*bins)))
        tables.append(_plain("the log-ratio of all finest set bits, added up as learned,", _sum(*fine)))
        tables.append(
            _plain(
                f"a classifier of {min(width, _FEATURES)} entries, as learned,",
                _classifier(pair, sorted(telling[:_FEATURES])),
            )
        )
    prefix = "" if alone else f"the answer is {kind_in_words(kind)}, and "
    scores = [Score({kind: table.rule}, _prefixed(prefix, table.words)) for table in tables]
    return (_sum(*bins) if width else tables[0].rule), scores


def _paired(P: Group, Q: Group) -> _Pair:
    counts = np.concatenate([P.counts, Q.counts])
    whole_rows = None if P.whole is None or Q.whole is None else np.concatenate([P.whole, Q.whole])
    first = np.arange(len(counts)) < len(P)
    rows = Group(np.concatenate([P.numbers, Q.numbers]), counts, whole_rows)
    return _Pair(rows, np.where(first, counts, 0.0), np.where(first, 0.0, counts))


def _log_ratio(p: Floats, q: Floats) -> Floats:
    """ln of the ratio of the rates of cells, drawn towards 0 by one standard error."""
    ratio = np.log((p + 0.5) / (p.sum() + 0.5)) - np.log((q + 0.5) / (q.sum() + 0.5))
    error = np.sqrt(1 / (p + 0.5) + 1 / (q + 0.5))
    shrunk: Floats = np.sign(ratio) * np.maximum(0, np.abs(ratio) - error)
    return shrunk


def _quantiles(values: NDArray[Any], counts: Integers) -> NDArray[Any]:
    """All values if they are few; else quantiles, in equal steps and, towards both ends, in growing ones."""
    order = np.argsort(values, kind="stable")
    values, ranks = values[order], counts[order].cumsum()
    if len(values) == 0:
        return np.zeros(1)
    new = np.append(True, values[1:] != values[:-1])
    if new.sum() <= 256:
        return np.asarray(values[new])
    total = int(ranks[-1])
    steps = np.append(np.geomspace(_OFTEN, total / 2, 48), np.linspace(0, total / 2, 33))
    wanted = np.unique(np.concatenate([steps, total - steps]))
    places = np.searchsorted(ranks, wanted).clip(max=len(values) - 1)
    return np.unique(values[places])


# -- what to look at --------------------------------------------------------------------------------------------


def whole(group: Group) -> Integers:
    """Return a number for the answer as a whole: equal for equal ones, and different for others, but for luck."""
    if group.whole is not None:
        return np.fromiter(map(hash, group.whole), np.int64, len(group))
    if group.numbers.shape[1] == 1:
        return _bits(group.numbers[:, 0])
    code = np.zeros(len(group), np.uint64)
    for column in group.numbers.T:  # over entries, not over samples
        code = (code ^ _bits(column).view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        code ^= code >> np.uint64(29)
    return code.view(np.int64)


def finest_bit(x: NDArray[Any]) -> Integers:
    """Return the exponent of the finest set bit: the largest e such that x is a multiple of 2^e.

    Doubles that have none get numbers beyond all exponents: 0.0, −0.0, ∞, −∞ and NaN are 2000 to 2004. Integer 0
    is a multiple of 2^64.

    >>> finest_bit(np.array([0.75, 3.0, 0.1, -0.0])), finest_bit(np.array([12, 7, 0]))
    (array([  -2,    0,  -55, 2001]), array([ 2,  0, 64]))
    """
    bits = _bits(x)
    if x.dtype.kind != "f":
        return np.where(bits == 0, 64, _trailing_zeros(bits))
    exponent, mantissa = (bits >> 52) & 0x7FF, bits & (2**52 - 1)
    finest = np.maximum(exponent, 1) - 1075 + _trailing_zeros(np.where(exponent > 0, mantissa | 2**52, mantissa))
    negative = bits < 0
    finest = np.where(x == 0, 2000 + negative, finest)
    return np.where(exponent == 0x7FF, np.where(mantissa > 0, 2004, 2002 + negative), finest)


def _trailing_zeros(bits: Integers) -> Integers:
    return np.frexp(np.abs((bits & -bits).astype(np.float64)))[1].astype(np.int64) - 1


def _bits(column: NDArray[Any]) -> Integers:
    """The bits of a double, so that −0.0 is not 0.0, with one NaN for all; of an integer, itself."""
    if column.dtype.kind != "f":
        return column.astype(np.int64)
    return np.where(np.isnan(column), np.nan, column).view(np.int64)


def _column(j: int, read: Callable[[NDArray[Any]], NDArray[Any]] = np.asarray) -> Rule:
    return lambda group: read(group.numbers[:, j]).astype(np.float64)


def _finest(j: int) -> Code:
    return lambda group: finest_bit(group.numbers[:, j])


def _span(j: int) -> Code:
    """The finest and the leading bit together: how many digits a number of its size has."""
    return lambda group: finest_bit(group.numbers[:, j]) * 2048 + ((_bits(group.numbers[:, j]) >> 52) & 0x7FF)


def _extreme(of: np.ufunc) -> Rule:
    def rule(group: Group) -> Floats:
        return np.asarray(of.reduce(group.numbers, axis=1), dtype=np.float64)

    return rule


# -- cells ------------------------------------------------------------------------------------------------------


def _atoms(pair: _Pair, code: Code, show: Show, name: str) -> _Table:
    """A cell for every code that was seen often, and one for all others."""
    codes, first, cells = np.unique(code(pair.rows), return_index=True, return_inverse=True)
    counts = np.bincount(cells, pair.p + pair.q)
    least = max(_OFTEN, np.partition(counts, -_ATOMS)[-_ATOMS] if len(counts) > _ATOMS else 0)
    often = np.flatnonzero(counts >= least)
    place = np.full(len(codes), len(often))
    place[often] = np.arange(len(often))
    ratios, seen = pair.ratios(place[cells], len(often) + 1)
    ratios[seen == 0] = np.nan  # if there are no others yet, those that may come are in no event
    keys, examples = codes[often], pair.rows.at(first[often])

    def rule(group: Group) -> Floats:
        found = code(group)
        if not len(keys):
            return np.full(len(group), ratios[-1])
        at = np.searchsorted(keys, found).clip(max=len(keys) - 1)
        scores: Floats = np.where(keys[at] == found, ratios[at], ratios[-1])
        return scores

    def words(threshold: float, above: bool) -> str:
        inside = ratios >= threshold if above else ratios < threshold
        labels = [show(examples, row, int(keys[row])) for row in np.flatnonzero(inside[:-1]).tolist()]
        return f"{name} is {_listed(labels + ['any that was rarely seen'] * bool(inside[-1]))}"

    return _Table(rule, words)


def _bins(pair: _Pair, j: int, name: str) -> _Table:
    """A cell between each two of the quantiles, and one for NaN."""
    column = pair.rows.numbers[:, j]
    real = ~np.isnan(column)
    edges = _quantiles(column[real], pair.rows.counts[real])

    def cells(group: Group) -> Integers:
        x = group.numbers[:, j]
        return np.where(np.isnan(x), len(edges) + 1, np.searchsorted(edges, x, side="right"))

    ratios, seen = pair.ratios(cells(pair.rows), len(edges) + 2)
    distance = float(np.abs(ratios) @ seen / seen.sum())

    def words(threshold: float, above: bool) -> str:
        inside = ((ratios >= threshold) == above) & (seen > 0)
        ends = ["-∞", *(f"{edge:.6g}" for edge in edges.tolist()), "∞"]
        turns = np.flatnonzero(np.diff(np.concatenate([[False], inside[:-1], [False]]))).reshape(-1, 2).tolist()
        labels = [f"in [{ends[start]}, {ends[stop]})" for start, stop in turns]
        return f"{name} is {_listed(labels + ['NaN'] * bool(inside[-1]))}"

    return _Table(lambda group: ratios[cells(group)], words, distance)


def _plain(name: str, rule: Rule) -> _Table:
    return _Table(rule, lambda threshold, above: f"{name} is {_side(threshold, above)}")


# -- a classifier -----------------------------------------------------------------------------------------------


def _classifier(pair: _Pair, entries: list[int]) -> Rule:
    """Logistic regression on some entries and their squares; entries that are no numbers count by that alone."""
    x = pair.rows.numbers[:, entries].astype(np.float64)
    finite = np.where(np.isfinite(x), x, np.nan)
    finite[:, np.isnan(finite).all(axis=0)] = 0.0
    centre = np.nanpercentile(finite, 50, axis=0, method="nearest")
    with np.errstate(over="ignore"):
        scale = np.nanpercentile(np.abs(finite - centre), 75, axis=0, method="nearest")
    scale[~(scale > 0) | np.isinf(scale)] = 1.0
    strange = bool(np.isnan(finite).any())

    def features(group: Group) -> Floats:
        with np.errstate(invalid="ignore", over="ignore"):
            z = (group.numbers[:, entries].astype(np.float64) - centre) / scale
        odd = ~np.isfinite(z)
        z = np.where(odd, 0.0, z.clip(-8, 8))  # one entry far out must not outweigh all others
        return np.hstack([np.ones((len(z), 1)), z, z**2, *([odd] if strange else [])])

    width = 1 + (2 + strange) * x.shape[1]
    kept = _spread(len(x), max(4 * width, int(_WORK / width**2)))
    sides = np.where(pair.p[kept] > 0, 1.0, -1.0)
    weights = _logistic(features(pair.rows.at(kept)), sides, pair.rows.counts[kept].astype(np.float64))
    return lambda group: features(group) @ weights


def _logistic(x: Floats, side: Floats, counts: Floats, ridge: float = 1.0, steps: int = 12) -> Floats:
    """Minimise Σ ln(1 + e^(−side·x·w)) + ridge·|w|²/2 by Newton steps, halved until they go downhill."""

    def height(w: Floats) -> float:
        return float(counts @ np.logaddexp(0, -side * (x @ w)) + ridge * w @ w / 2)

    weights = np.zeros(x.shape[1])
    now = height(weights)
    for _ in range(steps):
        chance = 0.5 * (1 - np.tanh(side * (x @ weights) / 2))  # of the other side
        slope = ridge * weights - x.T @ (counts * chance * side)
        curve = _gram(x, counts * chance * (1 - chance)) + ridge * np.eye(len(weights))
        step = np.linalg.solve(curve, slope)
        while (then := height(weights - step)) > now and np.abs(step).max() > 1e-9:
            step = step / 2
        if then >= now - 1e-6 * abs(now):
            break
        weights, now = weights - step, then
    return weights


def _gram(x: Floats, weights: Floats) -> Floats:
    """xᵀ·diag(weights)·x, in pieces too small for BLAS to start threads: on busy cores these only wait."""
    rows, total = max(64, 2**19 // x.shape[1] ** 2), np.zeros((x.shape[1], x.shape[1]))
    for start in range(0, len(x), rows):
        piece = x[start : start + rows]
        total += (piece * weights[start : start + rows, None]).T @ piece
    return total


def _spread(length: int, most: int) -> Any:
    """At most so many rows, from everywhere."""
    return slice(None) if length <= most else np.linspace(0, length - 1, most).astype(np.int64)


# -- in words ---------------------------------------------------------------------------------------------------


def _entry(j: int, width: int) -> str:
    return "the number" if width == 1 else f"entry {j}"


def _side(threshold: float, above: bool) -> str:
    return f"{threshold:.6g} or more" if above else f"below {threshold:.6g}"


def _listed(labels: list[str]) -> str:
    """At most five of the labels.

    >>> _listed(["a", "b"]), _listed([])
    ('a or b', 'none')
    """
    if len(labels) > 5:
        labels = [*labels[:4], f"one of {len(labels) - 4} others"]
    return ", ".join(labels[:-1]) + " or " * (len(labels) > 1) + (labels[-1] if labels else "none")


def _prefixed(prefix: str, words: Callable[[float, bool], str]) -> Callable[[float, bool], str]:
    return lambda threshold, above: prefix + words(threshold, above)


def shortened(value: object) -> str:
    """Return the repr, as far as it is short and there is one: Python does not print integers of any length.

    >>> shortened("a" * 100)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…"
    """
    try:
        shown = repr(value)
    except ValueError:
        return "(a number of thousands of digits)"
    return shown if len(shown) <= 40 else f"{shown[:39]}…"


def _show_whole(group: Group, row: int, code: int) -> str:
    if group.whole is not None:
        return shortened(group.whole[row])
    numbers = group.numbers[row].tolist()
    return shortened(numbers[0] if len(numbers) == 1 else tuple(numbers))


def _show_finest(group: Group, row: int, code: int) -> str:
    return _SPECIAL.get(code, f"2^{code}")


def _show_span(group: Group, row: int, code: int) -> str:
    finest, leading = divmod(code, 2048)
    return _SPECIAL.get(finest, f"2^{finest} and 2^{leading - 1023}")
