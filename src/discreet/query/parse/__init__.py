"""Parse SQL into a Question, through an allow-list.

Modules: aggregates, canonical, expressions, functions, group_by, having_order_limit, scope, select,
statement, unsupported.
"""
