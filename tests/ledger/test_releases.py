"""The same question is free, one charge is for one answer, and the ledger shows which account spent what."""

import json
from collections.abc import Callable, Iterator
from fractions import Fraction

import pytest

from discreet import privacy
from discreet.errors import ParameterError
from discreet.ledger import Budget, Ledger

TENTH = privacy.Pure("0.1")


@pytest.fixture
def ledger(place: str) -> Iterator[Ledger]:
    with Ledger.create(place, Budget(1)) as ledger:
        yield ledger


@pytest.mark.parametrize("question", ["select 1", "select 'é\n\u2028\x00'", "\udc80", "'; --", "x" * 100_000])
@pytest.mark.parametrize("answer", ['{"value": 1042}', '"\\ud800 é\u2028"', "[" + "1," * 10_000 + "1]"])
def test_a_recorded_answer_is_found_to_the_letter(ledger: Ledger, question: str, answer: str) -> None:
    assert ledger.find(question) is None
    ledger.record(ledger.reserve(TENTH, question=question), answer)
    assert ledger.find(question) == answer
    assert ledger.find(question + " ") is None
    ledger.verify()


def test_a_release_and_a_failure_have_the_time_of_their_charge(place: str, ledger: Ledger) -> None:
    """A time of their own, or a hash of it, would tell how long rows were read."""
    kept, failed = (ledger.reserve(TENTH, question=text) for text in ("kept", "failed"))
    with Ledger.open(place) as later:
        later.fail(failed, "ValueError")
        later.record(kept, "1")
    assert [entry.time for entry in ledger.entries()][-2:] == [failed.time, kept.time]
    assert kept.time < failed.time
    again = ledger.reserve(TENTH, question="a later step", time=kept.time)
    assert again.time == kept.time
    ledger.verify()


def test_an_answer_is_found_by_whoever_opens_the_ledger_later(place: str, ledger: Ledger) -> None:
    ledger.record(ledger.reserve(TENTH, question="how many?"), "42")
    ledger.close()
    with Ledger.open(place) as again:
        assert again.find("how many?") == "42"
        assert again.balance().spent.epsilon == Fraction(1, 10)


def test_asked_twice_before_it_was_answered_the_first_answer_stays(ledger: Ledger) -> None:
    first, second = (ledger.reserve(TENTH, question="how many?") for _ in range(2))
    ledger.record(second, "2")
    ledger.record(first, "1")
    assert ledger.find("how many?") == "2"
    assert ledger.balance().charges == 2


def test_a_charge_without_a_release_stays_spent_and_is_listed(ledger: Ledger) -> None:
    lost = ledger.reserve(TENTH, question="lost")
    ledger.record(ledger.reserve(TENTH, question="found"), "1")
    assert [entry.number for entry in ledger.unfinished()] == [lost.number]
    assert ledger.find("lost") is None
    assert ledger.balance().spent.epsilon == Fraction(1, 5)
    assert not hasattr(ledger, "refund")


def test_a_charge_says_what_it_left_behind(ledger: Ledger) -> None:
    ledger.allot(analyst="ana", budget=Budget("0.5"))
    charge = ledger.reserve(TENTH, question="how many?", analyst="ana", purpose="report")
    theirs = (ledger.balance(), ledger.balance(analyst="ana"), ledger.balance(purpose="report"))
    assert charge.balances == theirs
    ledger.reserve(TENTH, question="how many more?")
    assert charge.balances == theirs
    assert charge.balances[0].charges == 1


def test_the_answer_and_the_balances_are_of_one_moment(ledger: Ledger) -> None:
    ledger.allot(analyst="ana", budget=Budget("0.5"))
    before = ledger.standing("how many?", analyst="ana")
    assert before.answer is None
    assert before.balances == (ledger.balance(), ledger.balance(analyst="ana"))
    charge = ledger.reserve(TENTH, question="how many?", analyst="ana")
    assert ledger.standing("how many?").answer is None
    ledger.record(charge, "42")
    after = ledger.standing("how many?", analyst="ana")
    assert after.answer == "42"
    assert after.balances == charge.balances
    assert ledger.standing("how many?", purpose="report").balances[1].spent.epsilon == 0


