"""multi-freq-ldpy's protocols: reports per CPU-second by protocol, and the CPU seconds of estimating.

Runs in an environment of its own and prints JSON. Usage: `multi_freq_local.py VALUES DOMAIN EPSILON`, with VALUES
a .npy of values from 0. Its functions are compiled at the first call, which is not counted.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

FEW = {"OLH": 10_000, "OUE": 20_000}


def main(values: Any, domain: int, epsilon: float) -> None:
    terms = {
        "GRR": (GRR_Client, GRR_Aggregator_MI, (domain, epsilon)),
        "OUE": (UE_Client, UE_Aggregator_MI, (epsilon, True)),
        "OLH": (LH_Client, LH_Aggregator_MI, (domain, epsilon, True)),
    }
    results = {}
    for name, (client, aggregate, server) in terms.items():
        held = values[: FEW.get(name, len(values))].tolist()
        aggregate([client(value, domain, epsilon) for value in held[:50]], *server)
        start = time.process_time()
        reports = [client(value, domain, epsilon) for value in held]
        encoded = time.process_time()
        aggregate(reports, *server)
        decoded = time.process_time()
        results[name] = {"n": len(held), "encode": encoded - start, "decode": decoded - encoded}
    print(json.dumps(results))


if __name__ == "__main__":
    main(np.load(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
