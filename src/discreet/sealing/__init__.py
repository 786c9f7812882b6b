"""Seal a table: read sources, join them, write bounded integer rows.

draft        a draft of the schema file, and the reading of a finished one
sources/     files, frames and database tables, opened so that no row decides about another
joins        several sources joined into one table of codes
seal         weights and marked rows: the bound on what one person adds
backends/    DuckDB, PostgreSQL and Spark, which run the SQL of sealing
"""
