"""Plan a Question: linear queries, their noise, their cost and their error.

Modules:

    plan                 Question -> Plan: everything known before any data is read
    estimators           aggregates as formulas over linear queries
    linear_queries       the integer sums that are measured, and their sensitivity
    affine               integer factors of linear queries, in Python and in SQL
    quantiles            ranks selected by private mechanisms, with intervals
    prefix_tree          noisy running totals, made consistent, and their margins
    laplace_sums         the tail of a weighted sum of Laplace noise
    partition_selection  the values of string keys that are frequent enough to be kept
    group_index          the groups of an answer, numbered
    calibration          from a budget or a margin of error to the budget of each linear query
    allocation           the best division of a budget
    error_bounds         margins of error from the laws of noise
    explain              a plan as text
    relative_accuracy    relative margins, met by doubling epsilon
    budget_table         how accurate equal counts are, under both kinds of budget
"""
