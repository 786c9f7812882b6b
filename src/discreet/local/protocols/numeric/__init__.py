"""Estimate means and distributions of numbers.

Modules: dbitflip, means, one_bit_mean, piecewise, square_wave.
"""
