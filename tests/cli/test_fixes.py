"""A fix of the library is an option or a command here, and a program gets it as JSON."""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import discreet
from discreet import Budget, errors
from discreet.cli import app
from discreet.cli.exit_codes import Careful, reporting_errors
from discreet.cli.fixes import option, rendered
from discreet.errors import Code, DiscreetError, Fix, ParameterError, QuestionRefused
from tests.cli.desk import run

SOURCE = Path(discreet.__file__).parent


@pytest.mark.parametrize(
    ("fix", "typed"),
    [
        (Fix("epsilon", "0.1"), "--epsilon 0.1"),
        (Fix("within", "5%"), "--within 5%"),
        (Fix("within", 200, note="± 84"), "--within 200 (± 84)"),
        (Fix("within", {"n": 200, "s": 5000}), "--within n=200 --within s=5000"),
        (Fix("within", Code('{"n": 200}')), "--within n=200"),
        (Fix("purpose", "yearly report"), "--purpose 'yearly report'"),
        (Fix("rows_per_person", 8), "--rows-per-person 8"),
        (Fix("person", None), "--each-row"),
        (Fix("memory", None), "leave out --memory"),
        (Fix("unchecked", True), "--unchecked"),
        (Fix("identified", False), "--no-identified"),
        (Fix("bins", {"age": 64}), "--bins age=64"),
        (Fix("bins", {"age": [0, 18, 65]}), "--bins age=0,18,65"),
        (Fix("columns", ["age", "city"]), "--columns age,city"),
        (Fix("columns", Code('{"age": Integer(0, 110)}')), "--schema FILE"),
        (Fix("workload", [["age", "city"], ["age"]]), "--workload age,city --workload age"),
        (Fix("budget", Budget(2, "1e-9")), "--epsilon 2 --delta 1/1000000000"),
        (Fix("budget", Code('Budget(epsilon=2, delta="1e-9")')), "--epsilon 2 --delta 1e-9"),
        (Fix("budget", Code("Budget(…)")), "--epsilon …"),
        (Fix("budget", Code("Budget(3)"), call="ledger.amend"), "discreet budget VAULT --amend --epsilon 3"),
        (Fix("budget", Code("Budget(3)"), call="vault.ledger.amend"), "discreet budget VAULT --amend --epsilon 3"),
        (Fix("analyst", "ana", call="ledger.allot"), "discreet budget VAULT --allot --analyst ana"),
        (Fix("name", "second", call="vault.oracle"), "discreet oracle VAULT --name second"),
        (Fix("epsilon", "0.1", call="vault.ask"), "discreet ask VAULT QUESTION --epsilon 0.1"),
        (
            Fix("question", "select count(*) from people", call="vault.ask"),
            "discreet ask VAULT 'select count(*) from people'",
        ),
        (Fix("question", "select 1"), "'select 1'"),
        (Fix("epsilon", "0.1", call="table.compare"), "discreet synthesize VAULT --compare 0.1"),
        (Fix("source", Code("…"), call="vault.reseal"), "discreet seal SOURCE --to VAULT --reseal"),
        (Fix("source", Code("…"), call="propose"), "discreet propose SOURCE"),
        (Fix("to", "a.vault", call="Vault.seal"), "discreet seal SOURCE --to a.vault"),
        (Fix("table", "the people", call="Source"), "--table 'the people'"),
        (Fix("longitudinal", "memoised"), "--policy memoised"),
        (Fix("candidates", ["one", "another"], call="server.frequencies"), "--candidates FILE"),
        (
            Fix("period", Code("day"), call="Aggregator"),
            "discreet local aggregate COLLECTION FILE --state FILE --period DAY",
        ),
        (Fix("domain", ["yes", "no"]), "--values yes,no"),
        (Fix("domain", 1000), "--size 1000"),
        (Fix("domain", None), "leave out --values, --labels and --size"),
        (Fix("alphabet", Code('Alphabet("abc", 8)')), "--alphabet abc --length 8"),
        (Fix("window", ("2026-01-01", "2026-12-31")), "--from 2026-01-01 --to 2026-12-31"),
        (Fix("scale", 2, call="Laplace"), "Laplace(scale=2)"),  # no command makes this call
    ],
)
def test_a_fix_is_an_option_or_a_command(fix: Fix, typed: str) -> None:
    assert option(fix) == typed


def test_a_command_names_the_vault_that_was_typed() -> None:
    error = QuestionRefused("No.", fix=Fix("budget", Code("Budget(3)"), call="ledger.amend"))
    assert rendered(error, "my vault") == "No. Try: discreet budget 'my vault' --amend --epsilon 3."


def test_an_option_that_the_command_does_not_have_stays_python() -> None:
    assert option(Fix("kind", "count"), known={"--epsilon"}) == 'kind="count"'
    assert option(Fix("epsilon", 1), known={"--epsilon"}) == "--epsilon 1"
    assert option(Fix("name", "b", call="vault.oracle"), known={"--epsilon"}) == "discreet oracle VAULT --name b"


def test_a_command_that_runs_knows_its_options() -> None:
    small = typer.Typer()

    @small.command(cls=Careful)
    @reporting_errors
    def command(scale: int = 0) -> None:
        raise ParameterError("It is wrong.", fix=[Fix("scale", 1), Fix("shape", 2)])

    assert CliRunner().invoke(small, []).stderr == "discreet: It is wrong. Try: --scale 1, or shape=2.\n"


def test_an_error_without_a_fix_is_shown_as_it_is() -> None:
    assert rendered(DiscreetError("Old prose with epsilon=0.1 in it.")) == "Old prose with epsilon=0.1 in it."


