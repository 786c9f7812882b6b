"""Local privacy: learn from devices that trust nobody. The server never sees a raw answer.

draws       fresh bits, or bits that a secret key settles for ever
contract    what a protocol is
estimates   frequencies with their errors, unbiased and consistent
"""
