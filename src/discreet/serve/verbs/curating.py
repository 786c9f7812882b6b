"""Read a curator's table before and while it is sealed, and find recorded answers for the pages of the console.

`propose` reads names and types, `check` and `seal` read rows. The report of `check` is private: it counts rows and
quotes some. It goes to the screen of the curator who uploaded the table, and the server does not store it.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from discreet.errors import NotFound, SealingFailed
from discreet.serve.verbs import uploads
from discreet.serve.verbs.ledger import account
from discreet.serve.verbs.verb import Result, Tell, Verb, given

if TYPE_CHECKING:
    from discreet.sealing.report import SealingReport
    from discreet.vault.vault import Vault

UNREADABLE = "More than half of a column cannot be read, and would be missing. Nothing was sealed."
_PRICE = ("epsilon", "spend", "within", "confidence", "keys_delta")
_QUICK = ("Laplace", "Gaussian", "Exponential", "PermuteAndFlip", "GRR")  # under a second in all


def propose(_: Any, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Return the columns of a table with what their names and declared types suggest. No row is read."""
    from discreet.sealing.draft import columns_of, guessed
    from discreet.sealing.guesses import may_identify

    with uploads.bounded(arguments):
        found = columns_of(arguments["source"])
    uploads.expect_columns(len(found))
    columns = [
        {"name": name, "declared": kind, "identifies": may_identify(name), **guessed(name, kind)}
        for name, kind in found.items()
    ]
    return Result({"columns": columns}, public=True)


def check(_: Any, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Read the table as sealing would, and report what becomes of each column. The report is private."""
    from discreet.vault.vault import Vault

    with uploads.bounded(arguments) as limits:
        report = Vault.check(arguments["source"], **limits, **_declared(arguments))
    return Result(_shown(report))


def seal(_: Any, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Seal the table into a new vault. One that is mostly unreadable needs `anyway`, as everywhere."""
    from discreet.ledger import Budget
    from discreet.sealing.report import Unreadable
    from discreet.vault.vault import Vault

    try:
        with uploads.bounded(arguments) as limits:
            vault = Vault.seal(
                arguments["source"],
                to=arguments["to"],
                name=arguments["name"],
                budget=Budget(arguments["epsilon"], arguments["delta"]),
                anyway=bool(arguments.get("anyway")),
                progress=tell,
                **limits,
                **_declared(arguments),
            )
    except Unreadable:  # its words come from cells, and the reply of a job is stored
        raise SealingFailed(UNREADABLE, fix="Look at the report, then confirm it.") from None
    with vault:
        head = vault.ledger.head()
        return Result({"table": vault.metadata.name, "number": head.number, "hash": head.hash})


def recorded(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Return the answer on record for a question at a price. It reads no row, and nothing is charged."""
    from discreet.vault import ask as asking

    terms = {
        **dict.fromkeys(_PRICE),
        "confidence": "0.95",
        **given({name: arguments.get(name) for name in _PRICE}),
    }
    found = asking.recorded(vault.table(), arguments["sql"], asking.terms(**terms))
    if found is None:
        raise NotFound("This question has no recorded answer at this price.", fix="Preview it, then ask it.")
    found.expect_release("the service")
    return Result(found.to_json(), public=True)


def chart(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Return the picture of a recorded answer as a file, drawn by altair: Vega-Lite, SVG or PNG."""
    from discreet.release.release import Release

    picture = Release.from_json(recorded(vault, arguments, tell).body).plot()
    form = arguments["form"]
    if form == "vl.json":
        written = json.dumps(picture.to_dict(), ensure_ascii=False, indent=1).encode()
    elif form == "svg":
        text = io.StringIO()
        picture.save(text, format="svg")
        written = text.getvalue().encode()
    else:
        out = io.BytesIO()
        picture.save(out, format="png", scale_factor=2)
        written = out.getvalue()
    return Result({"data": base64.b64encode(written).decode()}, public=True)


def accounts(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Return all accounts with the guarantee that each of their budgets promises, for the curator."""
    found = []
    for balance in vault.ledger.balances():
        budget = balance.budget
        promise = None if budget is None else {"epsilon": str(budget.epsilon), "delta": str(budget.delta)}
        found.append({**account(balance), "promise": promise})
    return Result({"accounts": found}, public=True)


def power(_: Any, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Return the power of the auditor on plain mechanisms: by how much their noise must be too small to be caught.

    The attacks weaken noise while they run. They run where public facts are read, and no answer is drawn there.
    """
    from discreet.audit.inputs.subject import Subject
    from discreet.audit.power import power as measured
    from discreet.audit.shipped import shipped
    from discreet.mechanisms import Mechanism

    rows, seen = [], set()
    for name, thing in shipped().items():
        kind = name.partition("(")[0]
        if kind in _QUICK and kind not in seen and isinstance(thing, Mechanism | Subject):
            seen.add(kind)
            found = measured(thing, name=name)
            factor = "not caught" if found.factor is None else f"× {float(found.factor):g}"
            rows.append({"name": name, "attack": found.attack, "weakened": found.weakened, "factor": factor})
    return Result({"powers": rows}, public=True)


def _declared(arguments: Mapping[str, Any]) -> dict[str, Any]:
    from discreet.schema import from_json

    return {
        "columns": {name: from_json(record) for name, record in arguments["columns"].items()},
        "person": arguments["person"],
        "rows_per_person": arguments["rows_per_person"],
    }


def _shown(report: SealingReport) -> dict[str, Any]:
    columns = {
        name: {
            "read": column.read + column.other,
            "below": column.below,
            "above": column.above,
            "missing": column.missing,
            "unreadable": column.unreadable,
            "doubtful": column.mostly_unreadable,
        }
        for name, column in report.columns.items()
    }
    return {"heading": report.heading, "columns": columns, "notes": report.notes}


VERBS = {
    "propose": Verb(propose, public=True, upload=True),
    "check": Verb(check, public=True, upload=True),
    "seal": Verb(seal, job=True),
    "recorded": Verb(recorded, public=True),
    "chart": Verb(chart, public=True),
    "power": Verb(power, public=True),
    "accounts": Verb(accounts, public=True),
}
