"""Record a computation on a table, and replay it on the table's neighbours with every release held fixed.

The idea is that of Re:cord-play (Cebere, Erb, Desfontaines, Bellet and Fitzsimons 2026, arXiv 2602.17454). Code is
private by composition if, given what was released so far, (a) which mechanism comes next, with which parameters,
does not depend on the data, (b) the exact value that it gets changes by no more than its declared sensitivity, and
(c) nothing else is visible, in the result or by an exception. None of this needs statistics: freeze what the
mechanisms released on one table, run on a neighbour, and compare. Whether the mechanisms themselves are private is
tested by the other attacks.

A replay finds leaks, and does not prove their absence: the neighbours are those of `neighbours`, under adding or
removing one person, and the releases are those of one run on each table. Warnings are silenced, so that the
verdict does not depend on filters that turn them into errors. Releases in another thread are not recorded; they
are drawn again in a second run on the same table and show there, as does any other noise that is not recorded.
State that outlives a run hides leaks (a cache filled by the first table answers for the neighbour too): create
sessions, caches and generators inside the computation. A verdict may quote rows: audit with made-up rows, or keep
the verdict secret.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, get_args

from discreet.audit.inputs.extremes import Rows, columns_of
from discreet.audit.inputs.neighbours import Neighbour, Table, bases, neighbours
from discreet.audit.replay.diff import Finding, Kind, changed_calls, departures, distances, unrecorded
from discreet.audit.replay.exposure import overspent
from discreet.audit.replay.recorder import wrapped
from discreet.audit.replay.traces import again, record
from discreet.audit.report.verdict import Verdict
from discreet.errors import Code, Fix, ParameterError
from discreet.privacy.losses import Losses
from discreet.rational import whole


@dataclass
class _Audit:
    """One audit: its parameters, and what was tried and found so far."""

    computation: Callable[[Rows], Any]
    rows: Rows
    person: str | None
    loss: Losses | None
    limit: int | None
    seed: int
    tables: int = 0
    neighbours: int = 0
    calls: int = 0
    answers: int = 0
    found: list[Finding] = field(default_factory=list)


def replay(
    computation: Callable[[Rows], Any],
    rows: Iterable[Mapping[str, Any]],
    *,
    person: str | None = None,
    loss: Losses | None = None,
    name: str = "computation",
    limit: int | None = None,
    seed: int | None = None,
) -> Verdict:
    """Attack a computation on a table: replay it on neighbours of the table, and of hostile variants of it.

    Args:
        computation: A function of the rows, which are dictionaries.
        rows: The table to start from, with at least one row.
        person: The column of person ids; by default each row is a person.
        loss: The loss that the computation claims; by default only charges to sessions are compared.
        name: The name of the computation in the verdict.
        limit: The most neighbours of each table to try; all by default.
        seed: The same seed draws the same noise. By default it is drawn from the operating system, so that no
            noise that the computation sends away was predictable.

    >>> from discreet.mechanisms import Exact, Laplace
    >>> def count(rows):
    ...     return Laplace(scale=2).release(Exact(len(rows), sensitivity=1))
    >>> replay(count, [{"age": 30}, {"age": 41}]).caught
    False
    >>> def with_size(rows):
    ...     return count(rows), len(rows)
    >>> print(replay(with_size, [{"age": 30}, {"age": 41}], limit=1).words)
    computation: the table as given, with a copy of row 0 at the end: the result changes although every release is
    held fixed: ...
    """
    started = time.perf_counter()
    audit = _audited(computation, rows, person, loss, limit, seed)
    worst = sorted(audit.found, key=lambda f: (get_args(Kind).index(f.kind), -f.excess))
    spent = next((finding.spent for finding in worst if finding.spent), None)
    return Verdict(
        attack="replay",
        caught=bool(worst),
        words=f"{name}: {_words(worst, audit)}",
        claimed=spent.claimed if spent else None,
        found=spent.found if spent else None,
        delta=spent.delta if spent else 0.0,
        seconds=time.perf_counter() - started,
    )


def findings(
    computation: Callable[[Rows], Any],
    rows: Iterable[Mapping[str, Any]],
    *,
    person: str | None = None,
    loss: Losses | None = None,
    limit: int | None = None,
    seed: int | None = None,
) -> list[Finding]:
    """Return everything that `replay` finds, on each neighbour, in the order in which it was found.

    Args:
        computation: A function of the rows, which are dictionaries.
        rows: The table to start from, with at least one row.
        person: The column of person ids; by default each row is a person.
        loss: The loss that the computation claims; by default only charges to sessions are compared.
        limit: The most neighbours of each table to try; all by default.
        seed: The same seed draws the same noise; by default it is drawn from the operating system.

    >>> found = findings(lambda rows: len(rows) == 10, [{"age": 30}], limit=1)
    >>> print(found[0].kind, "|", found[0].words)
    result | a table of 9 people, with a copy of row 0 at the end: the result changes although every release is
    held fixed: False becomes True.
    """
    return _audited(computation, rows, person, loss, limit, seed).found


def _audited(
    computation: Callable[[Rows], Any],
    rows: Iterable[Mapping[str, Any]],
    person: str | None,
    loss: Losses | None,
    limit: int | None,
    seed: int | None,
) -> _Audit:
    table = _table(rows)
    _refuse_without_pattern(table, person)
    if not callable(computation):
        raise ParameterError(
            "The computation must be a function of the rows.",
            found=type(computation).__name__,
            fix=Fix("computation", Code("lambda rows: …")),
        )
    most = None if limit is None else whole(limit, "limit")
    start = secrets.randbits(128) if seed is None else whole(seed, "seed", least=0)
    audit = _Audit(computation, table, person, loss, most, start)
    with wrapped():  # once for all tables: the search for mechanisms takes longer than most computations
        for base in bases(table, person):
            _search(audit, base)
    return audit


def _search(audit: _Audit, base: Table) -> None:
    """Record a run on one table, and replay it on the table's neighbours."""
    first = record(audit.computation, base.rows, audit.seed + audit.tables)
    audit.tables += 1
    audit.calls += len(first.tape.calls)
    audit.answers += not first.raised
    changed = unrecorded(first, again(audit.computation, base.rows, first.tape), base.name)
    if changed:
        audit.found.append(changed)  # then differences on a neighbour say nothing
        return
    exposed = []
    for neighbour in _some(audit, base):
        audit.neighbours += 1
        place = f"{base.name}, {neighbour.name}"
        second = again(audit.computation, neighbour.rows, first.tape)
        audit.found += departures(first, second, place)
        audit.found += distances(first, second, place, joins=neighbour.added)
        exposed.append((place, changed_calls(first, second)))
    charged = [call for call in first.tape.calls if call.what == "Session.charge"]
    for spent in overspent(exposed, charged, audit.loss):
        audit.found.append(Finding(kind="loss", words=str(spent), excess=spent.found, spent=spent))