def test_sentences_follow_the_options() -> None:
    error = ParameterError("It is wrong.", found=3, fix=["Wait.", Fix("within", 200), Fix("epsilon", 1)])
    assert rendered(error) == "It is wrong (found: 3). Try: --within 200, or --epsilon 1. Wait."


# -- JSON -------------------------------------------------------------------------------------------------------


def test_with_json_an_error_is_an_object_on_stderr(here: Path) -> None:
    result = run("ask", here, "select user_id from people", "--epsilon", "0.1", "--json")
    assert result.exit_code == 4
    assert result.stdout == ""
    told = json.loads(result.stderr)
    assert told["error"] == "QuestionRefused"
    assert set(told) == {"error", "problem", "found", "fix"}


def test_the_object_holds_what_the_error_holds(capsys: pytest.CaptureFixture[str]) -> None:
    error = ParameterError("It is wrong.", found=3, fix=[Fix("within", 200), "Wait."])

    def command(as_json: bool) -> None:
        raise error

    with pytest.raises(typer.Exit) as ended:
        reporting_errors(command)(as_json=True)
    assert ended.value.exit_code == 2
    assert json.loads(capsys.readouterr().err) == error.to_json()


def test_the_object_holds_no_password(capsys: pytest.CaptureFixture[str]) -> None:
    """Also one that JSON would write otherwise."""
    address = "postgresql://ana:t%C3%ADg%22er@db/health#people"

    def command(vault: str, as_json: bool) -> None:
        raise ParameterError('tíg"er is wrong.', found='tíg"er', fix=['tíg"er', Fix("to", 'tíg"er')])

    with pytest.raises(typer.Exit):
        reporting_errors(command)(vault=address, as_json=True)
    told = json.loads(capsys.readouterr().err)
    assert told["problem"] == "… is wrong."
    assert "tíg" not in json.dumps(told, ensure_ascii=False)


def test_a_refused_question_of_an_oracle_is_an_object_with_its_line(town: Path) -> None:
    typed = "select count(*) from people\nselect age from people\n"
    result = run(
        "oracle", town, "--columns", "age,city", "--epsilon", "5", "--within", "0.2", "--json", typed=typed
    )
    assert result.exit_code == 4, result.output
    assert json.loads(result.stdout)["question"] == "select count(*) from people"
    told = json.loads(result.stderr)
    assert (told["error"], told["question"], told["line"]) == ("QuestionRefused", "select age from people", 2)


# -- every fix of the library -----------------------------------------------------------------------------------

# Layers whose errors a command can show, and parameters of calls that no command makes.
LAYERS = ("cli", "sealing", "vault/storage")


def fixes(layer: str) -> Iterator[Fix]:
    """Every fix that is written in a layer, with X for what is filled in."""
    for file in sorted((SOURCE / layer).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Fix":
                given = {**dict(zip(("parameter", "value"), node.args, strict=False))}
                given |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
                found = {name: value_of(each) for name, each in given.items()}
                if isinstance(found["parameter"], str):
                    yield Fix(**found)


def value_of(node: ast.AST) -> Any:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Code":
        return Code(value_of(node.args[0]))
    try:
        return ast.literal_eval(node)
    except ValueError:
        return "X"


def options_of(command: Any) -> set[str]:
    return {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}


@pytest.mark.parametrize("layer", LAYERS)
def test_every_option_that_a_fix_names_is_one_of_a_command(layer: str) -> None:
    group = typer.main.get_group(app)
    commands = [*group.commands.values()]
    for name in ("local", "stream"):
        commands += group.commands[name].commands.values()  # type: ignore[attr-defined]
    known = set().union(*map(options_of, commands))
    written = [option(fix) for fix in fixes(layer) if fix.parameter != "X"]
    assert written
    for text in written:
        for word in re.findall(r"--[a-z-]+", text):
            assert word in known, text


def test_commands_take_the_parameters_that_the_table_gives_them() -> None:
    """A command that was renamed would leave the table behind."""
    from discreet.cli import fixes as table

    group = typer.main.get_group(app)
    for text in filter(None, table._COMMANDS.values()):
        _, *words = shlex.split(text)
        command: Any = group
        while words and words[0] in getattr(command, "commands", {}):
            command = command.commands[words.pop(0)]
        assert command is not group, text
        assert {word for word in words if word.startswith("--")} <= options_of(command), text


# -- every problem of these layers ------------------------------------------------------------------------------

ERRORS = {
    kind.__name__ for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, DiscreetError)
}
WORDS = 25


def text_of(node: ast.AST) -> str:
    """A text as it will be shown, with X for what is filled in."""
    if isinstance(node, ast.JoinedStr):
        return "".join(map(text_of, node.values))
    if isinstance(node, ast.IfExp):
        return text_of(node.body)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else "X"


def problems(layer: str) -> Iterator[str]:
    for file in sorted((SOURCE / layer).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            made = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ERRORS
            if made and node.args:  # type: ignore[attr-defined]
                yield text_of(node.args[0])  # type: ignore[attr-defined]


@pytest.mark.parametrize("layer", LAYERS)
def test_a_problem_is_a_short_sentence_without_code(layer: str) -> None:
    found = [*problems(layer)]
    assert found
    for text in found:
        assert re.match(r"[A-ZX'-]", text), text
        assert text.endswith((".", "X")), text
        assert len(text.split()) <= WORDS, text
        assert not re.search(r"\w\(…|\b[a-z_]+=", text), text
        assert layer == "cli" or "--" not in text, text
