"""Let people with an account create surveys, share their links, and watch estimates arrive."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec
from litestar import Request, get, post
from litestar.params import FromPath, URLEncodedBody

from discreet.errors import DiscreetError, ParameterError
from discreet.rational import positive
from discreet.render import svg
from discreet.serve.accounts import Actor
from discreet.serve.console.pages import Page, page
from discreet.serve.guards import Parts, WhoAsks
from discreet.serve.problems import Problem, problem_of
from discreet.serve.service import Service
from discreet.serve.survey.surveys import Survey, surveys_of

_Text = Annotated[str, msgspec.Meta(max_length=4000)]
_MOST_BARS = 60
STRENGTHS = {"0.5": "strong", "1": "usual", "2": "weaker"}


class New(msgspec.Struct, forbid_unknown_fields=True):
    """A survey: its question, its answers one per line, and how it is run."""

    question: _Text
    choices: _Text
    epsilon: _Text = "1"
    days: _Text = "30"
    cohort: _Text = "100"
    codes: _Text = "0"


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
        if not all(text.strip().isdigit() for text in (data.days, data.cohort, data.codes)):
            raise ParameterError("Days, answers to wait for and invitations are whole numbers.")
        made, codes = await asyncio.to_thread(
            surveys_of(service).create,
            actor.name,
            data.question,
            choices,
            epsilon=str(positive(data.epsilon, "epsilon")),
            days=int(data.days),
            cohort=max(1, int(data.cohort)),
            codes=int(data.codes),
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
    found = surveys_of(service).find_for(actor, survey_id)
    return await _one(actor, service, found, request, [])


async def _all(actor: Actor, service: Service, problem: Problem | None = None, form: New | None = None) -> Page:
    actor.expect("collect")
    found = surveys_of(service).of(actor)
    return page(
        "surveys",
        actor,
        status=200 if problem is None else problem.status,
        surveys=found,
        problem=problem,
        form=form or New("", ""),
        strengths=STRENGTHS,
    )


async def _one(
    actor: Actor, service: Service, survey: Survey, request: Request[Any, Any, Any], codes: list[str]
) -> Page:
    counter = await asyncio.to_thread(surveys_of(service).counter, survey)
    scheme = "https" if service.settings.secure else request.base_url.scheme
    place = f"{scheme}://{request.headers.get('host', '')}/s/{survey.id}"
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
        unused=len(counter.unused),
    )


PAGES = [surveys_page, create, survey_page]
"""The pages of people who are signed in."""
