"""Run bounded aggregates over sealed rows, and return exact integers.

    nodes          the nodes of expressions
    engine         the contract of an engine, and its result
    statement      sums over sealed rows, written before anything is charged
    clamping       sums of codes that are known to be within their limits
    full_weight    sums of rows that have the largest weight, without products
    examples       single rows for learners, who get back exact sums only
    sql_writer     expressions as SQL
    dialects       the differences between engines
    try_cast       casts that give NULL instead of failing
    case_folding   upper and lower case, the same for every engine
    duckdb         the embedded engine, and the default
    postgres       rows that stay in a PostgreSQL database
    spark          rows that stay in a Spark catalogue
    spark_examples rows that learners add up on the executors of Spark
    interruptible  work that an interrupt can stop

An engine sees expressions that we built over integer columns, never an analyst's text. It draws nothing at random.
"""
