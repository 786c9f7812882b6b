"""Bound the privacy loss of any callable from below, by sampling.

blackbox          choose one event by half of the samples, and test it on the other half
sampling          make releases, in parts that fit into memory
samples           answers sorted by kind, as tables of numbers
subsample         a sample of the answers to learn from
features          numbers and codes that are computed from an answer
log_ratio_cells   cells of a feature, with the log-ratio of two laws in each
classifier        a logistic regression on many entries
scores            estimates of the likelihood ratio, learned from samples
events            the event that shows the largest loss
"""
