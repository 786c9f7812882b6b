"""Estimate means and distributions of numbers.

dbitflip        histograms from a few bits (Windows)
means           Duchi, Piecewise and Hybrid
one_bit_mean    means from one bit (Windows)
piecewise       the law of a window that moves with the value
square_wave     distributions and quantiles
"""
