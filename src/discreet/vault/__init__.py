"""The public face for tables: seal, ask, preview, release.

vault        Vault: a sealed table with its ledger
schema       what columns may hold: Integer, Real, Category, Boolean, Date, Datetime, Text
sealing      rows become integers with weights, once
sql          a question in SQL, through an allow-list, becomes integer expressions with bounds
plan         what is measured, with which noise, at what cost
execute      exact sums meet their noise
release      numbers with intervals, cost and label
"""
