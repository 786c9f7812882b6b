"""The command that opens the service: what it prints at its first start, and how it ends."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from pathlib import Path


def test_the_first_start_prints_an_address_and_a_token_that_can_be_copied(tmp_path: Path) -> None:
    """A token has hyphens, at which a sentence of 80 columns would be wrapped."""
    command = [sys.executable, "-m", "discreet", "serve", str(tmp_path), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        lines = list[str]()
        for line in process.stdout:
            lines.append(line)
            if "dsc_" in line:
                break
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert any(re.fullmatch(r"  http://127\.0\.0\.1:\d+\n", line) for line in lines)
    assert any(re.fullmatch(r"  dsc_[A-Za-z0-9_-]{43}\n", line) for line in lines)


def test_a_port_that_is_taken_is_named_and_loses_no_token(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "discreet", "serve", str(tmp_path), "--port", "0"]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = str(taken.getsockname()[1])
        for option in ("--port", "--flight-port"):  # that of the other door is opened by the same code
            found = subprocess.run([*command, option, number], capture_output=True, text=True, check=False)
            assert found.returncode == 2
            assert f"cannot listen at this address (found: 127.0.0.1:{number})" in found.stderr
            assert f"Try: {option} 0" in found.stderr
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        assert any("dsc_" in line for line in process.stdout)  # the first start that listens shows it
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130


def test_a_vault_is_not_taken_for_the_folder_that_holds_it(tmp_path: Path) -> None:
    """The accounts of the service would be written among the rows."""
    vault = tmp_path / "people.vault"
    vault.mkdir()
    (vault / "ledger.sqlite").touch()
    command = [sys.executable, "-m", "discreet", "serve", str(vault)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 2
    assert f"discreet serve {tmp_path}" in found.stderr
    assert [file.name for file in vault.iterdir()] == ["ledger.sqlite"]


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "discreet", "serve", str(tmp_path / "none")]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 2
    assert "no such directory" in found.stderr
