"""Choose a protocol and predict its error before anything is collected.

choose                   the best protocol for a domain and an ε
poisoning                the largest effect of malicious reports
shuffle_amplification    the (ε, δ) of shuffled reports
simulate                 a collection on a known population
variance                 the accuracy of all protocols beside the optimum
"""
