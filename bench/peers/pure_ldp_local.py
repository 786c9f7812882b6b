"""pure-ldp's protocols: reports per CPU-second by protocol, and the CPU seconds of counting and estimating.

Runs in an environment of its own and prints JSON. Usage: `pure_ldp_local.py VALUES DOMAIN EPSILON`, with VALUES a
.npy of values from 0. As many as are given are encoded one by one, which is its interface.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer
from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

FEW = {"OLH": 10_000, "OUE": 20_000}
"""Of which the server of a protocol sees fewer, because it takes so long."""


def pairs(domain: int, epsilon: float) -> dict[str, tuple[Any, Any]]:
    response = HadamardResponseServer(epsilon, domain)
    hashes = response.get_hash_funcs()
    return {
        "GRR": (DEClient(epsilon, domain), DEServer(epsilon, domain)),
        "OUE": (UEClient(epsilon, domain, use_oue=True), UEServer(epsilon, domain, use_oue=True)),
        "OLH": (LHClient(epsilon, domain, use_olh=True), LHServer(epsilon, domain, use_olh=True)),
        "Hadamard": (HadamardResponseClient(epsilon, domain, hash_funcs=hashes), response),
    }


def main(values: Any, domain: int, epsilon: float) -> None:
    results = {}
    for name, (client, server) in pairs(domain, epsilon).items():
        held = (values[: FEW.get(name, len(values))] + 1).tolist()  # its values start at 1
        start = time.process_time()
        reports = [client.privatise(value) for value in held]
        encoded = time.process_time()
        for report in reports:
            server.aggregate(report)
        server.estimate_all(range(1, domain + 1))
        decoded = time.process_time()
        results[name] = {"n": len(held), "encode": encoded - start, "decode": decoded - encoded}
    print(json.dumps(results))


if __name__ == "__main__":
    main(np.load(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
