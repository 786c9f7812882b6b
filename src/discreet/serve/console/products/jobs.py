"""Show how far a job is, and cancel it. The page is loaded again by itself, and shows what a poll shows."""

from __future__ import annotations

from typing import Any

from litestar import Request, get, post

from discreet.errors import NotFound
from discreet.serve.accounts import Reply
from discreet.serve.accounts.replies import RUNNING
from discreet.serve.console.pages import Page, elsewhere, page
from discreet.serve.console.products.making import kind_of
from discreet.serve.guards import BESIDE, Parts, WhoAsks

_PLACE = "/vaults/{name:str}/products/{kind:str}/{product:str}/jobs/{job:str}"


@get(_PLACE, opt={BESIDE: True})
async def progress(request: Request[Any, Any, Any], actor: WhoAsks, service: Parts) -> Page:
    """Show how far it is; then go to what was made, or back to the form with the reason why not."""
    job, product, kind = (str(request.path_params[part]) for part in ("job", "product", "kind"))
    reply, form = await service.questions.poll(actor, job), request.url.query
    where, here = _places(reply, request)
    if reply.status == RUNNING:
        far = service.questions.progress(actor, job)
        cancelled = f"{here}/cancel?{form}"
        return page("job", actor, kind=kind_of(kind), far=far, cancel=cancelled, headers={"refresh": "1"})
    if reply.status == 200:
        return elsewhere(f"{where}/{product}")
    return elsewhere(f"{where}?{form}{'&' if form else ''}job={job}")


@post(f"{_PLACE}/cancel", status_code=303, opt={BESIDE: True})
async def cancel(request: Request[Any, Any, Any], actor: WhoAsks, service: Parts) -> Page:
    """End the job. What was charged by then stays charged; else it cost nothing."""
    reply = await service.questions.cancel(actor, str(request.path_params["job"]))
    return elsewhere(f"{_places(reply, request)[1]}?{request.url.query}")


def _places(reply: Reply, request: Request[Any, Any, Any]) -> tuple[str, str]:
    """Return the addresses of the form and of the job, if they belong together: headers repeat them."""
    name, kind, product, job = (str(request.path_params[part]) for part in ("name", "kind", "product", "job"))
    if reply.vault != name or not (product.isascii() and product.isalnum()):
        raise NotFound("There is no such job of this vault.")
    where = f"/vaults/{name}/products/{kind_of(kind).name}"
    return where, f"{where}/{product}/jobs/{job}"


PAGES = [progress, cancel]
"""The pages of jobs."""
