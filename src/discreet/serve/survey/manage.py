"""Let people with an account create surveys, share their links, and watch estimates arrive."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

import msgspec
from litestar import Request, get, post
from litestar.params import FromPath, URLEncodedBody

from discreet.errors import DiscreetError, ParameterError
from discreet.rational import positive
from discreet.render import svg
from discreet.serve.accounts import Actor
from discreet.serve.console.pages import Page, page
from discreet.serve.guards import Parts, WhoAsks, address_of
from discreet.serve.problems import Problem, problem_of
from discreet.serve.service import Service
from discreet.serve.survey.surveys import Survey

_Text = Annotated[str, msgspec.Meta(max_length=4000)]
_MOST_BARS = 60
STRENGTHS = {"0.5": "strong", "1": "usual", "2": "weaker"}
WAYS = {
    "open": "everyone who has the link, more than once if they like",
    "codes": "each person with a code, once: the code shows who took part",
    "tickets": "each person with a code, once: a blind ticket hides which answer is whose",
}


class New(msgspec.Struct, forbid_unknown_fields=True):
    """A survey: its question, its answers one per line, and how it is run."""

    question: _Text
    choices: _Text
    epsilon: _Text = "1"
    days: _Text = "30"
    cohort: _Text = "100"
    way: Literal["open", "codes", "tickets"] = "open"
    codes: _Text = "100"


@get("/surveys")
async def surveys_page(actor: WhoAsks, service: Parts) -> Page:
    """Show the surveys, and the form for a new one."""
    return await _all(actor, service)


@post("/surveys", status_code=200)
async def create(
    data: URLEncodedBody[New], request: Request[Any, Any, Any], actor: WhoAsks, service: Parts
) -> Page:
    """Create a survey, and show its link, and its invitation codes once."""
    actor.expect("collect")
    choices = list(dict.fromkeys(line.strip() for line in data.choices.splitlines() if line.strip()))
    try:
        if not all(text.strip().isdecimal() for text in (data.days, data.cohort, data.codes)):
            raise ParameterError("Days, answers to wait for and invitations are whole numbers.")
        if data.way != "open" and int(data.codes) == 0:
            raise ParameterError("A survey by invitation needs invitation codes.", found=data.codes)
        made, codes = await asyncio.to_thread(
            service.surveys.create,
            actor.name,
            data.question,
            choices,
            epsilon=str(positive(data.epsilon, "epsilon")),
            days=int(data.days),
            cohort=max(1, int(data.cohort)),
            codes=0 if data.way == "open" else int(data.codes),
            tickets=data.way == "tickets",
        )
    except DiscreetError as error:
        return await _all(actor, service, problem=problem_of(error), form=data)
    service.log.note("survey created", analyst=actor.name, id=made.id)
    return await _one(actor, service, made, request, codes)


@get("/surveys/{survey_id:str}")
async def survey_page(
    survey_id: FromPath[str], request: Request[Any, Any, Any], actor: WhoAsks, service: Parts
) -> Page:
    """Show the link of a survey, and the estimates so far."""
    actor.expect("collect")
    found = service.surveys.find_for(actor, survey_id)
    return await _one(actor, service, found, request, [])


async def _all(actor: Actor, service: Service, problem: Problem | None = None, form: New | None = None) -> Page:
    actor.expect("collect")
    found = service.surveys.of(actor)
    return page(
        "surveys",
        actor,
        status=200 if problem is None else problem.status,
        surveys=found,
        problem=problem,
        form=form or New("", ""),
        strengths=STRENGTHS,
        ways=WAYS,
    )


async def _one(
    actor: Actor, service: Service, survey: Survey, request: Request[Any, Any, Any], codes: list[str]
) -> Page:
    counter = await asyncio.to_thread(service.surveys.counter, survey)
    await asyncio.to_thread(counter.catch_up)
    place = f"{address_of(request)}/s/{survey.id}"
    server, waiting, chart, told = counter.server, "", "", ""
    try:
        answer = await asyncio.to_thread(counter.estimate)
    except DiscreetError as error:
        waiting = error.problem
    else:
        rows = answer.rows()
        if counter.collection.labels is None or len(rows) > _MOST_BARS:  # words, a mean, or a long list
            told = str(answer)
        else:
            bars = [svg.Bar(label, 100 * value, 100 * low, 100 * high) for label, value, low, high in rows]
            chart = svg.bars(bars, "Estimated shares in percent, with 95 % intervals")
    return page(
        "survey_watch",
        actor,
        headers={} if codes else {"refresh": "10"},
        survey=survey,
        link=f"{place}#key={survey.key}",
        saved=f"/s/{survey.id}/page.zip",
        count=server.n,
        rejected={reason: count for reason, count in server.rejected.items() if count},
        cohort=counter.collection.minimum_cohort,
        window=counter.collection.window,
        waiting=waiting,
        chart=chart,
        told=told,
        has_form=counter.has_form,
        codes=codes,
        invitations=counter.unused + counter.exchanged,
        exchanged=counter.exchanged,
        redeemed=counter.redeemed,
        fingerprint=counter.collection.id.hex()[:16],
    )


PAGES = [surveys_page, create, survey_page]
"""The pages of people who are signed in."""
