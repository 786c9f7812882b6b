"""Attack the broken mechanism of an exhibit and the mended one, once for all tests."""

import functools

from discreet.audit.museum.exhibit import Exhibit
from discreet.audit.report.verdict import Verdict


@functools.cache
def verdicts(exhibit: Exhibit) -> tuple[Verdict, Verdict]:
    return exhibit.broken(), exhibit.mended()
