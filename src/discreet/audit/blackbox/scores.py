"""Learn scores that estimate the likelihood ratio of two laws, from samples of both.

A score gives each answer a number. Scores use, separately for each kind of answer (a number, a list, an
exception):

    the answer as a whole        how often it occurred under P and under Q
    a number                     the ratio in quantile bins, and both tails
    a double                     the exponent of its finest set bit, NaN, ±∞, −0.0: what rounding gives away
    an integer                   the power of two that divides it
    several numbers              each of them; the least and the greatest; the sum of the log-ratios of all, as if
                                 they were independent; a logistic regression on them and their squares
    answers of several kinds     the ratio of the kinds, alone and together with the ratio within each

Of wide answers, only the entries whose laws differ most are used.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from discreet.audit.blackbox.classifier import classifier
from discreet.audit.blackbox.features import (
    Floats,
    Rule,
    column,
    extreme,
    finest,
    finest_bit,
    show_finest,
    show_span,
    show_whole,
    span,
    whole,
)
from discreet.audit.blackbox.log_ratio_cells import (
    OFTEN,
    Pair,
    Table,
    atoms,
    bins,
    log_ratio,
    paired,
    plain,
    quantiles,
)
from discreet.audit.blackbox.samples import Group, Integers, Outcomes, kind_in_words
from discreet.audit.blackbox.subsample import gathered
from discreet.audit.report.event_text import entry, listed, side

_KINDS = 8  # most kinds of answers with scores of their own
_SINGLE = 8  # most entries of a vector with events of their own: those whose laws differ most
_ENTRIES = 1024  # most entries of a vector that are used
_AT_ONCE = 2**18  # numbers that are sorted at a time
_FEATURES = 128  # most entries of a vector that the classifier uses


@dataclass(frozen=True, eq=False)
class Score:
    """A number for each outcome, learned from samples, and the thresholds to try."""

    rules: Mapping[Hashable, Rule]
    words: Callable[[float, bool], str]
    """Describes the event {score ≥ t}, or {score < t}."""
    elsewhere: float = float("nan")
    """The score of kinds without a rule."""
    thresholds: Floats = field(default_factory=lambda: np.zeros(1))

    def above(self, outcomes: Outcomes) -> tuple[Integers, int]:
        """Return how many outcomes are at or above each threshold, and how many are on any side."""
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
        return replace(self, thresholds=quantiles(scores[known], counts[known]))

    def _read(self, outcomes: Outcomes) -> Iterator[tuple[Floats, Integers]]:
        for kind, group in outcomes.items():
            rule = self.rules.get(kind)
            yield (rule(group) if rule else np.full(len(group), self.elsewhere)), group.counts


def learned(P: Iterable[Outcomes], Q: Iterable[Outcomes]) -> list[Score]:
    """Return all scores, learned from samples of both laws, which come in parts."""
    (one, totals), (other, other_totals) = gathered(P), gathered(Q)
    counts = {kind: (totals.get(kind, 0), other_totals.get(kind, 0)) for kind in dict.fromkeys([*one, *other])}
    scores = [_by_kind(counts)]
    ratios: dict[Hashable, Rule] = {}
    for kind in sorted(counts, key=lambda kind: -sum(counts[kind]))[:_KINDS]:
        if min(counts[kind]) >= OFTEN:
            rule, more = _within(kind, paired(one[kind], other[kind]), alone=len(counts) == 1)
            ratios[kind] = rule
            scores += more
    if len(counts) > 1:
        scores.append(_combined(counts, ratios))
    return [score.with_thresholds(one, other) for score in scores]


# -- kinds ------------------------------------------------------------------------------------------------------


def _kind_ratios(counts: Mapping[Hashable, tuple[int, int]]) -> dict[Hashable, float]:
    pairs = np.array(list(counts.values()), dtype=float)
    return dict(zip(counts, log_ratio(pairs[:, 0], pairs[:, 1]).tolist(), strict=True))


def _by_kind(counts: Mapping[Hashable, tuple[int, int]]) -> Score:
    ratios = _kind_ratios(counts)
    rules = {kind: _constant(ratio) for kind, ratio in ratios.items()}

    def words(threshold: float, above: bool) -> str:
        return "the answer is " + listed(
            [kind_in_words(k) for k, r in ratios.items() if (r >= threshold) == above]
        )

    return Score(rules, words, elsewhere=0.0)


def _combined(counts: Mapping[Hashable, tuple[int, int]], within: Mapping[Hashable, Rule]) -> Score:
    """Return the score of the whole answer: the ratio of its kind times the ratio within the kind."""
    ratios = _kind_ratios(counts)
    rules = {kind: _shifted(within[kind], by) if kind in within else _constant(by) for kind, by in ratios.items()}

    def words(threshold: float, above: bool) -> str:
        bare = [
            kind_in_words(kind) for kind, r in ratios.items() if kind not in within and (r >= threshold) == above
        ]
        learned = f"any with a log-ratio, as learned, that is {side(threshold, above)}"
        return f"the answer is {listed([*bare, learned])}"

    return Score(rules, words, elsewhere=0.0)


def _constant(value: float) -> Rule:
    return lambda group: np.full(len(group), value)


def _shifted(rule: Rule, by: float) -> Rule:
    return lambda group: rule(group) + by


def _sum(*tables: Table) -> Rule:
    def rule(group: Group) -> Floats:
        total = np.zeros(len(group))
        for table in tables:
            total += table.rule(group)
        return total

    return rule


# -- within one kind --------------------------------------------------------------------------------------------


def _within(kind: Hashable, pair: Pair, *, alone: bool) -> tuple[Rule, list[Score]]:
    """Return the log-ratio within a kind, and all scores that use this kind only."""
    width = pair.rows.width
    binned = {j: bins(pair, j, entry(j, width)) for j in _telling(pair)}
    order = sorted(binned, key=lambda j: -binned[j].distance)
    tables = [table for j in order[:_SINGLE] for table in _of_entry(pair, j, binned[j])]
    tables.append(atoms(pair, whole, show_whole, "the answer"))
    if width > 1:
        fine = [atoms(pair, finest(j), show_finest, "") for j in binned]
        tables += [plain("the least entry", extreme(np.fmin)), plain("the greatest entry", extreme(np.fmax))]
        tables.append(
            plain(f"the log-ratio of {len(binned)} entries, added up as learned,", _sum(*binned.values()))
        )
        tables.append(plain("the log-ratio of all finest set bits, added up as learned,", _sum(*fine)))
        some = sorted(order[:_FEATURES])
        tables.append(plain(f"a classifier of {len(some)} entries, as learned,", classifier(pair, some)))
    prefix = "" if alone else f"the answer is {kind_in_words(kind)}, and "
    scores = [Score({kind: table.rule}, _prefixed(prefix, table.words)) for table in tables]
    return (_sum(*binned.values()) if width else tables[0].rule), scores


def _of_entry(pair: Pair, j: int, binned: Table) -> Iterator[Table]:
    name = entry(j, pair.rows.width)
    yield plain(name, column(j))
    yield binned
    yield atoms(pair, finest(j), show_finest, f"the finest set bit of {name}")
    if pair.rows.numbers.dtype.kind == "f":
        yield plain(f"the exponent of the finest set bit of {name}", column(j, finest_bit))
        yield atoms(pair, span(j), show_span, f"the finest and the leading bit of {name}")


def _telling(pair: Pair) -> list[int]:
    """Return the entries, or, if there are many, those whose distribution functions are furthest apart."""
    width = pair.rows.width
    if width <= _ENTRIES:
        return list(range(width))
    gaps, step = np.zeros(width), max(1, _AT_ONCE // len(pair.rows))
    mass = pair.p / pair.p.sum() - pair.q / pair.q.sum()
    for start in range(0, width, step):  # a loop over pieces of the table is faster than one over entries
        x = pair.rows.numbers[:, start : start + step].astype(np.float64)
        order = np.argsort(x, axis=0)
        x = np.take_along_axis(x, order, axis=0)
        gap = np.abs(mass[order].cumsum(axis=0)[:-1])
        equal = (x[1:] == x[:-1]) | (np.isnan(x[1:]) & np.isnan(x[:-1]))
        gaps[start : start + step] = np.where(equal, 0, gap).max(axis=0)
    return sorted(np.argsort(-gaps, kind="stable")[:_ENTRIES].tolist())


def _prefixed(prefix: str, words: Callable[[float, bool], str]) -> Callable[[float, bool], str]:
    return lambda threshold, above: prefix + words(threshold, above)
