"""What the library says in Python is said in options, and no message stays half way between the two."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import discreet
from discreet.cli.fixes import in_options

SOURCE = Path(discreet.__file__).parent
LAYERS = ("vault", "schema", "release", "query", "sealing", "ledger", "oracle", "synth", "engines")
# No command calls these: mechanisms and laws of their own, which are for Python.
ELSEWHERE = {"blr.py", "mwem.py", "hardt_rothblum.py", "pmw.py", "queries.py", "theorem.py"}
# A call with arguments by name, a method of ours, or an argument by name that is no key of a schema.
PYTHON = re.compile(
    r"\b[A-Za-z_][\w.]*\((?:…|source|path|address|Budget|[a-z_]+=)"
    r"|\b(?:vault|ledger|oracle|release|dp|Vault|Ledger|Source|Budget)\.[a-z_]+"
    r"|(?<!\?)\b(?!(?:lo|hi|step|missing|outside|other|values|class|colspan)=)[a-z_]{2,}=[\w\"'{\[…]"
    r"|discreet [a-z]+ VAULT --\w+\("
)
# What only Python can meet: a question that is no text, objects that are pickled, forks, and test bits.
ONLY_IN_PYTHON = (
    "made with dp.select",
    "A bill begins",
    "a Spark X is no table",
    "is not copied or pickled",
    "This process was forked",
    "A ledger charges losses",
    "test bits",
    "spark = SparkSession",
    "a marginal to show",
    "Use floor(…)",
)


@pytest.mark.parametrize(
    ("python", "options"),
    [
        ('Ask with epsilon="0.1".', "Ask with --epsilon 0.1."),
        ('Ask with epsilon="0.1", or with within="5%".', "Ask with --epsilon 0.1, or with --within 5%."),
        ("or within=200: what", "or --within 200: what"),
        ('purpose="yearly report".', '--purpose "yearly report".'),
        ('person="user_id", rows_per_person=8.', "--person user_id, --rows-per-person 8."),
        ("Vault.seal(…, to='a.vault').", "discreet seal SOURCE --to a.vault …."),
        ("Source('a.duckdb', table='people').", "--table people."),
        ('dp.Budget(2, delta="1e-9").', "--epsilon 2 --delta 1e-9."),
        ("Change it with ledger.amend.", "Change it with discreet budget VAULT --amend."),
        (
            'seal the vault with Budget(epsilon=2, delta="1e-9"), or amend it: vault.ledger.amend(Budget(…)).',
            "seal the vault with --epsilon 2 --delta 1e-9, or amend it: discreet budget VAULT --amend --epsilon … "
            "--delta ….",
        ),
        (
            'make one of your own: oracle(…, name="mine").',
            "make one of your own: discreet oracle VAULT … --name mine.",
        ),
        ("Ask the vault: vault.ask(…).", "Ask the vault: discreet ask VAULT …."),
        (
            'make one with Vault.seal(…, to="people.vault").',
            "make one with discreet seal SOURCE --to people.vault ….",
        ),
        ("Write bins={'age': 64}.", "Write --bins age=64."),
        ("Ask with unchecked=True for", "Ask with --unchecked for"),
        (
            "Make one with Ledger.create(path, budget).",
            "Restore it from a backup: a new one would forget what was spent.",
        ),
        ("Pure(epsilon=1) has no amount", "Pure(epsilon=1) has no amount"),
        ("select count(*) where person = 5", "select count(*) where person = 5"),
    ],
)
def test_what_is_said_in_python_is_said_in_options(python: str, options: str) -> None:
    assert in_options(python) == options


def text_of(node: ast.AST) -> str:
    """A text as it will be said, with X for what is filled in."""
    if isinstance(node, ast.JoinedStr):
        return "".join(map(text_of, node.values))
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else "X"


def sentences(file: Path) -> Iterator[str]:
    """The texts of a module that have blanks in them, but for docstrings and pages."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    nodes = [*ast.walk(tree)]
    parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    parts |= {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in parts:
            text = text_of(node)
            if " " in text and "</" not in text and "class=" not in text:
                yield text


@pytest.mark.parametrize("layer", LAYERS)
def test_no_message_that_a_command_can_give_is_half_in_python(layer: str) -> None:
    files = [file for file in sorted((SOURCE / layer).rglob("*.py")) if file.name not in ELSEWHERE]
    written = {text for file in files for text in sentences(file) if PYTHON.search(text)}
    assert written
    said = {in_options(text) for text in written if not any(words in text for words in ONLY_IN_PYTHON)}
    assert [text for text in said if PYTHON.search(text)] == []


def test_what_others_wrote_is_not_taken_for_an_argument() -> None:
    assert in_options("where person = 5 and name = 'to=me'") == "where person = 5 and name = 'to=me'"
