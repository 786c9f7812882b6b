"""A question to devices, from its design to its estimates, as a telemetry team types it."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
from pathlib import Path

import pytest
from typer.testing import Result

from discreet import noise
from discreet.cli import exit_codes
from tests.cli.desk import run, told

DAYS = ("--from", "2026-01-01", "--to", "2026-12-31")
MAY = ("--day", "2026-05-04")
ANSWERS = "who,cheated\n" + "\n".join(f"{i},{'yes' if i % 5 == 0 else 'no'}" for i in range(5000)) + "\n"


PYTHON = re.compile(r"\w\(|\b\w+=|\b(?:server|collection|aggregator|signing)\.\w")


def in_options(text: str) -> bool:
    """Whether an error names options, and no Python. An error without a fix is shown as it is."""
    return "Try: " not in text or not PYTHON.search(text)


def designed(*options: str, name: str = "cheating") -> Result:
    return run("local", "design", name, *DAYS, "--key", "survey.key", "--out", f"{name}.json", *options)


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("signed")
    names = {"--key": "survey.key", "--out": "cheating.json"}
    places = [str(each) for option, name in names.items() for each in (option, folder / name)]
    made = run("local", "design", "cheating", *DAYS, *places, "--values", "yes,no", "--epsilon", "2")
    assert made.exit_code == 0, made.output
    (folder / "answers.csv").write_text(ANSWERS, encoding="utf-8")
    return folder


@pytest.fixture
def survey(signed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a signed survey of yes and no, and answers to it of which a fifth are yes."""
    shutil.copytree(signed, tmp_path / "survey")
    monkeypatch.chdir(tmp_path / "survey")
    return Path("cheating.json")


def encoded(survey: Path, *options: str, out: str = "may.batch") -> Result:
    with noise.deterministic(4):
        return run("local", "encode", survey, "answers.csv", "--column", "cheated", "--out", out, *MAY, *options)


def counted(survey: Path, *sources: str, state: str = "may.state") -> Result:
    return run("local", "aggregate", survey, *sources, "--state", state)


