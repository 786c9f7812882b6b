"""A vault from outside: seal, ask, be refused, ask again, crash, and what the ledger says afterwards."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow
import pytest

from discreet.errors import BudgetExceeded, DatabaseUnavailable, DiscreetError, ParameterError, QuestionRefused
from discreet.ledger import Budget
from discreet.schema import Category, Column, Integer, Real, Text
from discreet.sealing.sources import Source
from discreet.vault.vault import Vault

ROWS: dict[str, list[Any]] = {
    "who": [person for person in range(500) for _ in range(1 + person % 3)],
    "age": [20 + person % 60 for person in range(500) for _ in range(1 + person % 3)],
    "city": [("Oslo", "Bergen")[person % 2] for person in range(500) for _ in range(1 + person % 3)],
    "pay": [float(1000 * (person % 50)) for person in range(500) for _ in range(1 + person % 3)],
    "word": ["common" if person % 2 else f"rare {person}" for person in range(500) for _ in range(1 + person % 3)],
}
COLUMNS: dict[str, Column] = {
    "age": Integer(0, 110),
    "city": Category(["Bergen", "Oslo", "Tromsø"]),
    "pay": Real(0, 100_000, 100),
    "word": Text(),
}


def sealed(folder: Path, budget: Budget | None = None, **options: Any) -> Vault:
    table = pyarrow.table(ROWS)
    return Vault.seal(
        table,
        to=folder / "people.vault",
        person="who",
        rows_per_person=3,
        columns=COLUMNS,
        budget=budget or Budget(10),
        **options,
    )


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return sealed(tmp_path)


def test_a_count_comes_with_its_interval_and_its_price(vault: Vault) -> None:
    """False alarm: once in 10⁹ runs."""
    release = vault.ask("select count(*) from people", epsilon=5, confidence="0.999999999")
    low, high = release.interval
    assert low is not None
    assert high is not None
    assert low <= len(ROWS["who"]) <= high
    assert vault.ledger.balance().spent.epsilon == 5
    assert "This used 50 % of the budget" in str(release)
    assert "50 % of the budget" in repr(release)


def test_the_same_question_is_free_and_has_the_same_answer(vault: Vault) -> None:
    first = vault.ask("select count(*) from people where age >= 65", epsilon=1)
    again = vault.ask("SELECT COUNT(*)  FROM people WHERE AGE >= 65", epsilon="1.0")
    assert (again.value, again.interval) == (first.value, first.interval)
    assert again.free
    assert not first.free
    assert vault.ledger.balance().spent.epsilon == 1
    with Vault(vault.place) as other:
        assert other.ask("select count(*) from people where age >= 65", epsilon=1).value == first.value


def test_one_release_serves_every_order_limit_and_name(vault: Vault) -> None:
    all_of_them = vault.ask("select city, count(*) from people group by city", epsilon=1)
    two = vault.ask(
        "select city as town, count(*) as n from people group by city order by n desc limit 2", epsilon=1
    )
    assert two.free
    counts = all_of_them["count(*)"].values
    assert [row["n"] for row in two] == sorted((c for c in counts if c is not None), reverse=True)[:2]
    assert list(two.keys) == ["town"]


def test_declared_groups_are_there_even_if_nobody_is(vault: Vault) -> None:
    release = vault.ask("select city, count(*), avg(pay) from people group by city", epsilon=1)
    assert release.keys["city"] == ("Bergen", "Oslo", "Tromsø", None)


def test_a_question_that_is_refused_costs_nothing(vault: Vault) -> None:
    for text in (
        "select * from people",
        "select age from people",
        "select count(*) from others",
        "drop table people",
    ):
        with pytest.raises(QuestionRefused):
            vault.ask(text, epsilon=1)
    with pytest.raises(BudgetExceeded, match="10"):
        vault.ask("select count(*) from people", epsilon=11)
    assert vault.ledger.balance().spent.epsilon == 0
    assert [entry.kind for entry in vault.ledger.entries()] == ["opening"]


def test_a_width_is_bought_at_the_least_price(vault: Vault) -> None:
    release = vault.ask("select count(*) from people", within=20)
    assert release.error is not None
    assert release.error <= 20
    spent = vault.ledger.balance().spent.epsilon
    assert spent is not None
    less = vault.preview("select count(*) from people", epsilon=spent * Fraction(9, 10)).expected[0]
    assert less.margin is not None
    assert less.margin > 20


def test_a_relative_width_is_found_step_by_step_and_is_free_again(tmp_path: Path) -> None:
    vault = sealed(tmp_path, Budget(10, "1e-9"))
    first = vault.ask("select count(*) from people", within="20%")
    assert first.value is not None
    assert first.error is not None
    assert first.error <= 0.2 * first.value
    shown = " ".join(str(first).split())
    assert re.search(
        r"found in \d+ steps?\. The intervals of all steps hold together with 95 %, so this one", shown
    )
    assert not re.search(r"\d{7,} %", shown)  # 99.9951171875 % would look like a mistake
    spent = vault.ledger.balance().spent
    assert vault.ask("select count(*) from people", within="20%").value == first.value
    assert vault.ledger.balance().spent == spent


def test_the_share_that_a_refusal_offers_is_answered(tmp_path: Path) -> None:
    vault = sealed(tmp_path, Budget(2, "1e-9"))
    vault.ask("select count(*) from people", epsilon="0.25")
    with pytest.raises(BudgetExceeded) as refused:
        vault.ask("select avg(pay) from people", epsilon=2)
    offered = re.search(r'spend="([^"]+)"', str(refused.value))
    assert offered is not None
    vault.ask("select avg(pay), count(*) from people", spend=offered[1])


def test_a_budget_that_ends_before_a_relative_width_leaves_the_last_answer(tmp_path: Path) -> None:
    vault = sealed(tmp_path, Budget(3))  # 0.001 + … + 1.024, and then 2.048 does not fit
    first = vault.ask("select count(*) as n, sum(age) from people", within="3%")
    spent = vault.ledger.balance().spent.epsilon
    assert spent == Fraction(2047, 1000)
    assert first.cost.cost.epsilon == spent
    note = re.compile(r"n: ± [\d.]+ % reached, not ± 3 %: the budget does not reach further\.")
    assert all(
        note.search(words) for words in (" ".join(first.label.notes), first.plan, " ".join(str(first).split()))
    )
    again = vault.ask("select count(*) as n, sum(age) from people", within="3%")
    assert (again["n"].values, again.label.notes, again.plan) == (first["n"].values, first.label.notes, first.plan)
    assert again.free
    assert vault.ledger.balance().spent.epsilon == spent
    vault.ledger.amend(Budget(100))
    further = vault.ask("select count(*) as n, sum(age) from people", within="3%")
    assert further.cost.cost.epsilon is not None
    assert further.cost.cost.epsilon > Fraction(1024, 1000)
    assert not further.label.notes


def test_a_budget_that_ends_while_nothing_is_known_says_so(tmp_path: Path) -> None:
    """False alarm: once in 10⁹ runs."""
    vault = sealed(tmp_path, Budget("0.01"))
    release = vault.ask("select count(*) from people where age > 105", within="50%", confidence="0.999999999")
    assert "its interval still holds 0, not ± 50 %: the budget does not reach further" in release.label.notes[0]


def test_a_budget_that_does_not_reach_the_first_step_is_said_to_be_too_small(tmp_path: Path) -> None:
    vault = sealed(tmp_path, Budget("0.0005"))
    with pytest.raises(BudgetExceeded, match="it needs 2 times what is left"):
        vault.ask("select count(*) from people", within="5%")
    assert vault.ledger.balance().spent.epsilon == 0


def test_a_relative_width_cannot_be_previewed_and_is_told_so_in_words(vault: Vault) -> None:
    with pytest.raises(QuestionRefused, match=r'cannot be previewed.*vault\.ask\(within="5%"\)') as refused:
        vault.preview("select count(*) from people", within="5%")
    assert "doubling" not in str(refused.value)


def test_a_preview_touches_neither_rows_nor_budget(vault: Vault) -> None:
    (Path(vault.place) / vault.metadata.rows_file).unlink()
    preview = vault.preview("select city, avg(pay) from people group by city", epsilon=1)
    assert preview.affordable
    assert not preview.recorded
    assert preview.cost.epsilon == 1
    assert vault.ledger.balance().spent.epsilon == 0
    assert not vault.preview("select count(*) from people", epsilon=11).affordable


def test_words_that_few_persons_share_are_not_named(tmp_path: Path) -> None:
    """False alarm: each of 250 rare words is named with a probability of at most 1e-12."""
    vault = sealed(tmp_path, Budget(10, "1e-6"))
    release = vault.ask("select word, count(*) from people group by word", epsilon=8, keys_delta="1e-12")
    assert "common" in release.keys["word"]
    assert not any(str(word).startswith("rare") for word in release.keys["word"])
    assert vault.ledger.balance().spent.delta > 0


def test_new_rows_are_another_question_under_the_same_ledger(vault: Vault) -> None:
    vault.ask("select count(*) from people", epsilon=1)
    vault.reseal(pyarrow.table(ROWS).slice(0, 300))
    (Path(vault.place) / "rows.duckdb").unlink()  # those of the old version are not needed
    assert not vault.ask("select count(*) from people", epsilon=1).free
    assert vault.ledger.balance().spent.epsilon == 2
    with Vault(vault.place) as other:
        assert other.metadata.version == 2


def test_other_rows_of_the_same_version_number_are_another_question(vault: Vault, tmp_path: Path) -> None:
    """The directory is put back from a copy, all but its ledger: the next sealing has the number of a lost one."""
    place, before = Path(vault.place), tmp_path / "before"
    shutil.copytree(place, before)
    vault.reseal(pyarrow.table(ROWS).slice(0, 300))
    lost = vault.ask("select count(*) from people", epsilon=1)
    (place / vault.metadata.rows_file).unlink()
    shutil.copy(before / "description.json", place)
    vault.reseal(pyarrow.table(ROWS).slice(0, 600))
    found = vault.ask("select count(*) from people", epsilon=1)
    assert (lost.label.version, found.label.version) == (2, 2)
    assert not found.free
    assert vault.ledger.balance().spent.epsilon == 2
    assert vault.ask("select count(*) from people", epsilon=1).free


def test_accounts_stop_their_analyst_and_nobody_else(vault: Vault) -> None:
    vault.ledger.allot(analyst="ana", budget=Budget(1))
    with Vault(vault.place, analyst="ana") as ana:
        ana.ask("select count(*) from people", epsilon=1)
        with pytest.raises(BudgetExceeded, match="ana"):
            ana.ask("select count(*) from people where age > 30", epsilon="0.1")
    vault.ask("select count(*) from people where age > 30", epsilon="0.1")
    assert vault.ledger.balance().spent.epsilon == Fraction(11, 10)


def test_the_charge_is_on_the_disk_before_the_engine_is_asked(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    class Watching:
        def __init__(self, engine: Any):
            self.engine, self.rows = engine, engine.rows

        def run(self, statement: Any) -> Any:
            seen.append(vault.ledger.balance().spent.epsilon)
            return self.engine.run(statement)

        def close(self) -> None:
            self.engine.close()

    engine = Watching(vault._engine(vault.metadata))
    monkeypatch.setattr(vault, "_engine", lambda _: engine)
    vault.ask("select count(*) from people", epsilon=1)
    assert seen == [1]


def test_rows_that_cannot_be_asked_say_so_before_they_cost(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    class Changed:
        @property
        def rows(self) -> Any:
            raise ParameterError("somebody has changed these rows.")

        def run(self, statement: Any) -> Any:
            raise AssertionError("nobody asks for this")

        def close(self) -> None:
            pass

    monkeypatch.setattr(vault, "_engine", lambda _: Changed())
    with pytest.raises(ParameterError, match="changed"):
        vault.ask("select count(*) from people", epsilon=1)
    assert vault.ledger.balance().charges == 0


KILLED = """
import os, signal, sys
from discreet.vault.vault import Vault
import discreet.query.answer.execute as execute, discreet.ledger.ledger as ledger
vault = Vault(sys.argv[1])
def die(*_, **__): os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[2] == "before the engine": execute._measure = die
if sys.argv[2] == "before the record": ledger.Ledger.record = die
vault.ask("select count(*) from people", epsilon=1)
"""


@pytest.mark.parametrize("moment", ["before the engine", "before the record"])
def test_whoever_is_killed_between_charge_and_record_has_paid_and_pays_once(vault: Vault, moment: str) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, vault.place, moment], check=False, timeout=600)
    assert done.returncode == -signal.SIGKILL
    assert vault.ledger.balance().spent.epsilon == 1
    assert len(vault.ledger.unfinished()) == 1
    vault.ledger.verify()
    assert not vault.ask("select count(*) from people", epsilon=1).free  # no answer was seen
    assert vault.ledger.balance().spent.epsilon == 1
    assert vault.ledger.unfinished() == []


ASKING = """
import sys
from discreet.errors import BudgetExceeded
from discreet.vault.vault import Vault
vault, granted = Vault(sys.argv[1]), 0
for i in range(8):
    try:
        vault.ask(f"select count(*) from people where age > {i + 10 * int(sys.argv[2])}", epsilon="0.5")
        granted += 1
    except BudgetExceeded:
        pass
