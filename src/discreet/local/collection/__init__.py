"""Describe a collection: domain, policy, signature, guarantee.

canonical_json    JSON, labels and decimals in canonical form
collection        Collection: all that devices and servers agree on
domains           labels, words or texts, and how a protocol takes them
guarantee         what a device is guaranteed: local, lifetime, shuffled
policy            Policy: how a device answers again
signing           sign a collection and open a signed one
"""
