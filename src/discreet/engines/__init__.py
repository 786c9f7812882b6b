"""Engines: run one bounded aggregate over sealed rows, and return exact integers.

    contract    what an engine does, and what it returns
    emit        expressions to SQL text, for every dialect in one place
    duckdb      the embedded engine, and the default

An engine sees trees that we built over integer columns, never an analyst's text. Nothing random happens in it.
"""