print(granted)
"""


def test_processes_that_ask_at_the_same_time_never_overspend(tmp_path: Path) -> None:
    vault = sealed(tmp_path, Budget(3))
    commands = [[sys.executable, "-c", ASKING, vault.place, str(i)] for i in range(3)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    granted = [int(process.communicate(timeout=600)[0]) for process in running]
    assert sum(granted) == 6
    assert vault.ledger.balance().spent.epsilon == 3
    vault.ledger.verify()


def test_private_files_are_for_the_owner_alone(vault: Vault) -> None:
    for name in (vault.metadata.rows_file, "ledger.sqlite"):
        assert os.stat(Path(vault.place) / name).st_mode & 0o077 == 0
    public = json.loads((Path(vault.place) / "description.json").read_text())
    assert "rare" not in json.dumps(public)


def test_a_release_is_worth_what_its_label_says(vault: Vault) -> None:
    release = vault.ask("select city, avg(pay) from people where age < 50 group by city", epsilon=1)
    facts = release.label.facts
    assert set(release.label.columns) == {"age", "city", "pay"}
    assert "who" in facts["Privacy"]["Unit"]
    assert release.cost.cost.epsilon == 1


def test_a_person_column_is_not_mistaken_for_one_that_differs_in_capitals(tmp_path: Path) -> None:
    table = pyarrow.table({"a": [1] * 60, "User": [7] * 60, "user": [str(i) for i in range(60)]})
    options: dict[str, Any] = {"person": "User", "budget": Budget(1)}
    with pytest.raises(ParameterError, match="User"):
        Vault.seal(table, to=tmp_path / "a.vault", columns={"a": Integer(0, 9), "user": Text()}, **options)
    with pytest.raises(ParameterError, match="capitals"):
        Vault.seal(
            table.rename_columns(["a", "User", "A"]),
            to=tmp_path / "b.vault",
            columns={"a": Integer(0, 9), "A": Integer(0, 9)},
            **options,
        )


@pytest.mark.parametrize(("collation", "spelling"), [("NOCASE", "OSLO"), ("NOACCENT", "ósló")])
def test_nobodys_spelling_stands_for_that_of_all(tmp_path: Path, collation: str, spelling: str) -> None:
    """A collation of the source would merge the two, and show whichever comes first."""
    with duckdb.connect(tmp_path / "source.duckdb") as source:
        source.execute(f"CREATE TABLE t (who INTEGER, city VARCHAR COLLATE {collation})")
        source.execute(f"INSERT INTO t SELECT 0, '{spelling}' UNION ALL SELECT i, 'oslo' FROM range(1, 400) r(i)")
    vault = Vault.seal(
        Source(str(tmp_path / "source.duckdb"), table="t"),
        to=tmp_path / "t.vault",
        person="who",
        columns={"city": Text()},
        budget=Budget(20, "1e-6"),
    )
    release = vault.ask("select city, count(*) from t group by city", epsilon=10, keys_delta="1e-12")
    assert release.keys["city"] == ("oslo",)


def test_a_question_keeps_to_the_version_it_was_planned_for(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.query.plan.plan import plan

    def then_sealed_anew(*call: Any, **terms: Any) -> Any:
        made = plan(*call, **terms)
        vault.reseal(pyarrow.table(ROWS), rows_per_person=50)
        return made

    monkeypatch.setattr("discreet.vault.ask.plan", then_sealed_anew)
    release = vault.ask("select count(*) from people", epsilon=1)
    assert release.label.version == 1
    assert vault.metadata.version == 2
    assert (
        "people version 1 (" in next(e for e in vault.ledger.entries() if e.kind == "charge").content["question"]
    )


def test_a_name_that_is_there_twice_is_refused_before_anything_is_paid(vault: Vault) -> None:
    with pytest.raises(QuestionRefused, match="Two columns"):
        vault.ask("select city, count(*) as city from people group by city", epsilon=1)
    assert vault.ledger.balance().spent.epsilon == 0


def test_widths_belong_to_aggregates_and_not_to_their_names(vault: Vault) -> None:
    first = vault.ask("select count(*) as p, sum(age) as q from people", within={"p": 5, "q": 900})
    other = vault.ask("select count(*) as q, sum(age) as p from people", within={"p": 900, "q": 5})
    assert other.free
    assert not vault.preview("select count(*) as q, sum(age) as p from people", within={"p": 5, "q": 900}).recorded
    assert first["p"].values == other["q"].values


def test_a_description_that_its_rows_were_not_sealed_with_is_not_believed(vault: Vault) -> None:
    path = Path(vault.place) / "description.json"
    record = json.loads(path.read_text())
    record["rows_per_person"] = 1  # would make the noise too small by a factor of three
    path.write_text(json.dumps(record))
    with pytest.raises(ParameterError, match="not those that its rows were sealed with"):
        Vault(vault.place).ask("select count(*) from people", epsilon=1)
    assert vault.ledger.balance().charges == 0


@pytest.mark.parametrize("harm", [Path.unlink, lambda path: os.truncate(path, 100)])
def test_rows_that_are_lost_or_damaged_are_told_with_the_way_out_and_cost_nothing(
    vault: Vault, harm: Callable[[Path], None]
) -> None:
    harm(Path(vault.place) / "rows.duckdb")
    with pytest.raises(DiscreetError, match=r"vault\.reseal\(source=source\).*estore the file from a copy"):
        vault.ask("select count(*) from people", epsilon=1)
    assert vault.ledger.balance().charges == 0
    vault.reseal(pyarrow.table(ROWS))
    assert vault.ask("select count(*) from people", epsilon=1).value is not None


@pytest.mark.parametrize("budget", [Budget(0), Budget(0, "1e-9")])
def test_a_vault_that_could_never_be_asked_is_not_made(tmp_path: Path, budget: Budget) -> None:
    with pytest.raises(ParameterError, match=r"No question can ever be asked.*Budget\(epsilon=2"):
        Vault.seal(
            pyarrow.table({"n": [1]}), to=tmp_path / "v", person=None, columns={"n": Integer(0, 9)}, budget=budget
        )
    assert not list(tmp_path.iterdir())


def test_what_no_declared_value_meets_is_refused_before_it_costs(vault: Vault) -> None:
    for condition in (
        "age > 110",
        "age < 0",
        "pay >= 20 and pay > 100000.5",
        "age > 60 and age < 50",
        "age = 1.5",
    ):
        for asking in (vault.preview, vault.ask):
            with pytest.raises(
                QuestionRefused, match=r"No row can meet the condition: (age|pay) holds .* from 0 to 1"
            ):
                asking(f"select count(*) from people where {condition}", epsilon=1)
    assert vault.ledger.balance().charges == 0
    for condition in ("age > 109", "age > 110 or city = 'Oslo'", "age <= 200", "not age > 110"):
        assert vault.preview(f"select count(*) from people where {condition}", epsilon=1).affordable


def test_a_float_is_the_decimal_that_was_written_and_no_warning(tmp_path: Path) -> None:
    vault = sealed(tmp_path, Budget(10, "1e-6"))
    text = "select word, count(*) from people group by word"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = vault.ask(text, epsilon=0.3, keys_delta=1e-9)
        assert vault.preview(text, epsilon=0.3, keys_delta=1e-9).recorded
        assert vault.ask(text, epsilon="0.3", keys_delta="1e-9").free
    assert "ε = 0.3" in str(first.label)


def test_an_engine_without_enough_memory_says_nothing_of_rows_and_keeps_the_charge(tmp_path: Path) -> None:
    """DuckDB's own words tell how much memory the rows took. False alarm: once in 10⁴⁰ runs."""
    persons = np.arange(1_500_000)  # a million is too many already, with 1 to 64 threads
    Vault.seal(
        pyarrow.table({"who": persons, "x": persons}),
        to=tmp_path / "t.vault",
        person="who",
        rows_per_person=2,  # with one row for each, the weights add up without a group for every person
        columns={"x": Integer(0, 1_499_999)},
        budget=Budget(100),
    ).close()
    with Vault(tmp_path / "t.vault", memory="8MB") as vault:
        for charges, least in enumerate((0, 1), start=1):
            with pytest.raises(DatabaseUnavailable, match="What was charged stays charged") as caught:
                vault.ask(f"select count(distinct who) from t where x >= {least}", epsilon=1)
            assert (caught.value.__cause__, caught.value.__context__) == (None, None)
            assert not re.search("MiB|Exception|used", str(caught.value))
            assert vault.ledger.balance().charges == charges
        few = vault.ask("select count(distinct who) from t where x < 1000", epsilon=10)
        assert few.value == pytest.approx(1000, abs=10)


@pytest.mark.parametrize("most", [2**31, 2**40, 2**61])
def test_spreads_of_wide_columns_are_answered_or_refused_before_they_cost(tmp_path: Path, most: int) -> None:
    vault = Vault.seal(
        pyarrow.table({"x": [1]}),
        to=tmp_path / "wide.vault",
        person=None,
        columns={"x": Integer(0, most)},
        budget=Budget(1),
    )
    for question in ("select variance(x) from wide", "select stddev(x) from wide", "select median(x) from wide"):
        before = vault.ledger.balance().charges
        try:
            vault.preview(question, epsilon="0.1")
        except (ParameterError, QuestionRefused):
            with pytest.raises((ParameterError, QuestionRefused)):
                vault.ask(question, epsilon="0.1")
            assert vault.ledger.balance().charges == before
        else:
            assert vault.ask(question, epsilon="0.1").groups == 1


def test_a_notebook_shows_the_table_and_its_ledger_in_one_frame(vault: Vault) -> None:
    page = vault._repr_html_()
    assert page.count("<style>") == 1
    assert page.count("<table>") == 2
    assert "&lt;" not in page  # the ledger is part of the page, not text in it
