"""Aggregate reports and estimate shares with intervals.

aggregator     Aggregator: counts reports, merges states, estimates
answer         Answer: estimates with labels and notes
deduplicate    report ids that were counted before
estimate       Estimate: frequencies with standard errors
shuffler       Shuffler: hides who sent what
sources        reports in files, Arrow, Parquet, DuckDB, Spark
"""
