"""Models from the command line: fitted, saved, shown, and used."""

from __future__ import annotations

import doctest
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from pyarrow import csv, parquet

from discreet import learn
from discreet.cli import exit_codes
from discreet.cli.commands.fit import ESTIMATORS
from tests.cli import desk
from tests.cli.desk import run, told
from tests.cli.test_tutorial import shape

BAD = exit_codes.BAD_INPUT
SCHEMA = """\
[columns.age]
type = "integer"
lo = 0
hi = 110

[columns.town]
type = "category"
values = ["Oslo", "Bergen"]

[columns.ill]
type = "boolean"

[columns.word]
type = "text"
"""
LINES = [f"{i},{i % 90},{'Oslo' if i % 3 else 'Bergen'},{i % 90 > 45},w" for i in range(2000)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("fit")
    (place / "people.csv").write_text("\n".join(["who,age,town,ill,word", *LINES]), encoding="utf-8")
    (place / "people.toml").write_text(SCHEMA, encoding="utf-8")
    options = ("--schema", place / "people.toml", "--person", "who", "--epsilon", "20", "--delta", "1e-6")
    made = run("seal", place / "people.csv", *options, "--to", place / "people.vault")
    assert made.exit_code == 0, made.output
    return place


@pytest.fixture
def vault(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return folder / "people.vault"


def test_a_model_is_fitted_saved_and_shown_and_again_it_is_free(vault: Path) -> None:
    asked = ("fit", vault, "--target", "ill", "--epsilon", "2")
    made = run(*asked, "--save", "model.json", "--card", "card.md", "--plot", "shapes.svg")
    assert made.exit_code == 0, made.output
    assert "LogisticRegression of ill, fitted to people" in made.stdout
    assert "what each value adds to the log-odds of true" in made.stdout
    assert "This used " in made.stdout
    assert "Wrote model.json" in made.stdout
    assert 'learn.load("model.json")' in Path("card.md").read_text()
    assert "<svg" in Path("shapes.svg").read_text()
    model = learn.load("model.json")
    assert list(model.task_.features) == ["age", "town"]
    charged = desk.spent(vault)
    document = told(*asked, "--card", "card.html")
    assert document["free"]
    assert (document["estimator"], document["target"], document["features"]) == (
        "LogisticRegression",
        "ill",
        ["age", "town"],
    )
    assert document["receipt"]["spent"]["value"] > 0
    assert desk.spent(vault) == charged
    assert Path("card.html").read_text().count("<svg") == 2
    again = run(*asked)
    assert "Free: it is recorded" in again.stdout
    assert "with --save model.json" in again.stdout


def test_the_estimator_and_its_parameters_can_be_chosen(vault: Path) -> None:
    document = told(
        "fit", vault, "--target", "ill", "--features", "age", "--spend", "10%", "--estimator", "svc",
        "--feature-map", "linear", "--regularisation", "20",
    )  # fmt: skip
    assert document["estimator"] == "LinearSVC"
    assert "linear" in document["facts"]["Features"]
    assert document["receipt"]["share"] <= 0.1


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--target", "ill", "--epsilon", "90"), exit_codes.OVERSPENT, "Try: --spend "),
        (("--target", "pay", "--epsilon", "1"), BAD, "no column 'pay'"),
        (
            ("--target", "ill", "--features", "ill,age", "--epsilon", "1"),
            BAD,
            "Try: --features age.",
        ),
        (("--target", "ill"), BAD, "Try: --epsilon 1, or --spend 20%."),
        (
            ("--target", "ill", "--epsilon", "1", "--estimator", "tree"),
            BAD,
            "--estimator logistic",
        ),
        (("--target", "ill", "--epsilon", "1", "--method", "magic"), BAD, "Try: --method auto."),
        (("--target", "ill", "--epsilon", "1", "--feature-map", "x"), BAD, "--feature-map hats"),
        (("--target", "ill", "--epsilon", "1", "--save", "model.pkl"), BAD, "--save"),
        (("--target", "ill", "--epsilon", "1", "--save", "nowhere/m.json"), BAD, "--save"),
        (("--target", "ill", "--epsilon", "1", "--card", "card.doc"), BAD, "--card"),
        (("--target", "ill", "--epsilon", "1", "--plot", "a.txt"), BAD, "--plot"),
    ],
)
def test_what_is_refused_costs_nothing_and_says_what_to_type(
    vault: Path, options: tuple[str, ...], code: int, words: str
) -> None:
    before = desk.spent(vault)
    refused = run("fit", vault, *options)
    assert refused.exit_code == code, refused.output
    assert words in " ".join(refused.stderr.split())
    assert desk.spent(vault) == before
    if code == exit_codes.OVERSPENT:
        broken = run("fit", vault, *options, "--json")
        assert json.loads(broken.stderr)["fix"]


