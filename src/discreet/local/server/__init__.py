"""Aggregate reports and estimate shares with intervals.

aggregator     Aggregator: counts reports, merges states, estimates
answer         Answer: estimates with labels and notes
deduplicate    report ids that were counted before
estimate       Estimate: frequencies with standard errors
label          the label and the receipt of an answer: what is guaranteed to a device
shuffler       Shuffler: hides who sent what
sources        reports in files, Arrow, Parquet, DuckDB, Spark
"""
