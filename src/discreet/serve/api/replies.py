"""Turn a reply of `Questions` into an HTTP response."""

from __future__ import annotations

from typing import Any

from litestar import Response

from discreet.serve.accounts import Reply
from discreet.serve.accounts.replies import RUNNING
from discreet.serve.api.bodies import Accepted
from discreet.serve.problems import MEDIA_TYPE

QUESTION = "discreet-question"
"""The header that names the question of a reply, so that it can be found again."""


def replied(reply: Reply) -> Response[Any]:
    """Return 200 with the answer, 202 with the address to poll, or the problem."""
    headers: dict[str, str] = {QUESTION: reply.id}
    if reply.status == RUNNING:
        where = f"/api/v1/questions/{reply.id}"
        return Response(Accepted(reply.id, where), status_code=202, headers={**headers, "location": where})
    media = "application/json" if reply.status == 200 else MEDIA_TYPE
    return Response(reply.body, status_code=reply.status, media_type=media, headers=headers)
