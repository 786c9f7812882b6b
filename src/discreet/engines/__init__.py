"""Engines: run one bounded aggregate over sealed rows, and return exact integers.

    contract    what an engine does, and what it returns
    statement   sums over sealed rows, written out before anything is charged
    emit        expressions to SQL text
    dialects    where engines differ
    duckdb      the embedded engine, and the default
    postgres    rows that stay in a PostgreSQL database
    spark       rows that stay in a Spark catalogue
    waiting     work that an interrupt can stop

An engine sees trees that we built over integer columns, never an analyst's text. Nothing random happens in it.
"""
