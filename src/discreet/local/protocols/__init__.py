"""Define the protocols of local privacy, their registry and their contract.

Modules: longitudinal, protocol, registry, frequency/, numeric/, strings/.
"""