def test_answers_may_be_recorded_in_any_order(ledger: Ledger) -> None:
    charges = [ledger.reserve(TENTH, question=f"question {i}") for i in range(4)]
    for i in (3, 0, 2, 1):  # the newest entry, an old one, and others between releases
        ledger.record(charges[i], str(i))
    assert [ledger.find(f"question {i}") for i in range(4)] == ["0", "1", "2", "3"]
    assert ledger.unfinished() == []
    ledger.verify()


def test_one_charge_pays_for_one_answer(ledger: Ledger) -> None:
    charge = ledger.reserve(TENTH, question="how many?")
    ledger.record(charge, "1")
    with pytest.raises(ParameterError, match=r"has its answer already\. Reserve again"):
        ledger.record(charge, "2")
    assert ledger.find("how many?") == "1"


def test_a_charge_of_another_ledger_pays_for_nothing(new_place: Callable[[], str], ledger: Ledger) -> None:
    with Ledger.create(new_place(), Budget(1)) as other:
        foreign = other.reserve(TENTH, question="how many?")
        for _ in range(2):
            with pytest.raises(ParameterError, match="was not made by this ledger"):
                ledger.record(foreign, "1")
            ledger.reserve(TENTH, question="how many?")
    assert ledger.find("how many?") is None


def test_answers_are_text_and_questions_are_not_empty(ledger: Ledger) -> None:
    with pytest.raises(ParameterError, match="answer must be JSON text"):
        ledger.record(ledger.reserve(TENTH, question="?"), 42)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="canonical text"):
        ledger.reserve(TENTH, question="")


def test_entries_say_everything(ledger: Ledger) -> None:
    ledger.reserve([TENTH * 2, privacy.Laplace(scale=10)], question="how many?", analyst="ana", purpose="report")
    entry = list(ledger.entries())[-1]
    content = json.loads(entry.body)
    assert (content["question"], content["analyst"], content["purpose"]) == ("how many?", "ana", "report")
    assert content["losses"] == ["2 × Pure(epsilon=1/10)", "Laplace(scale=10, sensitivity=1)"]
    assert content["cost"]["epsilon"] == "3/10"
    assert content["after"]["vault"]["spent"]["epsilon"] == "3/10"


def test_entries_can_be_walked_while_others_are_added(ledger: Ledger) -> None:
    walk = ledger.entries()
    assert next(walk).kind == "opening"
    ledger.reserve(TENTH, question="?")
    assert [entry.number for entry in walk] == [2]


def test_the_table_shows_who_spent_what_and_what_is_left(place: str, ledger: Ledger) -> None:
    ledger.allot(analyst="ana", budget=Budget("0.5"))
    ledger.allot(purpose="<b>報告</b>", budget=Budget(1, "1e-9"))
    ledger.record(ledger.reserve(TENTH, question="?", analyst="ana"), "1")
    ledger.reserve(TENTH, question="?", analyst="bob", purpose="<b>報告</b>")
    title, head, *lines = str(ledger).splitlines()
    assert title == f"{place}: 2 questions, 1 without an answer"
    assert " ".join(head.split()) == "budget used left questions"
    assert lines[0].split("  ")[0] == "the whole vault"
    assert [line.split("  ")[0] for line in lines[1:]] == [
        'analyst "ana"',
        'analyst "bob"',
        'purpose "<b>報告</b>"',
    ]
    assert " ".join(lines[1].split()) == 'analyst "ana" ε = 0.5 20 % 80 % 1'
    assert " ".join(lines[2].split()) == 'analyst "bob" – 10 % of the vault – 1'
    page = ledger._repr_html_()
    assert "&lt;b&gt;報告&lt;/b&gt;" in page
    assert "<b>" not in page


def test_balances_read_as_sentences(ledger: Ledger) -> None:
    ledger.allot(purpose="report", budget=Budget(1, "1e-9"))
    ledger.reserve(TENTH, question="?", analyst="ana", purpose="report")
    assert [str(balance) for balance in ledger.balances()] == [
        "the whole vault: 10 % used by 1 question, 90 % left (budget: ε = 1).",
        'analyst "ana": ρ = 0.00499584 spent on 1 question, no budget of its own.',
        'purpose "report": 34.7 % used by 1 question, 65.3 % left (budget: ε = 1 at δ = 1e-9).',
    ]
    assert repr(ledger).startswith("Ledger('")