def _some(audit: _Audit, base: Table) -> Iterator[Neighbour]:
    """Yield the neighbours of a table; if there are more than the limit, that many of them, evenly spaced."""
    candidates = partial(neighbours, base.rows, audit.person, like=audit.rows)
    limit = min((most for most in (audit.limit, base.most) if most is not None), default=None)
    total = sum(1 for _ in candidates()) if limit is not None else 0
    for i, neighbour in enumerate(candidates()):
        if limit is None or total <= limit or i * limit // total != (i - 1) * limit // total:
            yield neighbour


def _table(rows: Iterable[Mapping[str, Any]]) -> Rows:
    given: Any = rows
    listed = list(given) if isinstance(given, Iterable) and not isinstance(given, str | Mapping) else [given]
    for i, row in enumerate(listed):
        if not isinstance(row, Mapping):
            raise ParameterError(
                "rows must be a list of dictionaries, one for each row.",
                found=f"row {i} is of type {type(row).__name__}",
                fix=[
                    Fix("rows", Code('[{"age": 30}]')),
                    Fix("rows", Code('frame.to_dict("records")'), note="for a data frame"),
                ],
            )
    return [dict(row) for row in listed]


def _refuse_without_pattern(rows: Rows, person: str | None) -> None:
    if not rows:
        raise ParameterError(
            "A replay needs a table to start from, with at least one row.", fix=Fix("rows", Code('[{"age": 30}]'))
        )
    if person is not None and not any(person in row for row in rows):
        columns = columns_of(rows, None)
        raise ParameterError(
            f"No row has the column {person!r} of person ids. The columns are {columns}.",
            fix=[Fix("person", columns[0])] if columns else (),
        )


def _words(worst: list[Finding], audit: _Audit) -> str:
    where = f"{audit.neighbours:,} neighbours of {audit.tables} tables"
    if worst:
        others = len({(finding.kind, finding.call) for finding in worst}) - 1
        return f"{worst[0].words}{f' And {others} more.' if others else ''} Tried {where}."
    if not audit.answers:
        return f"it raised the same exception on {where}, so there was nothing to compare."
    if not audit.calls:
        return f"it returned the same result on {where}, and released nothing."
    return f"the same calls and the same results on {where}; no value exceeded its declared sensitivity."
