"""The API, fuzzed from its own description: as an analyst, as a stranger, and with a revoked token."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.serve.conftest import Running

OPTIONS = (
    *("--phases", "examples,coverage,fuzzing", "--max-examples", "4", "--seed", "1"),
    *("--checks", "not_a_server_error,status_code_conformance,content_type_conformance,unsupported_method"),
    *("--workers", "1", "--exclude-path-regex", "events|audits"),
    *("--suppress-health-check", "all", "--no-color"),
)


@pytest.mark.slow  # its time bounds it, so that a loaded machine needs a generous one
@pytest.mark.parametrize("who", ["ana", "stranger", "revoked"])
def test_no_request_that_the_description_allows_or_forbids_breaks_the_service(
    running: Running, who: str, tmp_path: Path
) -> None:
    config = tmp_path / "schemathesis.toml"
    config.write_text('[parameters]\n"path.name" = "visits"\n')  # so that requests reach a vault
    accounts = running.service.accounts
    if who == "revoked":
        running.tokens[who] = accounts.new_token("ana", label="fuzzed")
        accounts.revoke_token("ana", next(one.id for one in accounts.tokens("ana") if one.label == "fuzzed"))
    token = running.tokens.get(who, "dsc_unknown")
    before = running.spent()
    found = subprocess.run(
        [
            *(str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(config), "run"),
            f"{running.address}/schema/openapi.json",
            *("--header", f"Authorization: Bearer {token}", *OPTIONS),
            *("--max-time", "60"),
        ],
        cwd=tmp_path,  # it keeps a cache where it runs
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert found.returncode == 0, found.stdout[-6000:] + found.stderr[-2000:]
    assert int(re.findall(r"(\d+) generated", found.stdout)[0]) > 20
    if who != "ana":
        assert running.spent() == before
    assert '"failed"' not in running.log.getvalue()
