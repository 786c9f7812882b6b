"""Attack a mechanism: exactly, by its draws, by its budget, by its randomness.

Modules: clopper_pearson, contract, draw_laws, exact, outcomes, overspending, randomness.
"""
