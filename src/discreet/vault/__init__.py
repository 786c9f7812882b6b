"""Hold the facade of the library: a sealed table with its ledger.

vault        Vault: seal, ask, preview, ledger
products     what lasts, on one charge each: oracle, synthesize, fit, holdout, stream
ask          answer a question: look up, plan, charge, execute, record
storage/     where a vault is: a directory, a PostgreSQL schema, a Spark catalogue
schema       the column types under their old name, for one version
"""
