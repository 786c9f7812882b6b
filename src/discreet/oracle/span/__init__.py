"""Answer linear queries from residuals that were measured once, with margins that are known before the charge.

strategy      what is measured of one column: an integer matrix whose rows add up to zero
residuals     the exact product of counts and strategies, and its sensitivity
design        the division of a budget among sets of columns, and the variance of every answer
confidence    the part of alpha that each query has
overlap       how much boxes overlap, by simulation, so that a union bound counts them once
credit        the threshold test that free answers pay for
plan          OraclePlan: how much of the budget a span takes, and what to expect
measure       release the residuals, and read them again after a restart
span          answers and margins
estimates     marginals from residuals, for a hypothesis
prediction    what is predicted where the span is vague, and which questions are too risky to be compared
box_search    the largest sum over all boxes of a table
certificate_price  the noise and the cost of a certificate
certificate   one number that bounds all errors of a fitted table
"""
