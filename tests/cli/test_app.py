"""The command line, as people and their pipelines meet it: words, exit codes, and nothing else on stdout."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import discreet
from discreet.audit.museum import exhibits
from discreet.audit.shipped import shipped
from discreet.cli import app
from discreet.cli.targets import chosen

MECHANISMS = """
import sys

from discreet import noise, privacy
from discreet.audit.inputs.subject import Subject
from discreet.mechanisms import Laplace

print("a module that talks")


def coin(epsilon):
    loss = privacy.Pure(epsilon)
    return Subject(name="coin", release=lambda bit: bit ^ noise.bernoulli("1/4"), loss=loss, pairs=[(0, 1)])


honest, boastful = coin("1.0987"), coin("0.5")  # the truth is ln 3 = 1.0986…
mechanism = Laplace(2)


def made():
    return honest


class Rooms:
    inner = honest


def needy(epsilon):
    return coin(epsilon)


def broken():
    raise RuntimeError("no such file")


def noisy_sum(numbers):
    print("a function that talks")
    return sum(numbers) + int(noise.discrete_laplace(2, 1)[0])


def nothing(numbers):
    return sum(numbers)


def consuming(numbers):
    return noisy_sum([numbers.pop() for _ in [*numbers]])


async def awaited(numbers):
    return sum(numbers)


def leaving(numbers):
    sys.exit(0)


def left():
    sys.exit(0)


def leaving_on_two(numbers):
    return sys.exit(0) if 2 in numbers else 7


forty_two = 42
"""


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to stand in, with a module of mechanisms; Python forgets both afterwards."""
    (tmp_path / "workshop.py").write_text(MECHANISMS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    sys.modules.pop("workshop", None)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments], env={"COLUMNS": "80", "NO_COLOR": "1"})


def audit(*arguments: str) -> Result:
    return run("audit", "--samples", "5000", *arguments)


def flat(text: str) -> str:
    return " ".join(text.split())


# -- the command ------------------------------------------------------------------------------------------------


def test_alone_it_shows_help() -> None:
    result = run()
    assert result.exit_code == 0
    assert "Usage:" in result.stdout
    assert "audit" in result.stdout


def test_it_knows_its_version() -> None:
    assert run("--version").stdout == f"discreet {discreet.__version__}\n"


def test_help_on_audit_shows_examples_and_exit_codes() -> None:
    text = flat(run("audit", "--help").stdout)
    for part in (
        "discreet audit --museum",
        "--epsilon 1 --on '[1, 2]' --and '[1]'",
        "0 Nothing was caught.",
        "6 Undecided",
    ):
        assert part in text


def test_python_m_discreet_is_the_same_command() -> None:
    for module in ("discreet", "discreet.cli"):
        shown = subprocess.run(
            [sys.executable, "-m", module, "--version"], capture_output=True, text=True, check=True
        )
        assert shown.stdout == f"discreet {discreet.__version__}\n"


def test_help_answers_without_loading_what_only_an_audit_needs() -> None:
    code = "import sys, discreet.cli; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.split()
    assert not {"numpy", "altair", "scipy", "discreet.audit"} & set(loaded)


def test_the_help_of_a_group_is_drawn_without_what_draws_that_of_a_command() -> None:
    code = "import sys, discreet.cli\ntry: discreet.cli.app(['--help'])\nfinally: print(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert "Make a synthetic table" in shown
    assert not {"rich.console", "rich.markdown", "pygments", "markdown_it"} & set(shown.split())


def test_a_group_alone_shows_its_commands() -> None:
    shown = run("local").output
    for part in ("Learn from devices", "design", "Options"):
        assert part in shown


# -- one's own mechanisms ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["honest", "made", "Rooms.inner", "mechanism"])
def test_subjects_mechanisms_and_functions_that_make_them_are_audited(workshop: Path, target: str) -> None:
    result = audit(f"workshop:{target}")
    assert result.exit_code == 0, result.output
    assert f"workshop:{target}" in result.stdout
    assert "1 mechanism" in result.stdout
    assert "nothing caught" in result.stdout


def test_a_subject_that_claims_too_little_is_caught_and_the_exit_code_says_so(workshop: Path) -> None:
    result = audit("workshop:honest", "workshop:boastful")
    assert result.exit_code == 1
    assert "workshop:boastful, exact: CAUGHT" in result.stdout
    assert "2 mechanisms" in result.stdout
    assert "1 CAUGHT" in result.stdout


def test_quiet_prints_nothing_if_nothing_is_caught(workshop: Path) -> None:
    assert audit("workshop:honest", "--quiet").stdout == ""
    assert "workshop:boastful, exact: CAUGHT" in audit("workshop:boastful", "-q").stdout


def test_json_is_all_there_is_on_stdout_whatever_the_module_prints(workshop: Path) -> None:
    result = audit("workshop:boastful", "--json")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert document["failed"] is True
    assert document["reports"][0]["subject"] == "workshop:boastful"
    assert "a module that talks" in result.stderr


