"""Define an exhibit of the museum: a mistake from practice, and the attack that catches it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from discreet.audit.report.verdict import Verdict


@dataclass(frozen=True, kw_only=True)
class Exhibit:
    """A broken mechanism with its story, the attack that catches it, and the same attack on the mended one."""

    name: str
    """A short slug: `sparse-vector-3`."""
    title: str
    """The mistake in one line."""
    story: str
    """What happened and why it leaks, in a paragraph."""
    sources: tuple[str, ...]
    """Papers and issues: `Lyu, Su and Li 2017, algorithm 3`, `opendp/opendp#2911`."""
    broken: Callable[[], Verdict]
    """Attack the broken one: must be caught."""
    mended: Callable[[], Verdict]
    """The same attack on the mended one: must not be caught, or the attack would prove nothing."""
    ours: str
    """How Discreet avoids it, and where that is tested."""
