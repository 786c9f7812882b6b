"""Define what leaves a vault: numbers with intervals, a label, a receipt, and their JSON.

Modules: estimate, frames, label, nist, plain_yaml, receipt, registry, release, render, serialize.
"""
