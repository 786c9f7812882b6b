"""Show help that wraps: flags without a type, and the exit statuses of a command as a table.

A docstring ends with a paragraph such as

    Exit status: 0 = answered; 3 = the budget is not sufficient.

The statuses that every command has are added to it. "Exit status: as ask" stands for those of a question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from discreet.cli import output

_EVERY = {
    0: "It worked.",
    2: "The input has no meaning. The message says what to write instead.",
    70: "The command itself failed. The traceback follows.",
    130: "You stopped it with Ctrl-C.",
}
_ASKED = {
    1: "The ledger is damaged or gone.",
    3: "The budget is not sufficient. Nothing was charged.",
    4: "The vault does not answer such a question. Nothing was charged.",
    75: "The ledger cannot be reached now. Try again.",
}
_TYPES = {
    "<str>": "TEXT",
    "<list[str]>": "TEXT",
    "<int>": "NUMBER",
    "<int range>": "NUMBER",
    "<float>": "NUMBER",
    "<path>": "FILE",
    "<list[Path]>": "FILE",
    "<bool>": None,
}
_PARAGRAPH = re.compile(r"\s*^Exit status: (.*)$", re.MULTILINE)


def statuses(text: str | None) -> tuple[str, dict[int, str]]:
    """Return a help text without its paragraph of exit statuses, and all statuses by code.

    >>> rest, found = statuses("Ask.\\n\\nExit status: as ask; 5 = a wide answer.")
    >>> rest, found[5], found[3]
    ('Ask.', 'A wide answer.', 'The budget is not sufficient. Nothing was charged.')
    """
    written = _PARAGRAPH.search(text or "")
    found = dict(_EVERY)
    for each in written[1].rstrip(".").split("; ") if written else ():
        if each == "as ask":
            found |= _ASKED
            continue
        code, _, meaning = each.partition(" = ")
        found[int(code)] = f"{meaning[0].upper()}{meaning[1:]}."
    return _PARAGRAPH.sub("", text or "").rstrip(), dict(sorted(found.items()))


def plain_types(params: Iterable[Any]) -> None:
    """Let every parameter show the word for what it takes, and a flag none."""
    for param in params:
        shown = type(param).display_type_rich

        def display(ctx: Any, param: Any = param, shown: Any = shown) -> Any:
            word = shown(param, ctx=ctx)
            return _TYPES.get(word, word)

        param.display_type_rich = display


def table(found: dict[int, str]) -> None:
    """Print exit statuses as a table that wraps, below the options."""
    from rich.panel import Panel
    from rich.table import Table
    from typer import rich_utils

    drawn = Table(box=None, show_header=False, expand=True, padding=(0, 2, 0, 0))
    drawn.add_column(justify="right", no_wrap=True)
    drawn.add_column(ratio=1)
    for code, meaning in found.items():
        drawn.add_row(str(code), meaning)
    border = rich_utils.STYLE_OPTIONS_PANEL_BORDER
    output.console().print(Panel(drawn, border_style=border, title="Exit status", title_align="left"))
