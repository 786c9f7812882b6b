"""Attack a whole oracle as `vault.oracle` plans it: a span, the threshold test beside it, and what credit buys.

The table is one for which the public plan takes a span *and* a test. Its columns are a (20 levels in 5 bins), b (5
levels), c and d (11 levels); every row is a person. All but one have a = 0. The hypothesis takes the four levels
of a bin for alike, so it predicts a quarter of these rows for each: too few for a = 0, and too many for the
others. The attacker knows all rows but those of one person, who has a = 1 and c = 10 or is absent, and aims at
what the proofs allow at most:

    span        the person is in one cell, where every set of columns moves by nearly all of its sensitivity
    down run    queries of which the prediction is too large, ever nearer to the threshold, with the person; after
                each one without the person, of which "above" would tell most
    up run      the same with predictions that are too small, until the alarm
    credit      the alarm is paid for, and its columns are measured together: each moves by one row

The claim is what the journal has set aside at the end of the conversation. So an oracle whose charge leaves out
the span or a run claims less than its transcript shows. (A payment or a marginal that is left out is less than
what the attack misses; `tests/oracle/test_replay.py` compares each of them with the journal.)
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.inputs.subject import Subject
from discreet.audit.replay import transcript
from discreet.audit.replay.traces import record
from discreet.errors import DiscreetError
from discreet.ledger import Budget
from discreet.oracle.pricing import FINE, terms
from discreet.oracle.span.credit import credit_test
from discreet.oracle.span_oracle import SpanOracle
from discreet.privacy.losses import ZeroConcentrated
from discreet.schema import Integer
from discreet.vault.vault import Vault

WITHIN, QUERIES, BUDGET = 50, 20, Budget(6, "1e-6")
"""The margin in rows, the number of questions, and the budget with which the plan takes a span and a test."""

_COUNTS = np.array([14, 3, 16, 5, 19, 7, 21, 9, 23, 11, 2])  # rows by c: sets of levels have nearly all sums
_PERSON = {"a": 1, "b": 0, "c": 10, "d": 0}
_SETS = [np.array([*(place >> c & 1 for c in range(10)), 1], bool) for place in range(2**10)]
_NEAR = {"down": range(-12, 1, 2), "up": range(-12, 40, 2)}
"""How far a query is above the threshold, in rows, one after the other: an alarm ends the rows of "up"."""


def population() -> list[dict[str, Any]]:
    """Return the rows that the attacker knows.

    >>> len(population())
    130
    """
    return [{"a": 0, "b": 0, "c": c, "d": 0} for c, count in enumerate(_COUNTS) for _ in range(count)]


def conversation(rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Seal rows, open the oracle that is planned, ask, and return what the analyst sees, and what was spent."""
    columns = {name: Integer(0, most, missing=0) for name, most in zip("abcd", (19, 4, 10, 10), strict=True)}
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "people.csv"
        lines = [",".join(str(row[name]) for name in columns) for row in rows]
        source.write_text("\n".join([",".join(columns), *lines, ""]), encoding="utf-8")
        sealed = Vault.seal(
            source, to=Path(folder) / "people.vault", name="people", person=None, columns=columns, budget=BUDGET
        )
        with (
            sealed as vault,
            vault.oracle([*columns], spend="100%", within=WITHIN, queries=QUERIES, bins={"a": 5}) as oracle,
        ):
            if not isinstance(oracle, SpanOracle) or not oracle.plan.test:
                raise DiscreetError("This oracle is not planned with a span and a test any more.")
            return [*_said(oracle), str(oracle.spent)]


def _said(oracle: SpanOracle) -> Iterator[Any]:
    """Ask, and yield each answer: an attacker who knows the population, and what was released."""
    aimed = chain(_aimed(oracle, "down"), _aimed(oracle, "up"))
    for question in chain(["a < 4", "a < 4 and c > 5"], aimed):
        answer = oracle.ask(f"select count(*) from people where {question}")
        yield answer.value, answer.low, answer.high, answer.how, str(answer.cost)
        if answer.how == ("paid",):
            return


def _aimed(oracle: SpanOracle, side: str) -> Iterator[str]:
    """Yield queries about the person that come ever nearer to the threshold, after each one about others."""
    predicted: NDArray[np.float64] = oracle.marginal("a", "c")[0] / 2  # two of the four levels of a bin
    levels = "0 and 1" if side == "up" else "1 and 2"
    true = [_COUNTS[some].sum() if side == "up" else 0 for some in _SETS]
    above = [count - predicted[some].sum() for count, some in zip(true, _SETS, strict=True)]
    far = np.array(above) * (1 if side == "up" else -1) - _threshold(oracle)
    asked = set[int]()
    for near in _NEAR[side]:
        place = int(np.abs(far - near).argmin())
        if place in asked:  # the population has no query that is further off
            return
        asked.add(place)
        listed = ", ".join(map(str, np.flatnonzero(_SETS[place])))
        yield f"a between {levels} and c in ({listed})"
        yield f"a between 9 and {'10' if side == 'up' else '13'} and c in ({listed})"


def _threshold(oracle: SpanOracle) -> float:
    """Return the public threshold of the test, in rows."""
    agreed = terms(
        rho=oracle.total,
        within=WITHIN,
        confidence="0.95",
        queries=QUERIES,
        start="span",
        rows_per_person=1,
    )
    found = credit_test(agreed, WITHIN * FINE, oracle.plan.test)
    return 0.0 if found is None else found[0].threshold / FINE


@cache
def span_with_test() -> Subject:
    """Return the conversation with two neighbours, and what its journal says that it spent.

    >>> span_with_test().name
    'oracle with a span and a test'
    """
    known = population()
    spent = record(conversation, known, seed=1).result
    if not isinstance(spent, tuple):
        raise DiscreetError("The oracle did not answer.", found=spent)
    return Subject(
        name="oracle with a span and a test",
        release=conversation,
        loss=ZeroConcentrated(Fraction(spent[-1])),
        pairs=[(known, [*known, _PERSON])],
        attacks={"transcript": transcript.attack},
    )
