"""Show generators with a second holder, and noise that is drawn again when it should be kept."""

from __future__ import annotations

import os
from collections.abc import Callable

from discreet import noise
from discreet.audit.attacks import exact, randomness
from discreet.audit.inputs.subject import Subject
from discreet.audit.museum.exhibit import Exhibit
from discreet.privacy import RandomizedResponse


class Congruential:
    """A linear congruential generator modulo 2^64 that outputs its upper half. It must never be used for noise.

    >>> Congruential(1).noise() == Congruential(1).noise()
    True
    """

    def __init__(self, seed: int):
        self.state = seed

    def noise(self) -> int:
        """Return the next number, from −2^31 to 2^31 − 1."""
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64  # Knuth's MMIX
        return (self.state >> 32) - 2**31


FORKED_GENERATOR = Exhibit(
    name="forked-generator",
    title="A generator seeded once, and then forked with its workers",
    story=(
        "A server seeds its generator from the operating system, as it should, and then forks its workers. Each "
        "worker inherits the whole memory, and with it the state of the generator. So all workers add the same "
        "noise to different tables, or to the same table a day apart. An attacker who subtracts two answers has "
        "the exact difference. The same happens to a generator that is sent to workers as a pickle, which "
        "libraries for parallel computing do silently, or copied into a checkpoint."
    ),
    sources=(
        "numpy/numpy#9650: child processes share their parent's random state",
        "dask/distributed#835: the state travels with a pickled method",
    ),
    broken=lambda: randomness.attack(
        Congruential.noise, generator=Congruential(int.from_bytes(os.urandom(8), "big")), name="a forked generator"
    ),
    mended=lambda: randomness.attack(lambda: noise.uniform_below(2**64), name="noise.uniform_below"),
    ours=(
        "A forked child has its own generator and drops the cached noise of its parent, also when C code forks, "
        "and generators cannot be copied or pickled. Tested in tests/noise/test_random_bits.py and, attacked, in "
        "tests/audit/attacks/test_randomness.py."
    ),
)


# -- the seed in the settings -----------------------------------------------------------------------------------

SEED = 20_140_204  # the value in the settings


def seeded_run(count: int) -> int:
    """Release a count with the seed of the settings."""
    return count + Congruential(SEED).noise()


def fresh_run(count: int) -> int:
    """Release a count with noise that cannot be drawn again."""
    return count + noise.discrete_laplace(2**30)


SEEDED_GENERATOR = Exhibit(
    name="seeded-generator",
    title="A seed in the settings: the same noise on every run",
    story=(
        "A developer wanted reproducible results, and wrote a seed into the settings, where it stayed. Every run "
        "draws the same noise. One person joins, the count is released again, and the difference of the two "
        "releases is exactly 1, however wide the noise. An attacker who knows the seed, and it is in the "
        "repository, does not even need a second release. Here each draw is such a difference, of runs on "
        "neighbouring tables."
    ),
    sources=(
        "Holohan 2023, Random Number Generators and Seeding for Differential Privacy: random_state of diffprivlib",
        "Garfinkel and Leclerc 2020, Randomness Concerns when Deploying Differential Privacy",
    ),
    broken=lambda: randomness.attack(
        lambda: seeded_run(101) - seeded_run(100), name="the difference of two seeded runs"
    ),
    mended=lambda: randomness.attack(
        lambda: fresh_run(101) - fresh_run(100), name="the difference of two fresh runs"
    ),
    ours=(
        "Noise cannot be seeded. noise.deterministic(seed), for tests, marks all its results as not for release. "
        "Tested in tests/noise/test_testing.py."
    ),
)


# -- the permanent bit, redrawn ---------------------------------------------------------------------------------

REPORTS = 3


def redrawn(bit: int) -> list[int]:
    """Report a bit several times, with new permanent noise for every report."""
    return [bit ^ noise.bernoulli("1/4") ^ noise.bernoulli("1/4") for _ in range(REPORTS)]


def memoised(bit: int) -> list[int]:
    """Report a bit several times, with the permanent noise drawn once and kept, as in RAPPOR."""
    kept = bit ^ noise.bernoulli("1/4")
    return [kept ^ noise.bernoulli("1/4") for _ in range(REPORTS)]


def _reports(name: str, release: Callable[[int], list[int]]) -> Subject:
    return Subject(
        name=name, release=release, loss=RandomizedResponse("1.0987"), pairs=[(0, 1)]
    )  # log 3, rounded up


MEMOISED_REDRAWN = Exhibit(
    name="memoised-redrawn",
    title="Permanent randomised response that is redrawn at every report",
    story=(
        "RAPPOR answers with two layers of noise. The permanent layer is drawn once per value and kept: its ε, "
        "here log 3, is the promise for a lifetime of reports. The other layer only hides that two reports are "
        "from one person. A client that loses the permanent bit (an emptied cache, a reinstallation, a budget "
        "that is renewed every day) draws it again, and the promise then covers one report only: three reports, "
        "each of odds 5 : 3, lose log 125/27, two fifths more, and a year of them reveals the bit."
    ),
    sources=(
        "Erlingsson, Pihur and Korolova 2014 (RAPPOR)",
        "Tang, Korolova, Bai, Wang and Wang 2017, arXiv 1709.02753: a budget renewed every day",
        "Ding, Kulkarni and Yekhanin 2017, on memoisation",
    ),
    broken=lambda: exact.attack(_reports("three redrawn reports", redrawn)),
    mended=lambda: exact.attack(_reports("three memoised reports", memoised)),
    ours=(
        "A loss is that of one release: k reports are charged as RandomizedResponse(ε) * k, unless the reports "
        "come from one draw that is kept. This exhibit is the test, in tests/audit/museum/test_generators.py."
    ),
)

EXHIBITS = (FORKED_GENERATOR, SEEDED_GENERATOR, MEMOISED_REDRAWN)
