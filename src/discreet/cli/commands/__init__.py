"""Define the commands of `discreet`, one module for each group.

Modules: ask, audit, demo, describe, ledger, local_design, local_estimate, local_reports, oracle, seal,
synthesize.
"""
