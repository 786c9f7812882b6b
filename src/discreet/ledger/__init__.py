"""Record every charge against a budget: durable, concurrent, tamper-evident.

    ledger        create, open, allot, amend, reserve, record
    reading       balances, recorded answers, entries; find and verify
    budget        the (ε, δ) that is promised, and the filter that keeps it
    account       the whole vault, an analyst, or a purpose
    costs         the cost of a question, in the amounts that add up
    balance       budget, spent, and left of an account
    bodies        the bodies of entries: who is meant, and the balances after
    charge        the receipt of a charge, and the state before one
    admission     whether a question fits every account
    entry         one line of the ledger, chained to the one before
    transitions   the effect of an entry on the balances
    store         SQLite and PostgreSQL
    render        the ledger as a table

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
from discreet.ledger.charge import Charge
from discreet.ledger.costs import Cost, cost
from discreet.ledger.entry import Entry, Head
from discreet.ledger.ledger import Ledger

__all__ = ["Account", "Balance", "Budget", "Charge", "Cost", "Entry", "Head", "Ledger", "Room", "cost"]
