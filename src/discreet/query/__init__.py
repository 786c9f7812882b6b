"""Compile a question: parse SQL, bound its expressions, plan the noise, answer it.

question    the records: Question, Term, Key, Aggregate
builder     build a question in Python
ir          build expressions over the sealed columns
bins        the bins of a column, for oracles and synthetic tables
cache_key   the text by which the ledger finds a recorded answer
preview     the cost and margins of a question before it is asked
parse/      SQL to a Question, by an allow-list
bounds/     bound the integers that an expression can take
plan/       a Question to a plan: linear queries, noise, groups
answer/     run a plan and turn sums into estimates
"""
