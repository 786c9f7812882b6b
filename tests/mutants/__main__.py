"""Break the code on purpose and see the tests fail: `make mutants`, or `python -m tests.mutants vault`.

Each mutant changes one line of a temporary copy of the project and runs the tests that should notice. One that
survives means that a claim is not tested. The copy without changes must pass, or nothing is shown. What is given
chooses mutants by a part of their file or name.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.audit import AUDIT
from tests.mutants.doors import DOORS
from tests.mutants.engines import ENGINES
from tests.mutants.kernel import KERNEL
from tests.mutants.learn import LEARN
from tests.mutants.ledger import LEDGER
from tests.mutants.local import LOCAL
from tests.mutants.mechanisms import MECHANISMS
from tests.mutants.museum import MUSEUM
from tests.mutants.mutant import Mutant
from tests.mutants.noise import NOISE
from tests.mutants.oracle import ORACLE
from tests.mutants.privacy import PRIVACY
from tests.mutants.serve import SERVE
from tests.mutants.stream import STREAM
from tests.mutants.synth import SYNTH
from tests.mutants.validity import VALIDITY
from tests.mutants.vault import VAULT

ROOT = Path(__file__).parent.parent.parent
SOURCE = "src/discreet"
PARALLEL = 2

MUTANTS = [
    *MECHANISMS,
    *NOISE,
    *PRIVACY,
    *MUSEUM,
    *LEDGER,
    *ENGINES,
    *KERNEL,
    *VAULT,
    *ORACLE,
    *SYNTH,
    *LEARN,
    *VALIDITY,
    *STREAM,
    *LOCAL,
    *AUDIT,
    *SERVE,
    *DOORS,
]


@contextmanager
def copies(count: int) -> Iterator[SimpleQueue[Path]]:
    """Temporary copies of what the tests need."""
    with tempfile.TemporaryDirectory() as place:
        free: SimpleQueue[Path] = SimpleQueue()
        for i in range(count):
            copy = Path(place) / str(i)
            for part in ("src", "tests", "docs", "bench", "clients"):
                shutil.copytree(
                    ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__", "node_modules")
                )
            shutil.copy(ROOT / "pyproject.toml", copy)
            free.put(copy)
        yield free


def passes(copy: Path, tests: str, *more: str) -> bool:
    plugins = ["-p", "no:cacheprovider", "-p", "no:randomly", "-p", "tests.mutants.hasty"]
    options = ["-x", "-q", "-m", "not slow", *plugins, *more]
    command = [sys.executable, "-B", "-m", "pytest", *options, *tests.split()]
    # The copy's own source comes first, before the installed one. One thread each: mutants run side by side.
    environment = {"PYTHONPATH": str(copy / "src"), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True)
    # 2: xdist stopped at the first failure, as it was told to.
    if done.returncode not in ((0, 1, 2) if more else (0, 1)):
        raise RuntimeError(done.stdout + done.stderr)
    if more and done.returncode:
        print(*(line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))), sep="\n")
    return done.returncode == 0


def survives(mutant: Mutant, free: SimpleQueue[Path]) -> bool:
    copy = free.get()
    file = copy / SOURCE / mutant.file
    original = file.read_text()
    try:
        if original.count(mutant.before) != 1:
            raise RuntimeError(f"{mutant.name}: {mutant.before!r} is not there exactly once. Mend tests/mutants.")
        file.write_text(original.replace(mutant.before, mutant.after))
        return passes(copy, mutant.tests)
    finally:
        file.write_text(original)
        free.put(copy)


def every(mutants: list[Mutant]) -> str:
    """All tests that are to notice something, none of them twice."""
    named = {test for mutant in mutants for test in mutant.tests.split()}
    return " ".join(sorted(test for test in named if "::" not in test or test.partition("::")[0] not in named))


def main(chosen: str = "") -> int:
    mutants = [mutant for mutant in MUTANTS if chosen.lower() in f"{mutant.file} {mutant.name}".lower()]
    if not mutants:
        print(f"{__doc__}\nNo mutant has {chosen!r} in its file or name. There are {len(MUTANTS)}, for example:")
        print(*(f"  {mutant.file:32} {mutant.name}" for mutant in MUTANTS[:: len(MUTANTS) // 8]), sep="\n")
        return 0 if chosen in ("-h", "--help") else 2
    with copies(PARALLEL) as free, ThreadPoolExecutor(PARALLEL) as pool:
        if not passes(copy := free.get(), every(mutants), "-n", str(PARALLEL), "--dist", "loadgroup"):
            print("the tests fail without any mutant: mend that first")
            return 1
        free.put(copy)
        survivors, start = [], time.monotonic()
        for mutant, alive in zip(mutants, pool.map(lambda m: survives(m, free), mutants), strict=True):
            survivors += [mutant] * alive
            print(f"{'SURVIVED' if alive else 'caught  '}  {mutant.file:32} {mutant.name}", flush=True)
    caught = len(mutants) - len(survivors)
    print(f"\n{caught} of {len(mutants)} mutants caught in {time.monotonic() - start:.0f} s")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
