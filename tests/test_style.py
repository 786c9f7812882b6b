"""The house style, as tests: short modules in small folders, first lines with a verb, actors that are named."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import discreet

SOURCE = Path(discreet.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
MOST_LINES, MOST_MODULES = 400, 18
UNNAMED = re.compile(r"\b(whoever|nobody|somebody|anybody)\b", re.IGNORECASE)
QUESTIONS = re.compile(r"(What|Where|Who|How|Which|Whether|When|Why)\b")


def named(module: Path) -> str:
    return module.relative_to(SOURCE).as_posix()


def test_a_module_is_short_and_says_what_it_does() -> None:
    for module in MODULES:
        text = module.read_text()
        assert text.count("\n") <= MOST_LINES, named(module)
        first = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
        assert first, f"{named(module)}: a module begins with a docstring"
        assert not QUESTIONS.match(first), f"{named(module)}: the first line is verb and object"


def test_actors_are_named() -> None:
    assert {named(module): found for module in MODULES if (found := UNNAMED.findall(module.read_text()))} == {}


def test_a_folder_has_few_modules() -> None:
    folders = Counter(module.parent for module in MODULES)
    assert {named(folder): count for folder, count in folders.items() if count > MOST_MODULES} == {}
