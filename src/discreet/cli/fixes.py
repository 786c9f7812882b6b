"""What the library says in Python, as one writes it on the command line.

Whole phrases come first, then calls, then single arguments: half a call in options is worse than either. That no
message which a command can give is left between the two is tested over all of them, in
tests/cli/test_fixes.py.
"""

from __future__ import annotations

import re

_PHRASES = {
    r"Make one with Ledger\.create\([^()]*\)": "Restore it from a backup: a new one would forget what was spent",
    r"Open it with Ledger\.open, or choose": "Choose",
    r"Close it there first: oracle\.close\(\)": "End the command that has it open first",
    r"Rename one: Source\(…, rename=\{[^{}]*\}\)": "Rename one where it comes from",
    r'Source\(spark, table="([^"]*)"\), or seal spark\.table\(…\)': r"spark:\1",
    r'columns=\{"age": dp\.Integer\(0, 110\)\}': "[columns.age] in the schema",
    r": Vault\.seal\(pandas\.read_csv\(.*?\), …\)": ", written to a Parquet file",
    r"rows=(?=, )": "--rows",
    r", threads=\w+": "",
}
_CALLS = {
    r"Vault\.seal\(…, to=(?:([\"'])(.*?)\1|(\w+))\)": r"discreet seal SOURCE --to \2\3 …",
    r"Vault\.seal\(…\)": "discreet seal SOURCE --to VAULT …",
    r"(?:vault\.)?reseal\(source(?:, to=…)?\)": "discreet seal SOURCE --to VAULT --reseal",
    r"propose\(source\)": "discreet propose SOURCE",
    r"vault\.synthesize\(…\)\.compare\(epsilon=…\)": "discreet synthesize VAULT … --compare EPSILON",
    r"Source\((?:([\"']).*?\1|\w+), table=(?:([\"'])(.*?)\2|(\w+))\)": r"--table \3\4",
    r"(?:vault\.)?ledger\.(allot|amend)\(([^()]*), budget=Budget\(…\)\)": (
        r"discreet budget VAULT --\1 \2 --epsilon …"
    ),
    r'\bbudget=Budget\(epsilon="?([^",()]*)"?, delta="([^"]*)"\)': r"--epsilon \1 --delta \2",
    r'\bbudget=Budget\(epsilon="([^"]*)"\)': r"--epsilon \1",
    r"(?:vault\.)?ledger\.(allot|amend)\(((?:analyst=|purpose=|--)[^()]*)\)": r"discreet budget VAULT --\1 \2",
    r"(?:vault\.)?ledger\.amend\(Budget\(…\)\)": "discreet budget VAULT --amend --epsilon … --delta …",
    r"(?:vault\.)?ledger\.(allot|amend)\b(?!\()": r"discreet budget VAULT --\1",
    r"(?:vault\.)?ledger\.unfinished\(\) lists": "discreet ledger VAULT entries shows",
    r"(?:vault\.)?ledger\.verify\(\)": "discreet ledger VAULT verify",
    r"(?:dp\.)?Budget\((?:epsilon=)?([^,()]+), delta=\"?([^\"()]*)\"?\)": r"--epsilon \1 --delta \2",
    r"within=\{…\}": "--within NAME=WIDTH",
    r"bins=\{…\}": "--bins NAME=COUNT",
    r"bins=\{'?([^{}:']*)'?: ([^{}]*)\}": r"--bins \1=\2",
    r"columns=\[…\]": "--columns NAMES",
    r"\b(unchecked|persons|strict)=True\b": r"--\1",
    r"dp\.Category\(\[…\]\)": 'type = "category"',
    r"release\.to_pandas\(\)": "--csv",
    r"release\.label\b": "--label",
    r"\bvault\.ledger\b(?![.(])": "discreet ledger",
}
_COMMAND = re.compile(r"(?:\bvault\.)?\b(ask|preview|oracle|synthesize)\(…((?:, \w+=[^,()]+)*)\)")
_OPTION = re.compile(
    r"(?<![\w.('\"])(epsilon|within|delta|confidence|analyst|purpose|person|rows_per_person|memory|rows|table|to|path|name)"
    r"=(\"[^\"\n]*\"|'[^'\n]*'|[\w.%+-]*[\w%])"
)


def in_options(words: str) -> str:
    """Return what the library says as one writes it on the command line.

    >>> in_options('A question of epsilon="0.1" still fits.')
    'A question of --epsilon 0.1 still fits.'
    >>> in_options('The curator opens one with ledger.allot(analyst="ana", budget=Budget(…)).')
    'The curator opens one with discreet budget VAULT --allot --analyst ana --epsilon ….'
    >>> in_options('Make another one: vault.oracle(…, name="second").')
    'Make another one: discreet oracle VAULT … --name second.'
    """
    return _OPTION.sub(_option, in_commands(words))


def in_commands(words: str) -> str:
    """Return the same with the calls alone translated: for texts that hold names and values of others.

    >>> in_commands("It covers noise, not bounding (release.label). to=5")
    'It covers noise, not bounding (--label). to=5'
    """
    for call, command in (_PHRASES | _CALLS).items():
        words = re.sub(call, command, words)
    return _COMMAND.sub(lambda found: f"discreet {found[1]} VAULT …{found[2].replace(',', '')}", words)


def _option(found: re.Match[str]) -> str:
    name, value = found[1].replace("_", "-"), found[2]
    bare = value.strip("\"'")
    return f"--{name} {bare if bare and ' ' not in bare else value}"
