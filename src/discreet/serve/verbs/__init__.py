"""Carry out verbs with a vault, in a worker process: what each needs, and the JSON that it returns.

    verb        Verb, Result, Tell: what all verbs share; `recorded_only`: a table that cannot be charged
    ledger      balances, entries, verification, budgets, releases
    oracles     plan, open, ask and describe an oracle
    synthetic   make a synthetic table, its rows, its report
    models      fit a model, its card, its predictions
    holdouts    open a holdout, score a model
    streams     open a stream, add ticks
    audits      attack shipped mechanisms
    uploads     bound what reading a curator's table takes
    curating    propose, check and seal a table; recorded answers and accounts for the console

`serve.tasks.TASKS` names them all.
"""
