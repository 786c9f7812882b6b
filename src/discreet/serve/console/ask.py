"""Show the page on which an analyst asks: SQL or a form, a preview that costs nothing, and the question itself.

A preview reads no row: cost, margins and the picture follow from public facts. The analyst is the account that is
signed in. A form carries a key of its own, so a page that is sent twice is charged once.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any
from urllib.parse import urlencode

import msgspec
from litestar import get, post
from litestar.params import FromQuery, URLEncodedBody

from discreet.errors import ParameterError
from discreet.privacy.theorems.odds import explain
from discreet.render import svg
from discreet.render.numbers import number
from discreet.serve.accounts import Actor
from discreet.serve.accounts.replies import RUNNING
from discreet.serve.accounts.secrets import new_id
from discreet.serve.api.bodies import Question
from discreet.serve.api.vaults import VaultName
from discreet.serve.console.builder import Chosen, written
from discreet.serve.console.pages import Page, body_of, elsewhere, page
from discreet.serve.console.vault import in_words
from discreet.serve.guards import Parts, WhoAsks
from discreet.serve.problems import Problem, problem_of
from discreet.serve.service import Service

PRICES = ("within", "spend", "epsilon")
_SIZES = (100, 1_000, 10_000)
_Text = Annotated[str, msgspec.Meta(max_length=64)]


class Asked(msgspec.Struct, forbid_unknown_fields=True):
    """What the form sends: the question, and one way to say what it may cost."""

    sql: Annotated[str, msgspec.Meta(max_length=20_000)]
    by: _Text = "spend"
    within: _Text = ""
    spend: _Text = ""
    epsilon: _Text = ""
    purpose: _Text = ""
    key: _Text = ""

    def __post_init__(self) -> None:
        self.sql = self.sql.replace("\r\n", "\n")  # forms send line breaks so

    @property
    def price(self) -> str:
        """The amount that is chosen."""
        value: str = getattr(self, self.by if self.by in PRICES else "spend").strip()
        return f"{value}%" if self.by == "spend" and value and not value.endswith("%") else value

    def question(self) -> Question:
        """Return what the API would get, or refuse what has no meaning."""
        if self.by not in PRICES or not self.price or not self.sql.strip():
            raise ParameterError("A question needs its text, and what it may cost.", fix="Fill in both.")
        given = {"sql": self.sql, self.by: self.price, **({"purpose": self.purpose} if self.purpose else {})}
        try:
            return msgspec.convert(given, Question)
        except msgspec.ValidationError:
            raise ParameterError(
                "The amount is not a number.", found=self.price, fix="Write 200, 0.5 or 5%."
            ) from None

    def link(self, vault: str) -> str:
        """Return the address of the answer, for everyone who may use the vault."""
        purpose = {"purpose": self.purpose} if self.purpose else {}
        return (
            f"/vaults/{vault}/answer?{urlencode({'sql': self.sql, 'by': self.by, self.by: self.price, **purpose})}"
        )


@get("/vaults/{name:str}/ask")
async def ask_page(
    name: VaultName,
    actor: WhoAsks,
    service: Parts,
    sql: FromQuery[str] = "",
    by: FromQuery[str] = "spend",
    value: FromQuery[str] = "",
    what: FromQuery[str] = "",
    of: FromQuery[str] = "",
    group: FromQuery[str] = "",
    where: FromQuery[str] = "",
    sign: FromQuery[str] = "=",
    limit: FromQuery[str] = "",
) -> Page:
    """Show the page. The form on it writes SQL for people who do not."""
    actor.expect("preview")
    described = body_of(await service.questions.run(actor, name, "describe", {}))
    chosen = Chosen(what, of, group, where, sign, limit)
    if what:
        sql = written(described, chosen)
    asked = Asked(sql=sql[:20_000], by=by if by in PRICES else "spend")
    if value:
        setattr(asked, asked.by, value[:64])
    return _page(actor, name, described, asked, chosen=chosen)


@post("/vaults/{name:str}/cost", status_code=200)
async def cost(name: VaultName, data: URLEncodedBody[Asked], actor: WhoAsks, service: Parts) -> Page:
    """Show the preview alone: the script puts it into the page while the analyst types."""
    previewed, problem = await _previewed(service, actor, name, data)
    return page("cost", vault=name, asked=data, preview=previewed, problem=problem, fixes=[], live=True)


@post("/vaults/{name:str}/preview", status_code=200)
async def preview(name: VaultName, data: URLEncodedBody[Asked], actor: WhoAsks, service: Parts) -> Page:
    """Show the page with a preview, for browsers without script. Nothing is charged."""
    previewed, problem = await _previewed(service, actor, name, data)
    described = body_of(await service.questions.run(actor, name, "describe", {}))
    return _page(actor, name, described, data, preview=previewed, problem=problem)


@post("/vaults/{name:str}/ask", status_code=303)
async def ask(name: VaultName, data: URLEncodedBody[Asked], actor: WhoAsks, service: Parts) -> Page:
    """Ask, charge, and go to the answer. A refusal shows the page again, with what can be afforded."""
    problem: Problem | None = None
    try:
        question = data.question()
        actor.expect("ask", purpose=question.purpose, vault=name)
    except ParameterError as error:
        problem = problem_of(error)
    else:
        reply = await service.questions.run(
            actor, name, "ask", question.arguments(), purpose=question.purpose, key=data.key
        )
        if reply.status == 200:
            return elsewhere(f"{data.link(name)}&new=1")
        if reply.status == RUNNING:
            return elsewhere(f"/answers/{reply.id}?{urlencode({'to': data.link(name) + '&new=1'})}")
        problem = msgspec.convert(reply.body, Problem)
    described = body_of(await service.questions.run(actor, name, "describe", {}))
    return _page(actor, name, described, data, problem=problem, status=problem.status)


async def _previewed(
    service: Service, actor: Actor, name: str, asked: Asked
) -> tuple[dict[str, Any] | None, Problem | None]:
    try:
        question = asked.question()
        actor.expect("preview", purpose=question.purpose, vault=name)
    except ParameterError as error:
        return None, problem_of(error)
    reply = await service.questions.run(actor, name, "preview", question.arguments(), purpose=question.purpose)
    if reply.status != 200:
        return None, msgspec.convert(reply.body, Problem)
    return dressed(reply.body), None


def dressed(preview: dict[str, Any]) -> dict[str, Any]:
    """Return a preview with a picture of its margins, and what it means for one person."""
    guarantee = preview["cost"]["guarantee"]
    epsilon, delta = Fraction(guarantee["epsilon"]), Fraction(guarantee["delta"])
    pictures = [
        {"name": one["name"], "svg": error_bars(one["margin"], one["name"])}
        for one in preview["expected"]
        if one["margin"]
    ]
    return {**preview, "pictures": pictures, "odds": explain(epsilon, min(delta, Fraction(1))).splitlines()}


def error_bars(margin: float, name: str) -> str:
    """Draw what a margin does to true values of three sizes, in percent of each: public facts alone."""
    rows = []
    for size in _SIZES:
        part = 100 * margin / size
        shown = min(part, 150.0)
        words = f"{number(size)} ± {number(margin, 3)}"
        label = f"{number(size)} ± {number(part, 2)} %" if part <= 150 else f"{number(size)}: noise only"
        rows.append(svg.Bar(label, 100.0, 100 - shown, 100 + shown, words))
    return svg.bars(rows, f"{name}: the margin of error as a share of true values of 100, 1,000 and 10,000")


def _page(
    actor: Actor,
    vault: str,
    described: dict[str, Any],
    asked: Asked,
    *,
    chosen: Chosen | None = None,
    preview: dict[str, Any] | None = None,
    problem: Problem | None = None,
    status: int = 200,
) -> Page:
    purposes = sorted({name for grant in actor.grants if grant.vault == vault for name in grant.purposes})
    if not asked.sql:
        asked.sql = f"select count(*) from {described['table']}"
    asked.spend, asked.within = asked.spend or "1", asked.within or "100"
    asked.epsilon, asked.key = asked.epsilon or "0.1", new_id()
    return page(
        "ask",
        actor,
        status=status,
        vault=vault,
        described={**described, "columns": in_words(described["columns"])},
        asked=asked,
        chosen=chosen or Chosen(),
        preview=preview,
        problem=problem,
        fixes=_offers(asked, problem),
        purposes=purposes,
        live=False,
    )


def _offers(asked: Asked, problem: Problem | None) -> list[dict[str, str]]:
    """Return what could be asked instead, each one click away."""
    offers = []
    for fix in [] if problem is None else problem.fixes:
        name, value = fix.get("parameter"), str(fix.get("value"))
        if name not in PRICES or fix.get("call"):
            continue
        words = {
            "spend": f"Spend {value} of the budget",
            "within": f"Accept ± {value}",
            "epsilon": f"Ask with ε = {value}",
        }[name]
        note = f" ({fix['note']})" if fix.get("note") else ""
        offers.append({"by": name, "value": value, "words": words + note, "key": new_id()})
    return offers
