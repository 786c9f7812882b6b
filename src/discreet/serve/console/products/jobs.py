"""Show how far a job is, and cancel it. The page is loaded again by itself, and shows what a poll shows."""

from __future__ import annotations

from typing import Any

from litestar import Request, get, post
from litestar.params import FromPath

from discreet.errors import NotFound
from discreet.serve.accounts import Reply
from discreet.serve.accounts.replies import RUNNING
from discreet.serve.api.vaults import VaultName
from discreet.serve.console.pages import Page, elsewhere, page
from discreet.serve.console.products.making import kind_of
from discreet.serve.guards import BESIDE, Parts, WhoAsks


@get("/vaults/{name:str}/products/{kind:str}/{product:str}/jobs/{job:str}", opt={BESIDE: True})
async def progress(
    name: VaultName,
    kind: FromPath[str],
    product: FromPath[str],
    job: FromPath[str],
    request: Request[Any, Any, Any],
    actor: WhoAsks,
    service: Parts,
) -> Page:
    """Show how far it is; then go to what was made, or back to the form with the reason why not."""
    found = kind_of(kind)
    form = request.url.query
    reply = await service.questions.poll(actor, job)
    _expect_its(reply, name, product)
    where = f"/vaults/{name}/products/{found.name}"
    if reply.status == RUNNING:
        far = service.questions.progress(actor, job)
        cancelled_at = f"{where}/{product}/jobs/{job}/cancel{'?' if form else ''}{form}"
        return page("job", actor, kind=found, far=far, cancel=cancelled_at, headers={"refresh": "1"})
    if reply.status == 200:
        return elsewhere(f"{where}/{product}")
    return elsewhere(f"{where}?{form}{'&' if form else ''}job={job}")


@post(
    "/vaults/{name:str}/products/{kind:str}/{product:str}/jobs/{job:str}/cancel",
    status_code=303,
    opt={BESIDE: True},
)
async def cancel(
    name: VaultName,
    kind: FromPath[str],
    product: FromPath[str],
    job: FromPath[str],
    request: Request[Any, Any, Any],
    actor: WhoAsks,
    service: Parts,
) -> Page:
    """End the job. What was charged by then stays charged; else it cost nothing."""
    _expect_its(await service.questions.cancel(actor, job), name, product)
    query = request.url.query
    where = f"/vaults/{name}/products/{kind_of(kind).name}/{product}/jobs/{job}"
    return elsewhere(f"{where}{'?' if query else ''}{query}")


def _expect_its(reply: Reply, name: str, product: str) -> None:
    """Refuse an address that does not belong to the job: it is repeated in headers."""
    if reply.vault != name or not (product.isascii() and product.isalnum()):
        raise NotFound("There is no such job of this vault.")


PAGES = [progress, cancel]
"""The pages of jobs."""
