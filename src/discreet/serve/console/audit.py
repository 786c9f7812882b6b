"""Show auditors what can be checked: ledgers, labels, and how strong the auditor's attacks are."""

from __future__ import annotations

from typing import Any

from litestar import get
from litestar.params import FromPath

from discreet.release.release import Release
from discreet.serve.api.ledger import sees_all
from discreet.serve.api.vaults import VaultName
from discreet.serve.console.pages import Page, Refused, body_of, page
from discreet.serve.guards import Parts, WhoAsks


@get("/audit")
async def audit_page(actor: WhoAsks, service: Parts) -> Page:
    """Verify the ledgers of all vaults that the account may see."""
    actor.expect("audit")
    found = []
    for name in service.vaults.names_for(actor):
        try:
            checked = body_of(await service.questions.run(actor, name, "verify", {}))
            found.append(
                {
                    "name": name,
                    "number": checked["number"],
                    "problem": "",
                    "command": f"discreet ledger {name}.vault verify --since {checked['line']}",
                }
            )
        except Refused as refusal:
            found.append(
                {
                    "name": name,
                    "number": 0,
                    "problem": refusal.problem.detail,
                    "command": f"# {name}: not verified",
                }
            )
    powers = body_of(await service.questions.run(actor, "", "power", {}))["powers"]
    return page("audit", actor, ledgers=found, powers=powers)


@get("/vaults/{name:str}/releases")
async def releases_page(name: VaultName, actor: WhoAsks, service: Parts) -> Page:
    """List what was released from a vault."""
    actor.expect("describe")
    found: list[dict[str, Any]] = []
    after = 0
    while True:
        body = body_of(await service.questions.run(actor, name, "releases", {"after": after}))
        found += body["releases"]
        if not body["releases"] or len(found) >= 2000:
            break
        after = body["last"]
    return page("releases", actor, vault=name, releases=list(reversed(found)))


@get("/vaults/{name:str}/releases/{number:int}")
async def label_page(name: VaultName, number: FromPath[int], actor: WhoAsks, service: Parts) -> Page:
    """Show the label of a release, with the questions of NIST SP 800-226."""
    actor.expect("describe")
    arguments = {"number": number, "all": sees_all(actor)}
    body = body_of(await service.questions.run(actor, name, "release", arguments))
    if not str(body.get("schema", "")).startswith("discreet release"):
        return page(
            "label", actor, vault=name, number=number, question=str(body.get("schema")), facts={}, checklist=[]
        )
    release = Release.from_json(body)
    return page(
        "label",
        actor,
        vault=name,
        number=number,
        question=release.question,
        facts=release.label.facts,
        checklist=release.label.checklist(),
    )
