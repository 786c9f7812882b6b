"""Choose what to measure: which marginals, and how precisely.

    workload      the sets of columns that matter
    select        the sets that are worth measuring, and their shares of the budget
    candidates    what measuring a set could remove, from noisy scores
"""
