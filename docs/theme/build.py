"""Build the documentation site strictly: `python docs/theme/build.py out` writes out/site.

The pages are staged first, in a folder beside the site. Pages of the repository's root (changelog, contributing,
security) belong to the site as well and are copied from where they are, so that there is one text of each. Their
links, and links to them, are changed to the names that pages have in the site. A link to a file that is no page,
such as a module, becomes its text.

Formulas are written in plain Unicode, so that they are readable in an editor and need no script in a browser. In
running text the site shows x^{y} and x_y as raised and lowered letters. Blocks of formulas stay as written.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BESIDE = {
    "CHANGELOG.md": "docs/changelog.md",
    "CONTRIBUTING.md": "docs/contributing.md",
    "README.md": "docs/README.md",
    "SECURITY.md": "docs/security.md",
}
"""Files of the repository's root, and the pages of the site that they are. The README's page is that of docs/."""

_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)#\s:]+)(#[^)\s]*)?\)")

_RAISED = re.compile(r"\^(?:\{([^{}]+)\}|\(([^()]+)\)|([−±]?[^\W_]+′?))")
_LOWERED = re.compile(r"(?<=[\w)‖′])_(?:\{([^{}]+)\}|([^\W_])(?!\w))")
_CODE = re.compile(r"(`+[^`]*`+|\]\([^)]*\))")


def typeset(text: str) -> str:
    """Return a page with raised and lowered letters in its running text, and its code and headings as they are.

    >>> print(typeset("P(Z_n = y) ≤ q^{−Δ} = e^ε, and `a^b` is code.\\n\\n    q^|z|, as a block"))
    P(Z<sub>n</sub> = y) ≤ q<sup>−Δ</sup> = e<sup>ε</sup>, and `a^b` is code.
    <BLANKLINE>
        q^|z|, as a block
    """
    lines, fenced = text.split("\n"), False
    for i, line in enumerate(lines):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and not line.startswith(("    ", "#")):
            parts = _CODE.split(line)
            parts[::2] = [_letters(part) for part in parts[::2]]
            lines[i] = "".join(parts)
    return "\n".join(lines)


def _letters(text: str) -> str:
    def lowered(found: re.Match[str]) -> str:
        return f"<sub>{(found[1] or found[2]).replace('<', '&lt;')}</sub>"

    def raised(found: re.Match[str]) -> str:
        return f"<sup>{found[1] or found[2] or found[3]}</sup>"

    return _RAISED.sub(raised, _LOWERED.sub(lowered, text))


def staged(text: str, source: str) -> str:
    """Return a page with the links that it has in the site.

    Args:
        text: The page, as it is written.
        source: Its path in the repository.

    >>> staged("See [the rules](../CONTRIBUTING.md#tests) and [code](../src/errors.py).", "docs/attack.md")
    'See [the rules](contributing.md#tests) and code.'
    """
    here = Path(BESIDE.get(source, source)).parent

    def led(link: re.Match[str]) -> str:
        label, anchor = link[1], link[3] or ""
        target = os.path.normpath(Path(source).parent / link[2])
        target = BESIDE.get(target, target)
        if not target.startswith("docs/"):
            return label
        return f"[{label}]({os.path.relpath(target, here)}{anchor})"

    return _LINK.sub(led, text)


def build(out: Path) -> Path:
    """Stage the pages in a folder, build the site there, and return its path. Every warning is an error."""
    pages, site = out / "docs", out / "site"
    for old in (pages, site):
        shutil.rmtree(old, ignore_errors=True)
    shutil.copytree(ROOT / "docs", pages, ignore=shutil.ignore_patterns("__pycache__"))
    for page in [*(ROOT / "docs").rglob("*.md"), *(ROOT / name for name in BESIDE if name != "README.md")]:
        source = page.relative_to(ROOT).as_posix()
        target = out / BESIDE.get(source, source)
        target.write_text(typeset(staged(page.read_text(encoding="utf-8"), source)), encoding="utf-8")
    shutil.copy(ROOT / "mkdocs.yml", out)
    shutil.rmtree(out / "src", ignore_errors=True)
    shutil.copytree(ROOT / "src", out / "src", ignore=shutil.ignore_patterns("__pycache__"))
    tool = Path(sys.executable).with_name("zensical")
    subprocess.run([tool, "build", "--strict", "--clean"], cwd=out, check=True)
    return site


if __name__ == "__main__":
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    print(f"Built {build(folder) / 'index.html'}")
