"""Define the bodies of requests and responses. An unknown field is refused; amounts are texts, never floats."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from litestar.openapi.datastructures import ResponseSpec

from discreet.serve.problems import MEDIA_TYPE, Problem

Amount = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^[0-9]{1,12}([./][0-9]{1,24})?(e-?[0-9]{1,2})?%?$",
        max_length=48,
        description="Exact: 0.5, 1/3, 5%",
    ),
]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=128)]


class Question(msgspec.Struct, forbid_unknown_fields=True):
    """A question in SQL with its cost: one of `epsilon`, `spend` and `within`, as in Python."""

    sql: Annotated[str, msgspec.Meta(min_length=1, max_length=20_000, examples=["select count(*) from trips"])]
    epsilon: Amount | None = None
    spend: Amount | None = None
    within: Amount | dict[Name, Amount] | None = None
    confidence: Amount | None = None
    keys_delta: Amount | None = None
    purpose: Name | None = None

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the worker's verb."""
        given: dict[str, Any] = {name: getattr(self, name) for name in self.__struct_fields__ if name != "purpose"}
        return {name: value for name, value in given.items() if value is not None}


class Who(msgspec.Struct):
    """The account that a token stands for."""

    name: str
    role: str
    verbs: list[str]
    vaults: list[str]


class Listed(msgspec.Struct):
    """A vault that the account may use."""

    name: str
    purposes: list[str]


class Accepted(msgspec.Struct):
    """A question that goes on by itself: poll the address."""

    id: str
    location: str
    status: str = "running"


REQUESTS: tuple[type[msgspec.Struct], ...] = (Question,)
"""The bodies of requests: their description says that unknown fields are refused. Add new ones here."""


def problems(*statuses: int) -> dict[int, ResponseSpec]:
    """Return the problems that a route may reply with, for its description."""
    always = (400, 401, 403, 409, 413, 429, 500, 503)
    return {
        status: ResponseSpec(Problem, media_type=MEDIA_TYPE, generate_examples=False, description="A problem")
        for status in sorted({*always, *statuses})
    }
