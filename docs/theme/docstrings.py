"""Show the docstrings of the package as Markdown: their examples become blocks of code.

A docstring writes an example as lines that begin with `>>>`, as doctest runs them. Markdown would read these as
nested quotations. Each such paragraph is put into a fence here, and nothing else is changed.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^>>> .*(?:\n.+)*", flags=re.MULTILINE)


def fenced(text: str) -> str:
    """Return a docstring with its examples in fences.

    >>> fenced("Add.\\n\\n>>> 1 + 1\\n2").split("\\n")
    ['Add.', '', '```pycon', '>>> 1 + 1', '2', '```']
    """
    return _EXAMPLE.sub(lambda example: f"```pycon\n{example[0]}\n```", text)


class Examples(griffe.Extension):
    """Put the examples of every docstring into fences."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of one object, when griffe has read it."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
