"""Aggregate reports and estimate shares with intervals.

Modules: aggregator, answer, deduplicate, estimate, shuffler, sources.
"""
