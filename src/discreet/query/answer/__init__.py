"""Answer a Plan: exact sums, noise, estimates, post-processing, label.

Modules: estimates, execute, interval_arithmetic, label, postprocess, presenting.
"""