def test_a_page_is_written_with_its_picture(workshop: Path) -> None:
    result = audit("workshop:honest", "--html", "page.html")
    assert result.exit_code == 0, result.output
    page = (workshop / "page.html").read_text(encoding="utf-8")
    assert "workshop:honest" in page
    assert "<svg" in page


# -- plain functions --------------------------------------------------------------------------------------------


def test_a_plain_function_is_attacked_on_one_pair(workshop: Path) -> None:
    result = audit("workshop:noisy_sum", "--epsilon", "1/2", "--on", "[1, 2]", "--and", "[2]", "--json")
    assert result.exit_code == 0, result.stderr
    (report,) = json.loads(result.stdout)["reports"]
    assert report["claim"] == "Pure(epsilon=1/2)"
    assert [verdict["attack"] for verdict in report["verdicts"]] == ["black box"]


def test_a_plain_function_that_releases_the_sum_itself_is_caught(workshop: Path) -> None:
    pair = ["--on", "[-1, 2]", "--and", "[2]"]
    assert audit("workshop:nothing", "--epsilon", "1", "--delta", "1e-6", *pair).exit_code == 1


def test_negative_numbers_can_be_neighbours(workshop: Path) -> None:
    result = audit("builtins:abs", "--epsilon", "1", "--on", "-1", "--and", "1")
    assert result.exit_code == 0, result.stderr


# -- what cannot be audited -------------------------------------------------------------------------------------

PAIR = ("--epsilon", "1", "--on", "[1]", "--and", "[2]")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["workshp:honest"], "There is no module 'workshp'. The current directory,"),
        (["workshp:honest"], "Did you mean 'workshop'?"),
        (["workshop:honst"], "'workshop' has no 'honst'. Did you mean 'honest'?"),
        (["workshop:Rooms.iner"], "'workshop.Rooms' has no 'iner'. Did you mean 'inner'?"),
        (["workshop.py:honest"], "Name it as Python imports it: workshop:honest"),
        (["./workshop.py:honest"], "Name it as Python imports it: workshop:honest"),
        (["workshop:forty_two"], "'workshop:forty_two' is a int, which cannot be audited."),
        (["workshop:forty_two"], "from discreet.audit.inputs.subject import Subject"),
        (["workshop:needy"], "it needs epsilon=…"),
        (["workshop:noisy_sum"], "--epsilon 1 --on '[1, 2]' --and '[1]'"),
        (["workshop:broken"], "cannot be made: RuntimeError: no such file"),
        (["Laplce"], "neither a shipped mechanism nor written as module:attribute. Did you mean 'Laplace'?"),
        (["workshop:noisy_sum", "--epsilon", "1"], "needs its claim and both neighbours"),
        (
            ["workshop:noisy_sum", *PAIR[:3], "[1, x]", *PAIR[4:]],
            "The data of --on are not a Python literal (found: '[1, x]')",
        ),
        (
            ["workshop:noisy_sum", *PAIR[:3], "one", *PAIR[4:]],
            "The data of --on are not a Python literal (found: 'one')",
        ),
        (["workshop:noisy_sum", "--epsilon", "1", "--on", "1", "--and", "2"], "only raises on these data"),
        (["workshop:noisy_sum", "--epsilon", "-1", *PAIR[2:]], "epsilon"),
        (["workshop:noisy_sum", "--delta", "2", *PAIR], "delta"),
        (["workshop:honest", *PAIR], "are for plain functions"),
        ([*PAIR], "need a function"),
        (["workshop:honest", "--confidence", "1.5"], "between 0 and 1"),
        (["workshop:honest", "--confidence", "high"], "is not a number"),
        (["workshop:honest", "--html", "nowhere/page.html"], "a folder that exists"),
        (["--museum", *PAIR], "bring their own claims"),
        (["--museum", "sparse-vectr"], "The museum has no 'sparse-vectr'. Did you mean"),
        (["--museum", "nothing"], "The museum has no 'nothing'. There are: boundary-missing-from-delta, "),
        (["--museum", "nothing"], "discreet audit --museum, without a name, attacks all."),
        (["workshop:noisy_sum", "--epsilon", "1", "--on", "[1]", "--and", "[ 1 ]"], "are the same data"),
        (["workshop:consuming", *PAIR], "changes its data"),
        (["workshop:awaited", *PAIR], "a coroutine, which is "),
        (
            ["workshop:leaving", *PAIR],
            "only raises on these data, so there is nothing to audit (found: SystemExit: 0).",
        ),
        (["workshop:left"], "cannot be made: SystemExit: 0"),
    ],
)
def test_bad_input_ends_with_a_sentence_and_exit_code_2(workshop: Path, arguments: list[str], words: str) -> None:
    result = audit(*arguments)
    assert result.exit_code == 2, result.output
    assert flat(words) in flat(result.stderr)
    assert "Traceback" not in result.output
    assert result.stdout == ""


def test_a_module_that_lacks_something_itself_is_not_called_missing(workshop: Path) -> None:
    (workshop / "lacking.py").write_text("import not_installed_anywhere\n")
    result = audit("lacking:thing")
    assert result.exit_code == 2
    assert "'lacking' itself imports 'not_installed_anywhere', which is not installed." in result.stderr


