"""Attack shipped mechanisms, and report what was caught. No vault is opened: attacks bring their own inputs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from discreet.errors import ParameterError
from discreet.serve.verbs.verb import Result, Tell, Verb


def audit(_: Any, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Attack mechanisms by name, one after the other; all of them by default."""
    from discreet.audit.battery import check_mechanism
    from discreet.audit.report.findings import Findings, as_document
    from discreet.audit.shipped import shipped

    things, names = shipped(), arguments.get("names")
    chosen = list(things) if names is None else names
    if unknown := [name for name in chosen if name not in things]:
        raise ParameterError("There is no such shipped mechanism.", found=unknown[0])
    begun, reports = time.perf_counter(), []
    for place, name in enumerate(chosen):
        tell(f"attacking {name}", place / len(chosen))
        reports.append(
            check_mechanism(things[name], name=name, samples=arguments.get("samples"))  # its defaults otherwise
        )
    return Result(as_document(Findings(reports=tuple(reports), seconds=time.perf_counter() - begun)))


VERBS = {"audit": Verb(audit, job=True, resumable=True)}
