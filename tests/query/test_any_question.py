"""Every question is answered, or refused before a charge: random questions, through the whole path."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from random import Random
from typing import Any

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BudgetExceeded, ParameterError, QuestionRefused
from discreet.ledger import Budget
from discreet.schema import Boolean, Category, Column, Date, Datetime, Integer, Real, Text
from discreet.vault.vault import Vault

COLUMNS: dict[str, Column] = {
    "age": Integer(0, 110),
    "big": Integer(2**53 - 10, 2**53 + 100),
    "debt": Integer(-100, 0, missing=0),
    "x": Real(-5, 20, "0.25"),
    "city": Category(["Bergen", "Oslo", "Ås"]),
    "ward": Category([0, 1, 2], other=9),
    "flag": Boolean(),
    "day": Date("2023-12-01", "2024-03-01"),
    "ever": Date("0001-01-01", "9999-12-31"),
    "at": Datetime("2024-01-01", "2024-01-05", "1h"),
    "note": Text(),
    "Select": Integer(0, 3),
}
ROWS: dict[str, list[Any]] = {
    "who": [None if i % 17 == 0 else i // 3 for i in range(60)],
    "age": [i % 90 if i % 7 else None for i in range(60)],
    "big": [2**53 + 1 + i for i in range(60)],
    "debt": [-i for i in range(60)],
    "x": [i * 0.25 if i % 5 else float("nan") for i in range(60)],
    "city": [("Oslo", "Bergen", "Ås", None)[i % 4] for i in range(60)],
    "ward": [i % 3 for i in range(60)],
    "flag": [bool(i % 2) if i % 9 else None for i in range(60)],
    "day": [date(2024, 1, 1 + i % 28) for i in range(60)],
    "ever": [date(1 + i * 100, 1, 1) for i in range(60)],
    "at": [datetime(2024, 1, 1, i % 24) for i in range(60)],
    "note": [("a", "b", "l'été", "日本", None)[i % 5] for i in range(60)],
    "Select": [i % 4 for i in range(60)],
}


@pytest.fixture(scope="module", params=["pure", "with a δ"])
def vault(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    place: Path = tmp_path_factory.mktemp("any") / "t.vault"
    budget = Budget(10**9) if request.param == "pure" else Budget(10**6, "1e-3")
    with Vault.seal(
        pyarrow.table(ROWS), to=place, person="who", rows_per_person=2, columns=COLUMNS, budget=budget
    ) as sealed:
        yield sealed


# -- questions, mostly of sense ---------------------------------------------------------------------------------

NUMBERS = [
    "0",
    "-0.0",
    "1",
    "2",
    "3",
    "0.5",
    "0.25",
    "10",
    "1e3",
    "1e99",
    "9007199254740993",
    "-9223372036854775808",
]
TEXTS = ["'Oslo'", "'a'", "'l''été'", "'日本'", "'😀'", "''", "'%'", "'\u202e'", "'e\u0301'", "'\\'"]
MOMENTS = [
    *("'2024-01-15'", "date '2024-01-31'", "date '9999-12-31'", "timestamp '0001-01-01 00:00:00'"),
    *("'2024-01-15 12:00:00'", "timestamp '2024-01-02 03:00:00'"),
]
CONSTANTS = {"number": NUMBERS, "text": TEXTS, "moment": MOMENTS, "truth": ["true", "false", "1"]}
NAMED = {
    "number": ["age", "big", "debt", "x", '"Select"'],
    "text": ["city", "note", "ward"],
    "moment": ["day", "ever", "at"],
    "truth": ["flag", "over_bound()"],
}
COMPARISONS = ["=", "<>", "<", "<=", ">", ">="]


class Asker:
    """An analyst who asks random questions, mostly sensible ones. A seed draws them, which is fast."""

    def __init__(self, seed: int):
        self.random = Random(seed)

    def one(self, *of: Any) -> Any:
        return self.random.choice(of)

    def rarely(self) -> bool:
        return self.random.random() < 0.05

    def constant(self, kind: str) -> str:
        """One of the kind, or once in a while of another."""
        wrong = ["null", "1e400", *(text for texts in CONSTANTS.values() for text in texts)]
        return str(self.one(*(wrong if self.rarely() else CONSTANTS[kind])))

    def value(self, kind: str, depth: int = 2) -> str:
        """An expression over the columns."""
        if self.rarely():
            kind = self.one(*NAMED)
        if depth == 0 or self.random.random() < 0.4:
            return self.constant(kind) if self.random.random() < 0.2 else str(self.one(*NAMED[kind]))
        inner = self.value(kind, depth - 1)
        if self.random.random() < 0.2:
            return f"case when {self.condition(depth - 1)} then {inner} else {self.value(kind, depth - 1)} end"
        return str(getattr(self, f"_{kind}")(inner, depth - 1))

    def _number(self, inner: str, depth: int) -> str:
        other, when = self.value("number", depth), self.value("moment", depth)
        return str(
            self.one(
                f"({inner} {self.one(*'+-*')} {other})",
                f"({inner} {self.one('/', '//', '%')} {self.one('2', '0.5', '10', other)})",
                f"{self.one('floor', 'ceil', 'abs', 'round', '-')}({inner})",
                f"{self.one('least', 'greatest', 'coalesce')}({inner}, {other})",
                f"extract({self.one('year', 'quarter', 'month', 'day', 'dow', 'doy', 'hour')} from {when})",
                f"width_bucket({inner}, 0, {self.one('10', '1e99')}, 3)",
                f"round({inner}, {self.one('2', '-2', '18')})",
            )
        )

    def _moment(self, inner: str, depth: int) -> str:
        return str(
            self.one(
                f"date_trunc('{self.one('year', 'quarter', 'month', 'week', 'day', 'hour')}', {inner})",
                f"({self.one('day', inner)} + {self.one('1', '30', '-400', '4000000', '0.5', 'age')})",
                f"cast({inner} as date)",
            )
        )

    def _text(self, inner: str, depth: int) -> str:
        return f"coalesce({inner}, {self.value('text', depth)})"

    def _truth(self, inner: str, depth: int) -> str:
        return str(self.one(f"({self.condition(depth)})", f"(not {inner})"))

    def condition(self, depth: int = 2) -> str:
        """Something that is true, false or neither."""
        kind = self.one(*NAMED)
        inner, constant = self.value(kind, max(0, depth - 1)), self.constant(kind)
        sign = self.one("=", "<>") if kind in ("truth", "text") else self.one(*COMPARISONS)
        forms = [
            f"{inner} {sign} {constant}",
            f"{inner} in ({constant}, {self.constant(kind)})",
            f"{inner} between {constant} and {self.constant(kind)}",
            f"{inner} is not null",
            f"{self.one('city', 'note')} {self.one('like', 'ilike')} {self.one(*TEXTS)}",
        ]
        if depth:
            rest = self.condition(depth - 1)
            forms += [f"({inner} {sign} {constant} {self.one('and', 'or')} {rest})", f"({rest}) is not true"]
        return str(self.one(*forms))

    def aggregate(self) -> tuple[str, str]:
        """One number of the answer, and its kind."""
        kind = self.one("number", "number", "number", "moment")
        inner = self.value(kind).replace("ever", "day")  # quantiles among millions of days take seconds
        share = self.one("0.5", "0.9", "0", "0.000001", "1e-9")
        if kind == "moment":
            return str(self.one(f"median({inner})", f"quantile({inner}, {share})", f"max({inner})")), kind
        forms = [
            *("count(*)", "count(distinct who)", f"count({inner})", f"median({inner})", f"min({inner})"),
            *(f"{name}({inner})" for name in ("sum", "avg", "stddev", "var_pop")),
            *(f"quantile({inner}, {share})", f"sum({inner}) filter (where {self.condition(1)})"),
            f"avg({self.value('truth', 1)})",
        ]
        return str(self.one(*forms)), kind

    def question(self) -> str:
        """A whole one."""
        columns: list[tuple[str, str]] = []
        if self.random.random() < 0.6:
            kind = self.one(*NAMED)
            columns.append((self.value(kind, 1), kind))
        keys = len(columns)
        columns += [self.aggregate() for _ in range(self.one(1, 1, 2))]
        items = ", ".join(f"{text} as o{i}" for i, (text, _) in enumerate(columns))
        where = f"where {self.condition()}" if self.random.random() < 0.5 else ""
        if keys and "ever" in columns[0][0]:  # ten thousand years make many groups: a month of them will do
            where = "where ever between '2024-01-01' and '2024-01-31'"
        grouped = "group by o0" if keys else ""
        return f"select {items} from t {where} {grouped} {self.afterwards([kind for _, kind in columns])}"

    def afterwards(self, kinds: list[str]) -> str:
        """Having, order by and limit."""
        place = self.random.randrange(len(kinds))
        name, kind, sign = f"o{place}", kinds[place], self.one(*COMPARISONS)
        other = self.one(self.constant(kind), f"o{self.random.randrange(len(kinds))}")
        computed = f"o{len(kinds) - 1} {self.one(*'+-*/')} {self.one('2', '1e99', '1e-99', '0', name)}"
        having = self.one(
            *("", "", f"having {name} {sign} {other}", f"having {computed} > 3", f"having {name} is not null"),
            *(f"having {name} in ({other}, {self.constant(kind)})", f"having not {name} {sign} {other}"),
        )
        order = self.one("", f"order by {name} desc", f"order by {computed}", f"order by {name} {sign} {other}")
        return f"{having} {order} {self.one('', 'limit 3', 'limit 1e30', 'offset 2')}"


MANY = ", ".join(f"'{i}'" for i in range(10_500))  # as often as a quantile writes it out, too many


# -- the law ----------------------------------------------------------------------------------------------------


def test_whatever_is_asked_is_answered_or_refused_for_nothing(vault: Vault) -> None:
    answered = []

    @settings(max_examples=120, deadline=None)
    @given(st.integers(0, 2**32).map(lambda seed: Asker(seed).question()))
    def holds(text: str) -> None:
        before = vault.ledger.balance().charges
        try:
            vault.preview(text, epsilon=1)
            release = vault.ask(text, epsilon=1)
        except (QuestionRefused, ParameterError, BudgetExceeded):
            assert vault.ledger.balance().charges == before
            return
        again = vault.ask(text, epsilon=1)
        assert again.free
        assert (again.keys, again.aggregates) == (release.keys, release.aggregates)
        answered.append(text)
        assert str(release)

    holds()
    assert len(answered) > 25, "most questions here are meant to make sense"


@pytest.mark.parametrize(
    "text",
    [
        "select count(*) n from t having n > 'a'",
        "select city, count(*) n from t group by city order by city * n",
        "select median(day) d from t having d > 3",
        "select count(*) n from t having n / 1e400 > 0",
        "select median(age + 1e400) from t",
        "select stddev(big * big * 1e99) from t where age * 1e99 * 1e99 > 3",
        "select city, count(*) from t where note = 'a\0' group by city",
        'select count(*) as "\ud800" from t',
        f"select median(case when note in ({MANY}) then 1 else 2 end) from t",
        "select case when flag then city else ward end k, count(*) from t group by k order by k",
        "select day + 4000000 k, count(*) from t group by k",
    ],
)
def test_what_used_to_fail_when_it_was_paid_for_is_refused(vault: Vault, text: str) -> None:
    before = vault.ledger.balance()
    for path in (vault.preview, vault.ask):
        with pytest.raises(QuestionRefused):
            path(text, epsilon=1)
    assert vault.ledger.balance() == before
