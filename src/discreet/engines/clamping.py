"""Leave out branches that clamp codes which are within their limits anyway.

Every factor of a sum is clamped to the bounds of its term, whatever the sealed rows hold: a damaged file must not
move a sum by more than its sensitivity. That takes half of the time of a scan. An engine that has seen the least
and the largest code of a column once, in rows that it holds open for reading only, may add up the same factors
without the branches that no row takes. Sealed codes are always within their limits, so whether an engine may do so
is no fact about any person. Rows of which one is outside are added up with all branches.
"""

from __future__ import annotations

from collections.abc import Mapping

from discreet.engines.nodes import Arithmetic, Case, Column, Compare, Expression, Int


def unclamped(tree: Expression, limits: Mapping[str, int], relied: dict[str, int]) -> Expression:
    """Return the tree without branches that no code from 0 to its limit takes; itself if there are none.

    Args:
        tree: The expression of a row.
        limits: The largest code of each column.
        relied: Gets the columns whose limits the result relies on.

    >>> age = Column("c0")
    >>> clamped = Case(((Compare("<", age, Int(0)), Int(0)), (Compare(">", age, Int(110)), Int(110))), age)
    >>> relied = {}
    >>> str(unclamped(clamped, {"c0": 110}, relied)), relied
    ('c0', {'c0': 110})
    """
    match tree:
        case Arithmetic():
            left, right = unclamped(tree.left, limits, relied), unclamped(tree.right, limits, relied)
            same = left is tree.left and right is tree.right
            return tree if same else type(tree)(left, right)
        case Case():
            taken = tuple(branch for branch in tree.branches if not _never(branch[0], limits, relied))
            if len(taken) == len(tree.branches) or tree.default is None:
                return tree
            return Case(taken, tree.default) if taken else tree.default
    return tree


def _never(condition: Expression, limits: Mapping[str, int], relied: dict[str, int]) -> bool:
    """Return whether no code within its limit meets the condition."""
    match condition:
        case Compare("<", Column(name), Int(value)) if name in limits and value <= 0:
            never = True
        case Compare(">", Column(name), Int(value)) if name in limits and value >= limits[name]:
            never = True
        case _:
            return False
    relied[name] = limits[name]
    return never
