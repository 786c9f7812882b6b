"""Mutants of the local model: probabilities, losses, the charges of a device, and the refusals of a server."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

CHANCES = "tests/local/primitives/test_fixed_point.py"
PROTOCOLS = "tests/local/protocols/test_protocols.py"
DEVICE = "tests/local/device/test_device.py"
AGGREGATOR = "tests/local/server/test_aggregator.py"

LOCAL = [
    Mutant(
        "probabilities: rounded to the nearest, above the stated ε",
        "local/primitives/fixed_point.py",
        "return math.floor(SCALE * weight / (shrunk + weight))",
        "return math.ceil(SCALE * weight / (shrunk + weight))",
        CHANCES,
    ),
    Mutant(
        "probabilities: a logarithm rounded down",
        "local/primitives/fixed_point.py",
        "[1] * short > 1 << _PRECISION:\n        units += 1\n    return Fraction(units, _PLACES)",
        "[1] * short > 1 << _PRECISION:\n        units += 1\n    return Fraction(units - 1, _PLACES)",
        CHANCES,
    ),
    Mutant(
        "draws: keyed integers by their remainder",
        "local/primitives/randomness.py",
        "end = SCALE - SCALE % bound",
        "end = SCALE",
        "tests/local/primitives/test_randomness.py",
    ),
    Mutant(
        "GRR: a false answer may be the truth",
        "local/protocols/frequency/grr.py",
        "other + (other >= truth)",
        "other",
        PROTOCOLS,
    ),
    Mutant(
        "unary: the loss of one bit",
        "local/protocols/frequency/unary.py",
        "return p * (1 - q) / (q * (1 - p))",
        "return p / q",
        PROTOCOLS,
    ),
    Mutant(
        "SUE: ε for each of two bits",
        "local/protocols/frequency/unary.py",
        "return cls(domain, odds_below(budget(epsilon) / 2))",
        "return cls(domain, odds_below(budget(epsilon)))",
        PROTOCOLS,
    ),
    Mutant(
        "subset: who is in loses a member that is always the same",
        "local/protocols/frequency/subset_selection.py",
        "leaving = members[draws.below(self.size, count), np.arange(count)]",
        "leaving = members[0]",
        PROTOCOLS,
    ),
    Mutant(
        "two steps: a life for what one report costs",
        "local/protocols/frequency/two_step_grr.py",
        "return Pure(epsilon_above(a * (self.domain - 1) / (1 - a)))",
        "return self.loss",
        "tests/local/protocols/frequency/test_two_step_grr.py",
    ),
    Mutant(
        "device: drawn first, charged afterwards",
        "local/device/device.py",
        "        self._ledger.charge(collection, today)\n"
        "        return frame(collection, self._answer(collection, held), day=today if dated else None)",
        "        made = frame(collection, self._answer(collection, held), day=today if dated else None)\n"
        "        self._ledger.charge(collection, today)\n        return made",
        DEVICE,
    ),
    Mutant(
        "device: permanent answers shared by all collections",
        "local/device/device.py",
        "collection.id + held.key",
        "held.key",
        DEVICE,
    ),
    Mutant(
        "device: permanent answers drawn anew",
        "local/device/device.py",
        "randomiser.encode(held.row, Keyed(secret, context))",
        "randomiser.encode(held.row)",
        DEVICE,
    ),
    Mutant(
        "device: answers distinguished, not values",
        "local/device/device.py",
        'tag = hmac.new(secret, b"admitted" + context, hashlib.sha256)',
        'tag = hmac.new(secret, b"admitted" + answer, hashlib.sha256)',
        DEVICE,
    ),
    Mutant(
        "device ledger: one value charged, several reported",
        "local/device/device_ledger.py",
        '(1 if policy.policy == "none" else policy.distinct or 1)',
        "1",
        DEVICE,
    ),
    Mutant(
        "device ledger: a life without an end",
        "local/device/device_ledger.py",
        "if used + cost > most:",
        "if cost > most:",
        DEVICE,
    ),
    Mutant(
        "device ledger: a clock set back opens a new period",
        "local/device/device_ledger.py",
        "if abs(day - then) < self.days)",
        "if 0 <= day - then < self.days)",
        DEVICE,
    ),
    Mutant(
        "aggregator: a report is counted as often as it arrives",
        "local/server/deduplicate.py",
        "            fresh &= ~_among(ids, row)\n",
        "            pass\n",
        f"tests/local/server/test_deduplicate.py {AGGREGATOR}",
    ),
    Mutant(
        "aggregator: payloads that no device could have sent",
        "local/server/aggregator.py",
        '        rows = self._kept(rows, valid, "invalid payload")\n',
        "",
        AGGREGATOR,
    ),
    Mutant(
        "aggregator: reports of other collections",
        "local/server/aggregator.py",
        '        rows = self._kept(rows, (rows[:, 1:9] == self._prefix).all(axis=1), "other collection")\n',
        "",
        AGGREGATOR,
    ),
    Mutant(
        "aggregator: reports of other days",
        "local/server/aggregator.py",
        "(days >= self._days[0]) & (days <= self._days[1])",
        "(days >= self._days[0]) | (days <= self._days[1])",
        AGGREGATOR,
    ),
    Mutant(
        "aggregator: an answer before its cohort is there",
        "local/server/aggregator.py",
        "if devices < wanted:",
        "if devices < 1:",
        AGGREGATOR,
    ),
    Mutant(
        "aggregator: reports that two parts have counted count as two",
        "local/server/aggregator.py",
        "return self._reports_per_device * (1 + float(np.sum(times * (times - 1))) / self.n)",
        "return self._reports_per_device + 0 * times.sum()",
        AGGREGATOR,
    ),
    Mutant(
        "guarantee: a crowd whose reports are the same in every batch",
        "local/collection/guarantee.py",
        'if policy == "none" or collection.reports_of_a_device == 1:',
        "if True:",
        "tests/local/collection/test_guarantee.py",
    ),
    Mutant(
        "shuffler: in the order of arrival",
        "local/server/shuffler.py",
        "return batch(rows[permutation(len(rows))])",
        "return batch(rows)",
        "tests/local/server/test_shuffler.py",
    ),
]
