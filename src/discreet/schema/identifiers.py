"""Write names as SQL and programs need them: quoted names, and identifiers for columns without a name."""

from __future__ import annotations

import re
from collections.abc import Iterable


def quote(name: str) -> str:
    """Return a name as SQL writes it, whatever it contains.

    >>> quote('the "best" one')
    '"the ""best"" one"'
    """
    return '"' + name.replace('"', '""') + '"'


def identifiers(names: Iterable[str]) -> dict[str, str]:
    """Return an identifier for every column of an answer, in which expressions become words.

    A name without parentheses was given by the analyst or the curator, and stays as it is. An expression keeps its
    letters and digits; two expressions with the same letters are numbered.

    >>> identifiers(["city", "count(*)", "avg(income)"])
    {'city': 'city', 'count(*)': 'count', 'avg(income)': 'avg_income'}
    >>> list(identifiers(["count", "count(*)", "sum(a+b)", "sum(a-b)"]).values())
    ['count', 'count_2', 'sum_a_b', 'sum_a_b_2']
    """
    listed = list(names)
    found = {name: name for name in listed if "(" not in name}
    taken = set(found.values())
    for name in listed:
        if name in found:
            continue
        words = re.sub(r"\W+", "_", name).strip("_") or "column"
        chosen, number = words, 1
        while chosen in taken:
            number += 1
            chosen = f"{words}_{number}"
        taken.add(chosen)
        found[name] = chosen
    return {name: found[name] for name in listed}