def test_from_a_design_to_estimates_and_the_three_promises(survey: Path) -> None:
    assert encoded(survey).exit_code == 0
    assert "5,000 reports" in counted(survey, "may.batch").stdout
    found = run("local", "estimate", survey, "may.state", "--csv", "may.csv", "--plot", "may.svg")
    assert found.exit_code == 0, found.output
    for words in (
        "unbiased",
        "consistent",
        "malicious",
        "interval of 0.95",
        "Local: ",
        "Lifetime: ",
        "Shuffled: ",
    ):
        assert words in found.stdout
    assert "<svg" in Path("may.svg").read_text(encoding="utf-8")
    document = told("local", "estimate", survey, "may.state", "--crowd", "5000")
    shares = {row["value"]: row for row in document["values"]}
    assert abs(shares["yes"]["unbiased"] - 0.2) < 0.06  # five standard errors
    assert shares["yes"]["low"] < shares["yes"]["unbiased"] < shares["yes"]["high"]
    assert shares["yes"]["consistent"] + shares["no"]["consistent"] == pytest.approx(1)
    assert (document["epsilon"], document["lifetime_epsilon"]) == ("2", "2")
    assert document["receipt"]["spent"] == {"exact": "2", "value": 2.0}
    assert document["receipt"]["left"] is None
    assert document["label"]["Privacy"]["Unit"] == "one device"
    assert float(document["shuffled_epsilon"]) < 0.3
    assert document["shuffled_among"] == 4950  # a hundredth may lie
    with open("may.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["value"] for row in rows] == ["yes", "no"]
    assert float(rows[0]["unbiased"]) == shares["yes"]["unbiased"]


def test_the_protocol_is_chosen_and_the_reason_told(survey: Path) -> None:
    made = designed("--size", "1000", "--epsilon", "1", name="pages")
    assert made.exit_code == 0, made.output
    for words in (
        "projective: it reaches",
        "n·Var",
        "hadamard",
        "Local: ",
        "Lifetime: ",
        "Shuffled: ",
        "pages.pub",
    ):
        assert words in made.stdout
    written = json.loads(Path("pages.json").read_text())
    assert json.loads(written["collection"])["protocol"] == "projective"
    few = run("local", "design", "few", *DAYS, "--key", "survey.key", "--out", "few.json", "--size", "1000",
              "--epsilon", "1", "--bits", "10", "--json")  # fmt: skip
    assert json.loads(few.stdout)["protocol"] == "hadamard"
    assert oct(os.stat("survey.key").st_mode)[-3:] == "600"


def test_a_life_in_two_steps_costs_what_was_asked(survey: Path) -> None:
    terms = ("--values", "a,b,c", "--epsilon", "1", "--policy", "two-step")
    assert "--lifetime 2" in designed(*terms, name="daily").stderr
    made = told(
        "local", "design", "daily", *DAYS, "--key", "survey.key", "--out", "daily.json", *terms, "--lifetime", "2"
    )
    assert (made["epsilon"], made["lifetime_epsilon"], made["protocol"]) == ("1", "2", "two-step-grr")


def test_a_device_answers_the_same_question_the_same_way(survey: Path) -> None:
    designed("--values", "yes,no", "--epsilon", "1", "--policy", "memoised", name="memory")
    Path("three.txt").write_text("yes\nno\nyes\n")
    reports = []
    for day in ("2026-05-04", "2026-05-05"):
        through = ("--devices", "phones", "--day", day)
        made = run("local", "encode", "memory.json", "three.txt", "--out", f"{day}.batch", *through)
        assert made.exit_code == 0, made.output
        data = Path(f"{day}.batch").read_bytes()[11:]
        reports.append([data[start + 25 : start + 26] for start in range(0, len(data), 26)])
    assert reports[0] == reports[1]
    assert len(reports[0]) == len(list(Path("phones").iterdir())) == 3


def test_a_device_that_has_spent_its_life_is_silent(survey: Path) -> None:
    Path("one.txt").write_text("yes\n")
    once = ("local", "encode", survey, "one.txt", "--devices", "phones")
    assert run(*once, "--out", "a.batch", "--day", "2026-05-04").exit_code == 0
    again = run(*once, "--out", "b.batch", "--day", "2026-06-04")
    assert again.exit_code == exit_codes.OVERSPENT
    assert not Path("b.batch").exists()


def test_what_devices_paid_for_is_written_although_others_are_silent(survey: Path) -> None:
    Path("one.txt").write_text("yes\n")
    Path("three.txt").write_text("yes\nno\nno\n")
    through = ("--devices", "phones", *MAY)
    run("local", "encode", survey, "one.txt", *through, "--out", "a.batch")
    made = run("local", "encode", survey, "three.txt", *through, "--out", "b.batch")
    assert made.exit_code == 0, made.output
    assert "Wrote 2 reports" in made.stdout
    assert "1 device was silent: " in made.stdout
    assert in_options(made.stdout)
    counts = told("local", "aggregate", survey, "b.batch", "--state", "b.state")
    assert counts["reports"] == 2


def test_devices_keep_to_the_caps_that_they_are_given(survey: Path) -> None:
    designed("--values", "yes,no", "--epsilon", "1", "--reports", "9", name="often")
    Path("one.txt").write_text("yes\n")
    caps = ("--devices", "phones", "--lifetime", "2", "--per-period", "1")
    exits = [
        run("local", "encode", "often.json", "one.txt", *caps, "--day", f"2026-05-0{day}", "--out", f"{day}.batch")
        for day in (1, 2, 3)
    ]
    assert [each.exit_code for each in exits] == [0, 0, exit_codes.OVERSPENT]


def test_a_promise_among_a_crowd_is_not_one_among_all_that_was_counted(survey: Path) -> None:
    encoded(survey)
    counted(survey, "may.batch")
    document = told("local", "estimate", survey, "may.state")
    assert document["shuffled_among"] == 99  # the minimum cohort, of which a hundredth may lie
    assert float(document["shuffled_epsilon"]) > 0.5
    assert document["shuffled_noise"] == "fresh"
    more = run("local", "estimate", survey, "may.state", "--crowd", "5001")
    assert more.exit_code == exit_codes.BAD_INPUT
    listed = run("local", "estimate", survey, "may.state", "--candidates", "answers.csv")
    assert "are listed" in listed.stderr


def test_no_crowd_is_promised_where_devices_repeat_their_reports(survey: Path) -> None:
    terms = ("--values", "yes,no", "--epsilon", "1", "--minimum-cohort", "1000")
    more = {
        "often": ("--reports", "9"),
        "memory": ("--policy", "memoised"),
        "steps": ("--policy", "two-step", "--lifetime", "4"),
    }
    said = {name: " ".join(designed(*terms, *each, name=name).stdout.split()) for name, each in more.items()}
    assert "k of a device in k batches cost k times that" in said["often"]
    assert "Shuffled: one report among 1,000 costs ε = 1, as without a shuffler." in said["memory"]
    assert "k times" not in said["memory"]
    assert "counts the fresh noise of reports alone" in said["steps"]
    told_as = {
        name: told("local", "simulate", f"{name}.json", "--devices", "2000", "--population", "uniform")
        for name in more
    }
    assert {name: each["shuffled_noise"] for name, each in told_as.items()} == {
        "often": "fresh",
        "memory": "repeated",
        "steps": "second step",
    }
    assert told_as["memory"]["shuffled_epsilon"] == "1"
    assert float(told_as["often"]["shuffled_epsilon"]) < float(told_as["steps"]["shuffled_epsilon"]) < 0.2


def test_what_two_servers_both_counted_is_said_with_the_answer(survey: Path) -> None:
    encoded(survey)
    for place in ("north", "south"):
        counted(survey, "may.batch", state=f"{place}.state")
    both = run("local", "aggregate", survey, "north.state", "south.state", "--state", "all.state")
    assert "5,000 of them were counted by another server before" in " ".join(both.stdout.split())
    twice = told("local", "estimate", survey, "all.state")
    once = told("local", "estimate", survey, "north.state")
    assert (twice["reports"], twice["repeated"], once["repeated"]) == (10_000, 5000, 0)
    assert twice["values"][0]["standard_error"] == pytest.approx(once["values"][0]["standard_error"])
    assert "5,000 of these 10,000 were counted by another part before" in " ".join(twice["words"])


def test_a_batch_that_is_given_twice_is_counted_once(survey: Path) -> None:
    encoded(survey)
    twice = told("local", "aggregate", survey, "may.batch", "may.batch", "--state", "twice.state")
    assert (twice["reports"], twice["refused"]) == (5000, {"replayed": 5000})
    encoded(survey, "--no-identified", out="bare.batch")
    bare = run("local", "aggregate", survey, "bare.batch", "--state", "bare.state", "--json")
    assert json.loads(bare.stdout)["refused"] == {"without id": 5000}
    assert "--no-identified" in bare.stderr
    anyway = ("aggregate", survey, "bare.batch", "--no-identified", "--state", "anyway.state")
    assert told("local", *anyway)["reports"] == 5000


def test_reports_of_one_period_are_told_from_those_of_a_year(survey: Path) -> None:
    designed("--values", "yes,no", "--epsilon", "1", "--policy", "memoised", name="memory")
    with noise.deterministic(4):
        run("local", "encode", "memory.json", "answers.csv", "--column", "cheated", "--out", "may.batch", *MAY)
    counted(Path("memory.json"), "may.batch", state="year.state")
    refused = run("local", "estimate", "memory.json", "year.state")
    assert refused.exit_code == exit_codes.REFUSED
    assert "--state FILE --period DAY (counts one period by itself)" in refused.stderr
    assert in_options(refused.stderr)
    day = told("local", "aggregate", "memory.json", "may.batch", "--period", "2026-05-04", "--state", "day.state")
    assert day["period"] == ["2026-05-04", "2026-05-04"]
    found = told("local", "estimate", "memory.json", "day.state")
    assert (found["reports_of_a_device"], found["reports"]) == (1, 5000)
    other = ("--period", "2026-05-05", "--state", "day.state", "--add")
    assert run("local", "aggregate", "memory.json", "may.batch", *other).exit_code == exit_codes.BAD_INPUT
    both = run("local", "aggregate", "memory.json", "year.state", "--add", "--state", "day.state")
    assert both.exit_code == exit_codes.BAD_INPUT
    assert "year.state is not of the period of 2026-05-04 alone" in both.stderr
    assert not PYTHON.search(both.stderr)


def test_counts_of_one_are_said_of_one(survey: Path) -> None:
    designed("--values", "yes,no", "--epsilon", "1", "--policy", "memoised", name="memory")
    Path("one.txt").write_text("yes\n")
    memory = Path("memory.json")
    made = run("local", "encode", memory, "one.txt", "--out", "one.batch", *MAY)
    assert "Wrote 1 report to" in made.stdout
    assert "1 report is in one.state" in counted(memory, "one.batch", state="one.state").stdout
    refused = run("local", "estimate", memory, "one.state").stderr
    assert "There is 1 report of 'memory', and the minimum cohort is 100 devices." in refused
    assert "They may be of 1 device, as one may send 365" in refused


def test_numbers_outside_of_a_domain_are_its_null(survey: Path) -> None:
    designed("--size", "12", "--epsilon", "9", "--null", "11", name="hours")
    Path("hours.txt").write_text("3\nnone\n03\n12\n")
    for out, more in (("a.batch", ()), ("b.batch", ("--devices", "phones"))):
        with noise.deterministic(1):
            made = run("local", "encode", "hours.json", "hours.txt", *more, *MAY, "--out", out)
        assert made.exit_code == 0, made.output
    assert "4 reports" in made.stdout


def test_a_life_of_rappor_costs_what_was_asked(survey: Path) -> None:
    terms = ("--policy", "two-step", "--protocol", "rappor", "--epsilon", "1", "--lifetime", "3")
    where = (*DAYS, "--key", "survey.key", "--json")
    for name, domain in (("sites", ()), ("pages", ("--size", "20"))):
        made = run("local", "design", name, *where, "--out", f"{name}.json", *terms, *domain)
        assert made.exit_code == 0, made.output
        said = json.loads(made.stdout)
        assert float(said["lifetime_epsilon"]) <= 3
        assert float(said["epsilon"]) <= 1


@pytest.mark.parametrize("keys", ["", "0" * 64, "01" + "0" * 62, "ab" * 32 + "\n" + "ab" * 32])
def test_what_is_not_one_key_opens_nothing(survey: Path, keys: str) -> None:
    survey.with_suffix(".pub").write_text(keys + "\n")
    refused = encoded(survey)
    assert refused.exit_code == exit_codes.BAD_INPUT
    assert "key" in refused.stderr
    assert "signature is not by" not in " ".join(refused.stderr.split())


def test_servers_add_up_and_nothing_is_counted_twice_unasked(survey: Path) -> None:
    encoded(survey, out="north.batch")
    encoded(survey, out="south.batch")
    for place in ("north", "south"):
        assert counted(survey, f"{place}.batch", state=f"{place}.state").exit_code == 0
    both = told("local", "aggregate", survey, "north.state", "south.state", "--state", "all.state")
    assert (both["reports"], both["refused"], both["repeated"]) == (10_000, {}, 0)
    again = counted(survey, "north.batch", state="all.state")
    assert again.exit_code == exit_codes.BAD_INPUT
    assert "--add" in again.stderr
    added = told("local", "aggregate", survey, "north.batch", "--state", "all.state", "--add")
    assert (added["reports"], added["refused"]) == (10_000, {"replayed": 5000})


def test_what_is_no_report_is_refused_and_counted(survey: Path) -> None:
    encoded(survey)
    data = bytearray(Path("may.batch").read_bytes())
    data[-1] = 7  # no answer of a survey of two
    Path("bad.batch").write_bytes(bytes(data) + b"what is this?")
    assert told("local", "aggregate", survey, "bad.batch", "--state", "bad.state") == {
        "reports": 4999,
        "new": 4999,
        "refused": {"malformed": 1, "invalid payload": 1},
        "repeated": 0,
        "period": None,
        "file": "bad.state",
    }


@pytest.mark.parametrize(
    ("source", "refused", "remedy"),
    [
        ("answers.csv", {"malformed": 1}, "name the file that discreet local encode wrote"),
        ("nothing.batch", {"malformed": 1}, "name the file that discreet local encode wrote"),
        ("other.batch", {"other collection": 2}, "the one that they were made for"),
    ],
)
def test_where_all_is_refused_nothing_is_written(
    survey: Path, source: str, refused: dict[str, int], remedy: str
) -> None:
    Path("nothing.batch").write_bytes(b"")
    if source == "other.batch":
        Path("two.txt").write_text("yes\nno\n")
        designed("--values", "yes,no", "--epsilon", "1", name="other")
        run("local", "encode", "other.json", "two.txt", "--out", "other.batch", *MAY)
    found = run("local", "aggregate", survey, source, "--state", "may.state", "--json")
    assert found.exit_code == exit_codes.CAUGHT
    document = json.loads(found.stdout)
    assert (document["reports"], document["refused"], document["file"]) == (0, refused, None)
    assert "may.state was not written" in found.stderr
    assert f"{source} was refused" in found.stderr
    assert remedy in found.stderr
    assert not Path("may.state").exists()


def test_counts_stay_as_they_were_where_all_is_refused(survey: Path) -> None:
    Path("one.txt").write_text("yes\n")
    run("local", "encode", survey, "one.txt", "--out", "one.batch", *MAY)
    assert counted(survey, "one.batch").exit_code == 0
    before = Path("may.state").read_bytes()
    added = run("local", "aggregate", survey, "answers.csv", "--state", "may.state", "--add")
    assert added.exit_code == exit_codes.CAUGHT
    assert "may.state was not changed" in added.stderr
    assert Path("may.state").read_bytes() == before


def test_reports_of_other_days_are_refused_with_the_days_that_count(survey: Path) -> None:
    Path("one.txt").write_text("yes\n")
    run("local", "encode", survey, "one.txt", "--out", "one.batch", *MAY)
    days = ("--received", "2026-05-04", "--period", "2026-05-05")
    found = run("local", "aggregate", survey, "one.batch", "--state", "may.state", *days)
    assert found.exit_code == exit_codes.CAUGHT
    assert "1 out of window. They are not of the days from 2026-05-05 to 2026-05-05." in found.stderr


def test_a_batch_is_not_written_over(survey: Path) -> None:
    Path("may.batch").write_bytes(b"of others")
    again = encoded(survey, "--devices", "phones")
    assert again.exit_code == exit_codes.BAD_INPUT
    assert "The file for --out exists already, and its reports would be lost (found: may.batch)" in again.stderr
    assert Path("may.batch").read_bytes() == b"of others"
    assert not Path("phones").exists()  # so that no device has paid


def test_a_table_is_not_taken_for_values_that_have_a_label_for_what_is_none(survey: Path) -> None:
    designed("--values", "yes,no,other", "--epsilon", "1", "--null", "other", name="any")
    taken = run("local", "encode", "any.json", "answers.csv", "--out", "any.batch", *MAY)
    assert taken.exit_code == exit_codes.BAD_INPUT
    assert "--column cheated" in taken.stderr
    Path("notes.txt").write_text("well, no\nyes\n")
    assert run("local", "encode", "any.json", "notes.txt", "--out", "any.batch", *MAY).exit_code == 0


def test_too_few_reports_are_not_estimated(survey: Path) -> None:
    Path("answers.csv").write_text(ANSWERS[:200].rpartition("\n")[0] + "\n")
    encoded(survey)
    counted(survey, "may.batch")
    refused = run("local", "estimate", survey, "may.state")
    assert refused.exit_code == exit_codes.REFUSED
    assert "minimum cohort is 100" in refused.stderr


def test_a_changed_collection_is_not_believed(survey: Path) -> None:
    text = survey.read_text()
    survey.write_text(text.replace("2026-12-31", "2027-12-31"))
    refused = encoded(survey)
    assert refused.exit_code == exit_codes.BAD_INPUT
    assert "signature" in refused.stderr
    assert not Path("may.batch").exists()


def test_a_rehearsal_lays_estimates_beside_the_truth(survey: Path) -> None:
    Path("students.csv").write_text("value,count\nyes,1000\nno,4000\n")
    with noise.deterministic(3):
        shown = run("local", "simulate", survey, "--population", "students.csv", "--plot", "rehearsal.svg")
    assert shown.exit_code == 0, shown.output
    for words in (
        "0.2000",
        "0.8000",
        "truth",
        "of the intervals contain the truth",
        "Local: ",
        "Shuffled: ",
        "(50)",
    ):
        assert words in shown.stdout
    assert "Simulation of" in Path("rehearsal.svg").read_text(encoding="utf-8")
    terms = ("--size", "50", "--epsilon", "2", "--devices", "20000", "--population", "uniform")
    with noise.deterministic(3):
        lied = told("local", "simulate", *terms, "--malicious", "0.05")
    assert (lied["malicious_devices"], lied["malicious"]) == (1000, 0.05)
    assert max(row["estimate"] for row in lied["values"]) > 0.08  # of which 0.02 are true
    assert len(lied["values"]) == 50


def test_words_that_nobody_listed_are_found(survey: Path) -> None:
    made = designed(
        "--alphabet", "abc", "--length", "3", "--protocol", "prefix-tree", "--epsilon", "4", name="words"
    )
    assert made.exit_code == 0, made.output
    Path("words.txt").write_text("cab\n" * 6000 + "bac\n" * 4000)
    with noise.deterministic(2):
        run("local", "encode", "words.json", "words.txt", "--out", "words.batch", *MAY)
    counted(Path("words.json"), "words.batch", state="words.state")
    found = told("local", "estimate", "words.json", "words.state")
    assert [row["value"] for row in found["values"]][:2] == ["cab", "bac"]
    assert found["values"][0]["consistent"] is None


def test_texts_that_nobody_listed_are_asked_for_by_name(survey: Path) -> None:
    designed("--protocol", "hcms", "--epsilon", "4", name="sites")
    Path("sites.txt").write_text(f"a, b\n{'c,' * 100_000}\n")  # texts may have commas, and be long
    made = run("local", "encode", "sites.json", "sites.txt", "--out", "sites.batch", *MAY)
    assert made.exit_code == 0, made.output
    counted(Path("sites.json"), "sites.batch", state="sites.state")
    refused = run("local", "estimate", "sites.json", "sites.state")
    assert refused.exit_code == exit_codes.BAD_INPUT
    assert "Try: --candidates FILE." in refused.stderr
    assert in_options(refused.stderr)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (
            ("design", "x", "--epsilon", "1", "--values", "a,b", "--size", "3"),
            "The domain is given twice. Try: --values yes,no, or --labels FILE, or --size 1000.",
        ),
        (("design", "x", "--epsilon", "1", "--values", "a,b", "--lifetime", "3"), "--policy two-step"),
        (
            ("design", "x", "--epsilon", "1", "--protocol", "hcms", "--lifetime", "3"),
            "--lifetime is for --policy two-step",
        ),
        (
            ("design", "x", "--epsilon", "1", "--protocol", "hcms", "--policy", "two-step", "--lifetime", "3"),
            "hcms has no second step",
        ),
        (("encode", "cheating.json", "answers.csv", "--out", "a.batch", "--lifetime", "3"), "--devices phones"),
        (
            ("design", "x", "--epsilon", "1", "--size", "9", "--protocol", "grr", "--bits", "9"),
            "--bits is only for choosing a protocol. Try: leave out --bits.",
        ),
        (("design", "x", "--epsilon", "0", "--values", "a,b"), "epsilon"),
        (("encode", "cheating.json", "gone.txt", "--out", "a.batch"), "does not exist (found: gone.txt)"),
        (("encode", "cheating.json", "answers.csv", "--out", "no/folder.batch"), "--out"),
        (("encode", "cheating.json", "answers.csv", "--column", "lied", "--out", "a.batch"), "who, cheated"),
        (
            ("encode", "cheating.json", "answers.csv", "--out", "a.batch"),
            "name the one that has the values (found: who, cheated). Try: --column cheated.",
        ),
        (
            ("encode", "cheating.json", "heads.txt", "--out", "a.batch"),
            "(found: 'cheated'). Try: --column cheated (if it is the name of a column).",
        ),
        (("encode", "cheating.json", "maybe.txt", "--out", "a.batch"), "Value 2 of 2"),
        (("encode", "cheating.json", "answers.csv", "--out", "a.batch", "--day", "May"), "--day 2026-05-01"),
        (("encode", "cheating.json", "answers.csv", "--out", "a.batch", "--day", "2025-05-01"), "collects from"),
        (("aggregate", "cheating.json", "gone.batch", "--state", "a.state"), "Nothing was counted"),
        (
            ("estimate", "cheating.json", "answers.csv"),
            "answers.csv: This is not a state",
        ),
        (("estimate", "cheating.json", "gone.state"), "Name the file that discreet local aggregate wrote"),
        (("estimate", "nowhere.json", "answers.csv"), "does not exist (found: nowhere.json)"),
        (("estimate", "answers.csv", "answers.csv"), "--public FILE"),
        (
            ("estimate", "answers.csv", "a.state", "--public", "cheating.pub"),
            "answers.csv: This is not a signed collection",
        ),
        (
            ("design", "x", "--epsilon", "1"),
            "The domain of the answers is missing. Try: --values yes,no, or --labels FILE, or --size 1000.",
        ),
        (
            ("design", "x", "--epsilon", "1", "--policy", "two-step", "--lifetime", "2"),
            "The domain of the answers is missing. Try: --values yes,no, or --labels FILE, or --size 1000.",
        ),
        (("design", "x", "--epsilon", "1", "--alphabet", "abc"), "--protocol prefix-tree"),
        (("design", "x", "--epsilon", "1", "--protocol", "grr"), "grr is not for an open dictionary"),
        (
            ("design", "x", "--epsilon", "1", "--values", "a,b", "--protocol", "prefix-tree"),
            "prefix-tree is for words",
        ),
        (
            ("design", "x", "--epsilon", "1", "--values", "a,b", "--alphabet", "ab", "--protocol", "grr"),
            "Give an alphabet or a domain, not both. Leave out the domain.",
        ),
        (("design", "x", "--epsilon", "1", "--values", "a,b", "--null", "c"), "label of the domain"),
        (("design", "x", "--epsilon", "1", "--values", "a"), "2 or more"),
        (
            ("design", "x", "--epsilon", "1", "--values", "a,b", "--policy", "twice"),
            "one of none, memoised, two-step",
        ),
        (("design", "x", "--epsilon", "1", "--size", "9", "--bits", "1"), "one of 9 values in 1 bits"),
        (
            ("design", "x", "--epsilon", "one", "--size", "9"),
            "is not a number",
        ),
        (("estimate", "cheating.json", "answers.csv", "--plot", "shares.gif"), ".svg"),
        (
            ("estimate", "cheating.json", "answers.csv", "--public", "answers.csv"),
            "is not a key of 64 hexadecimal digits",
        ),
        (("simulate",), "--size 1000"),
        (("simulate", "--size", "10", "--population", "normal"), "zipf"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_made(survey: Path, typed: tuple[str, ...], words: str) -> None:
    more = (*DAYS, "--key", "new.key", "--out", "new.json") if typed[0] == "design" else ()
    day = MAY if typed[0] == "encode" and "--day" not in typed else ()
    Path("heads.txt").write_text("cheated\nyes\nno\n")
    Path("maybe.txt").write_text("yes\nmaybe\n")
    before = sorted(os.listdir())
    refused = run("local", *typed, *more, *day)
    assert refused.exit_code == exit_codes.BAD_INPUT, refused.output
    said = " ".join(refused.stderr.split())
    assert words in said
    assert in_options(refused.stderr)
    assert sorted(os.listdir()) == before


def test_a_collection_is_never_written_over(survey: Path) -> None:
    again = designed("--values", "yes,no", "--epsilon", "9")
    assert again.exit_code == exit_codes.BAD_INPUT
    assert "never change" in again.stderr


def test_help_has_examples() -> None:
    for command in ("design", "simulate", "encode", "aggregate", "estimate"):
        said = run("local", command, "--help")
        assert said.exit_code == 0
        assert f"discreet local {command}" in said.stdout
        assert ("1  All reports were refused" in said.stdout) is (command == "aggregate")
    assert "estimate" in run("local").stdout + run("local").stderr