def test_a_module_that_fails_is_named_with_its_error(workshop: Path) -> None:
    (workshop / "failing.py").write_text("1 / 0\n")
    result = audit("failing:thing")
    assert result.exit_code == 2
    assert "'failing' cannot be imported: ZeroDivisionError: division by zero" in result.stderr


def test_a_module_that_ends_python_does_not_end_the_audit_in_silence(workshop: Path) -> None:
    (workshop / "quitting.py").write_text("import sys\nsys.exit(0)\n")
    result = audit("quitting:thing")
    assert result.exit_code == 2
    assert "'quitting' cannot be imported: SystemExit: 0" in result.stderr


def test_a_mechanism_that_ends_python_on_one_table_is_caught(workshop: Path) -> None:
    result = audit("workshop:leaving_on_two", *PAIR)
    assert result.exit_code == 1
    assert "CAUGHT" in result.stdout


def test_code_that_ends_python_where_nobody_expects_it_is_a_crash(workshop: Path) -> None:
    (workshop / "quitter.py").write_text(
        "import sys\nfrom discreet import privacy\nfrom discreet.audit.inputs.subject import Subject\n"
        "class Pairs(list):\n    def __len__(self): sys.exit(0)\n"
        "odd = Subject(name='odd', release=abs, loss=privacy.Pure(1), pairs=Pairs([(0, 1)]))\n"
    )
    result = audit("quitter:odd")
    assert result.exit_code == 70
    assert "ended Python (SystemExit: 0)" in result.stderr
    assert result.stdout == ""


def test_a_crash_is_not_taken_for_a_finding(workshop: Path) -> None:
    (workshop / "odd.py").write_text(
        "from discreet import privacy\nfrom discreet.audit.inputs.subject import Subject\n"
        "odd = Subject(name='odd', release=abs, loss=privacy.Pure(1), pairs=7)\n"
    )
    result = audit("odd:odd")
    assert result.exit_code == 70
    assert "Traceback" in result.stderr
    assert result.stdout == ""


def test_too_few_samples_are_refused() -> None:
    assert run("audit", "--samples", "0").exit_code == 2


# -- what ships, and the museum ---------------------------------------------------------------------------------


def test_without_a_target_all_that_ships_is_audited() -> None:
    assert [name for name, _ in chosen([], shipped())] == [*shipped()]


def test_no_shipped_name_is_taken_for_a_module_and_its_attribute() -> None:
    """Targets with a colon are looked up without the shipped mechanisms, which import every learner."""
    assert not [name for name in shipped() if ":" in name]


def test_a_target_of_ones_own_waits_for_no_learner(workshop: Path) -> None:
    program = (
        "import sys\n"
        "from discreet.cli import app\n"
        "try: app(['audit', 'workshop:nothing'])\n"
        "except SystemExit as end: print(end.code, 'sklearn' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.split()[-2:] == ["2", "False"], done


def test_a_shipped_mechanism_is_found_by_its_name(workshop: Path) -> None:
    result = audit("Session", "--json")
    assert result.exit_code == 0, result.output
    reports = json.loads(result.stdout)["reports"]
    assert len(reports) == 3
    assert {report["subject"].partition("(")[0] for report in reports} == {"Session"}


def test_one_exhibit_is_shown_with_its_story(workshop: Path) -> None:
    exhibit = exhibits()[0]
    result = run("audit", "--museum", exhibit.name)
    assert result.exit_code == 0, result.output
    for part in (exhibit.title, exhibit.story, exhibit.ours, "CAUGHT", "1 exhibit, every one caught"):
        assert flat(part) in flat(result.stdout)


# -- a real process ---------------------------------------------------------------------------------------------


def test_a_pipeline_sees_the_exit_code_and_plain_json(workshop: Path) -> None:
    command = [sys.executable, "-m", "discreet", "audit", "workshop:boastful", "--json", "--samples", "5000"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert json.loads(done.stdout)["summary"].startswith("1 mechanism")


def test_a_terminal_that_knows_no_greek_does_not_end_the_work(workshop: Path) -> None:
    command = [sys.executable, "-m", "discreet", "audit", "workshop:boastful", "--samples", "5000"]
    done = subprocess.run(
        command, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"}, check=False
    )
    assert done.returncode == 1
    assert b"CAUGHT" in done.stdout


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_reader_that_went_away_is_not_taken_for_a_finding(workshop: Path, options: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "discreet", "audit", "workshop:boastful", "--samples", "5000", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert process.returncode == 141
    assert said == "a module that talks\n"


def test_control_c_ends_with_one_line(workshop: Path) -> None:
    (workshop / "endless.py").write_text("def thing():\n    print('here', flush=True)\n    while True: pass\n")
    command = [sys.executable, "-m", "discreet", "audit", "endless:thing"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert process.stderr.readline() == "here\n"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=600)
    assert process.returncode == 130
    assert said == "discreet: stopped.\n"
