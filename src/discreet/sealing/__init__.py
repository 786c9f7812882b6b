"""Seal a table: read sources, join them, write bounded integer rows.

draft        a draft of the schema file, and the reading of a finished one
guesses      types and bounds from the names of columns
sources/     files, frames and database tables, opened so that no row decides about another
joins        several sources joined into one table of codes
readability  how each cell was read: as a value, missing, unreadable, or outside its bounds
weights      weights and marked rows: the bound on what one person adds
learning     bounds that are learned from the rows, and charged
counting     the cells that were read, counted
report       the private report for the curator
notations    notations that unreadable texts may be written in
seal         a new vault in a directory, and new rows for one
backends/    DuckDB, PostgreSQL and Spark, which run the SQL of sealing
"""
