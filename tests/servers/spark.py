"""A Spark of two cores for the tests: started when the first test wants it, in a folder of its own.

It needs Java 17 or newer, which the Makefile looks for. Without it the tests fail, unless the variable
DISCREET_WITHOUT_SPARK says that they are to be skipped, and why.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_QUIET = """
appender.console.type = Console
appender.console.name = console
rootLogger.level = off
rootLogger.appenderRef.stdout.ref = console
"""
_BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # for a life of a minute: half the work of the default


@dataclass(frozen=True)
class Cluster:
    """A Spark that belongs to one pytest process, with a catalogue that is forgotten with it."""

    session: SparkSession
    folder: Path

    @classmethod
    def started(cls) -> Cluster:
        _check_java()
        folder = Path(tempfile.mkdtemp(prefix="spark"))
        (folder / "log4j2.properties").write_text(_QUIET)
        settings = {
            "spark.master": "local[2]",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "1g",
            "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'} {_BRIEF}",
            "spark.local.dir": str(folder / "spill"),
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.sql.ansi.enabled": "false",  # as many have it: what is ours must not depend on it
        }
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # with the packages of this process
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.appName("tests")
        for name, value in settings.items():
            builder = builder.config(name, value)
        return cls(builder.getOrCreate(), folder)

    def stopped(self) -> None:
        self.session.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def _check_java() -> None:
    if reason := os.environ.get("DISCREET_WITHOUT_SPARK"):
        pytest.skip(f"without Spark: {reason}")
    home = os.environ.get("JAVA_HOME")
    command = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    said = subprocess.run([command, "-version"], capture_output=True, text=True).stderr if command else ""
    found = re.search(r'version "(\d+)', said)
    if found is None or int(found[1]) < 17:
        pytest.fail(
            "Spark needs Java 17 or newer. Install it (Debian: apt-get install openjdk-17-jre-headless), or set "
            "DISCREET_WITHOUT_SPARK to the reason for going without."
        )
