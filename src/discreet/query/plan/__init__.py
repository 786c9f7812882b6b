"""Plan a Question: linear queries, their noise, their cost and their error.

Modules: affine, allocation, calibration, error_bounds, estimators, explain, group_index, linear_queries,
partition_selection, plan, quantiles, relative_accuracy.
"""
