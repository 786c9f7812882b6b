"""Bound the privacy loss of any callable from below, by sampling.

Modules: blackbox, classifier, events, features, log_ratio_cells, samples, sampling, scores, subsample.
"""
