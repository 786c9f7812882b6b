"""Choose what to measure: which marginals, and how precisely. Its modules, in the order of use:

    workload      the sets of columns that matter
    candidates    what measuring a set could remove, from noisy scores
    select        the sets that are worth measuring, and their shares of the budget

All of it reads public facts and noisy numbers.
"""
