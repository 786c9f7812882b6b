"""Compute what a finding on a sample says about the population: one theorem to a module.

    concentration      Hoeffding, McDiarmid and Chernoff, for questions that were fixed before the rows were seen
    expectation        what differential privacy says about generalisation on average
    transfer           what it says with high probability: DFHPRR, BNSSSU, Jung et al., max-information
    gaussian_answers   how wide k adaptive answers with Gaussian noise are
    transcript         answers that reveal little: sample splitting, the Ladder, Guess-and-Check
    sparse_answers     Thresholdout, on the threshold test of the kernel
    sample_size        how many rows a number of adaptive questions takes

All are about rows drawn independently from one population, and about means of a number in [0, 1]. Widths are
half-widths of intervals that hold simultaneously with probability 1 − β, and are rounded up.
"""
