"""Who spent what: durable, concurrent, tamper-evident.

    budget    what may be spent: (ε, δ), and the filter that keeps it
    costs     what a question costs, in the amounts that add up
    balance   what an account may spend, has spent, and has left
    entry     one line of the ledger, chained to the one before
    ledger    create, open, allot, amend, reserve, record, find, verify

>>> import tempfile, os
>>> from discreet.privacy import Pure
>>> folder = tempfile.TemporaryDirectory()
>>> ledger = Ledger.create(os.path.join(folder.name, "people.ledger"), Budget(epsilon=2))
>>> charge = ledger.reserve(Pure("0.5"), question="select count(*) from people", analyst="ana")
>>> ledger.record(charge, "1042")
>>> ledger.find("select count(*) from people")
'1042'
>>> ledger.balance().remaining
Fraction(3, 2)
>>> ledger.close(); folder.cleanup()
"""

from discreet.ledger.account import Account
from discreet.ledger.balance import Balance, Room
from discreet.ledger.budget import Budget
from discreet.ledger.costs import Cost, cost
from discreet.ledger.entry import Entry, Head
from discreet.ledger.ledger import Charge, Ledger

__all__ = ["Account", "Balance", "Budget", "Charge", "Cost", "Entry", "Head", "Ledger", "Room", "cost"]