@pytest.fixture
def model(vault: Path) -> str:
    assert run("fit", vault, "--target", "ill", "--epsilon", "2", "--save", "model.json").exit_code == 0
    return "model.json"


def test_predictions_are_written_row_by_row(model: str) -> None:
    Path("new.csv").write_text("id,town,age\n1,Oslo,3\n2,Bergen,88\n3,,\n4,Paris,old\n")
    made = run("predict", model, "new.csv", "--out", "out.csv", "--keep", "id")
    assert made.exit_code == 0, made.output
    found = csv.read_csv("out.csv").to_pydict()
    assert list(found) == ["id", "ill", "p(false)", "p(true)"]
    assert (found["id"], found["ill"][:2]) == ([1, 2, 3, 4], [False, True])
    assert [a + b for a, b in zip(found["p(false)"], found["p(true)"], strict=True)] == pytest.approx([1] * 4)
    parquet.write_table(csv.read_csv("new.csv"), "new.parquet")
    assert run("predict", model, "new.parquet", "--out", "out.parquet", "--keep", "id").exit_code == 0
    assert parquet.read_table("out.parquet").to_pydict() == found
    shown = run("predict", model, "new.csv")
    assert shown.stdout.splitlines()[0] == '"ill","p(false)","p(true)"'
    assert len(shown.stdout.splitlines()) == 5


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("model.json", "none.csv"), "does not exist"),
        (("none.json", "new.csv"), "cannot be read"),
        (("new.csv", "new.csv"), "not the file of a model"),
        (("model.json", "few.csv"), "no column 'town'"),
        (("model.json", "new.csv", "--keep", "id"), "no column 'id'"),
        (("model.json", "new.csv", "--out", "out.txt"), "--out"),
        (("model.json", "bad.parquet"), "cannot be read"),
    ],
)
def test_files_that_have_no_meaning_are_refused(model: str, arguments: tuple[str, ...], words: str) -> None:
    Path("new.csv").write_text("town,age\nOslo,3\n")
    Path("few.csv").write_text("age\n3\n")
    Path("bad.parquet").write_text("no")
    refused = run("predict", *arguments)
    assert refused.exit_code == BAD, refused.output
    assert words in " ".join(refused.stderr.split())


def test_help_has_an_example() -> None:
    for command in ("fit", "predict"):
        assert f"discreet {command} " in run(command, "--help").stdout.split("Options")[0]


PAGE = Path(__file__).parents[3] / "docs" / "tutorials" / "learning.md"


def test_the_commands_of_the_tutorial_do_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its Python is a doctest; here its first two sections make the vault that the commands are typed for."""
    text, known = PAGE.read_text(encoding="utf-8"), dict[str, Any]()
    parsed = doctest.DocTestParser().get_examples(text)
    for example in parsed[: next(i for i, one in enumerate(parsed) if ".fit(" in one.source) + 1]:
        exec(compile(example.source, "the tutorial", "exec"), known)
    known["vault"].close()
    monkeypatch.chdir(known["folder"].name)
    Path("new.csv").write_text("name,age,km,town\nana,30,2.5,Oslo\nbo,85,,\n")
    typed = 0
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        for asked in block.removeprefix("$ ").split("\n$ "):
            command, _, expected = asked.partition("\n")
            result = run(*shlex.split(command)[1:])
            typed += 1
            assert (result.exit_code == 0) is not expected.startswith("discreet: "), result.output
            for part in map(shape, re.split("^…$", expected, flags=re.MULTILINE)):
                assert part in shape(result.output), command
    assert typed == 3
    known["folder"].cleanup()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_is_fitted_saved_and_used(vault: Path, name: str) -> None:
    target = "age" if name in ("ridge", "linear") else "ill"
    features = "ill,town" if target == "age" else "age" if name == "gaussian-nb" else "age,town"
    options = ("--target", target, "--features", features, "--spend", "2%", "--estimator", name)
    document = told("fit", vault, *options, "--save", "model.json", "--card", "card.html")
    assert document["estimator"] == ESTIMATORS[name]
    assert told("fit", vault, *options)["free"]
    Path("new.csv").write_text("ill,town,age\ntrue,Oslo,3\n,,\n")
    used = run("predict", "model.json", "new.csv")
    assert used.exit_code == 0, used.output
    assert len(used.stdout.splitlines()) == 3
    plotted = run("fit", vault, *options, "--plot", "a.svg")
    assert (plotted.exit_code == 0) is ("leave out --plot" not in plotted.stderr)
