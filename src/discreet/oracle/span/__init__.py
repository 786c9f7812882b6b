"""Answer linear queries from residuals that were measured once, with margins that are known before the charge.

strategy      what is measured of one column: an integer matrix whose rows add up to zero
residuals     the exact product of counts and strategies, and its sensitivity
design        the division of a budget among sets of columns, and the variance of every answer
confidence    the part of alpha that each query has
plan          OraclePlan: how much of the budget a span takes, and what to expect
span          answers and margins
"""
