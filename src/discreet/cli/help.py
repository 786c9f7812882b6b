"""Show help that wraps: flags without a type, and the exit statuses of a command as a table.

A docstring ends with a paragraph such as

    Exit status: 0 = answered; 3 = the budget is not sufficient.

The statuses that every command has are added to it. "Exit status: as ask" stands for those of a question.

The help of a group, as `discreet --help` shows it, is drawn here: loading what draws the help of a command takes
three times as long as all else.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
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


def of_group(group: Any, ctx: Any) -> str:
    """Return the help of a group of commands: its usage, its options, and its commands by panel."""
    usage = " ".join(["Usage:", ctx.command_path, *group.collect_usage_pieces(ctx)])
    paragraphs = [line for line in (group.help or "").split("\n") if line.strip()]
    panels: dict[str, list[tuple[str, str]]] = {"Options": []}
    for param in group.get_params(ctx):
        if getattr(param, "help", None) and not param.hidden:
            panels["Options"].append((", ".join([*param.opts, *param.secondary_opts]), param.help))
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        if not command.hidden:
            first = (command.short_help or command.help or "").strip().partition("\n")[0]
            panels.setdefault(getattr(command, "rich_help_panel", None) or "Commands", []).append((name, first))
    wide = _columns()
    lines = [f" {line}" for text in (usage, *paragraphs) for line in (*_filled(text, wide - 2), "")]
    for title, rows in panels.items():
        lines += _panel(title, rows, wide)
    return "\n" + "\n".join(line.rstrip() for line in lines) + "\n"


def _columns() -> int:
    """Return the width of the terminal; a test or a pipe may set it."""
    given = os.environ.get("TERMINAL_WIDTH", "")
    return max(30, int(given) if given.isdecimal() else shutil.get_terminal_size((80, 24)).columns)


def _filled(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, max(width, 12), break_on_hyphens=False) or [""]


def _panel(title: str, rows: list[tuple[str, str]], wide: int) -> list[str]:
    """Return a box with names at the left and what they mean at the right; names are bold on a terminal."""
    corners = "╭╮╰╯─│" if _can_show("╭╮╰╯─│") else "++++-|"
    inner = wide - 4
    left = min(max(len(name) for name, _ in rows), inner // 2) + 2
    lines = [f"{corners[0]}{corners[4]} {title} ".ljust(wide - 1, corners[4]) + corners[1]]
    for name, meaning in rows:
        names, meanings = _filled(name, left - 2), _filled(meaning, inner - left)
        for i in range(max(len(names), len(meanings))):
            first = names[i] if i < len(names) else ""
            second = meanings[i] if i < len(meanings) else ""
            lines.append(f"{corners[5]} {_bold(first.ljust(left))}{second.ljust(inner - left)} {corners[5]}")
    return [*lines, corners[2] + corners[4] * (wide - 2) + corners[3]]


def _can_show(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _bold(text: str) -> str:
    return f"\x1b[1;36m{text}\x1b[0m" if sys.stdout.isatty() and "NO_COLOR" not in os.environ else text
