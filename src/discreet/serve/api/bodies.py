"""Define the bodies of requests and responses. An unknown field is refused; amounts are texts, never floats."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from litestar.openapi.datastructures import ResponseSpec

from discreet.serve.accounts import Role
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


Names = Annotated[list[Name], msgspec.Meta(min_length=1, max_length=200)]
Bins = dict[Name, Annotated[int, msgspec.Meta(ge=1, le=10_000)]]
Whole = Annotated[int, msgspec.Meta(ge=1, le=10**9)]
Sql = Annotated[str, msgspec.Meta(min_length=1, max_length=20_000, examples=["select count(*) from trips"])]


def _arguments(body: msgspec.Struct) -> dict[str, Any]:
    """Return what was given, without the purpose: that is an account, and no argument."""
    given = {name: getattr(body, name) for name in body.__struct_fields__ if name != "purpose"}
    return {name: value for name, value in given.items() if value is not None}


class Priced(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What every charged request may say: one of `epsilon` and `spend`, and a purpose."""

    epsilon: Amount | None = None
    spend: Amount | None = None
    purpose: Name | None = None

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the worker's verb."""
        return _arguments(self)


class OracleTerms(Priced, forbid_unknown_fields=True, kw_only=True):
    """The parameters of an oracle, as in Python."""

    columns: Names
    within: Amount | None = None
    confidence: Amount | None = None
    queries: Whole | None = None
    bins: Bins | None = None
    start: Literal["span", "pairs", "singles", "nothing"] | None = None
    promise: Literal["every", "each"] | None = None
    span: Amount | None = None
    name: Name | None = None


class OraclePlanTerms(Priced, forbid_unknown_fields=True, kw_only=True):
    """The parameters of an oracle that is only planned."""

    columns: Names
    within: Amount | None = None
    confidence: Amount | None = None
    queries: Whole | None = None
    bins: Bins | None = None
    promise: Literal["every", "each"] | None = None
    span: Amount | None = None
    rows: Whole | None = None


class OracleQuestion(msgspec.Struct, forbid_unknown_fields=True):
    """A question to an oracle."""

    sql: Sql
    unchecked: bool = False


class SyntheticTerms(Priced, forbid_unknown_fields=True, kw_only=True):
    """The parameters of a synthetic table, as in Python."""

    columns: Names | None = None
    workload: Annotated[list[Names], msgspec.Meta(max_length=1000)] | None = None
    bins: Bins | None = None
    impossible: Annotated[list[Sql], msgspec.Meta(max_length=100)] | None = None
    persons: bool | None = None


Scalar = bool | int | float | str | None


class ModelTerms(Priced, forbid_unknown_fields=True, kw_only=True):
    """An estimator by name with its parameters, and what it predicts from what."""

    estimator: Name
    target: Name
    features: Names | None = None
    parameters: dict[Name, Scalar] | None = None


class Rows(msgspec.Struct, forbid_unknown_fields=True):
    """Rows to predict for: columns by name, all of one length."""

    rows: dict[Name, list[Scalar]]


class HoldoutTerms(Priced, forbid_unknown_fields=True, kw_only=True):
    """The parameters of a holdout, as in Python."""

    target: Name
    features: Names | None = None
    metric: Literal["accuracy", "error"] | None = None
    confidence: Amount | None = None
    queries: Annotated[int, msgspec.Meta(ge=1, le=100_000)] | None = None
    name: Name | None = None


class Scored(msgspec.Struct, forbid_unknown_fields=True):
    """A model to score: the JSON of a model of `discreet.learn`."""

    model: dict[str, Any]
    name: Name | None = None


class StreamTerms(Priced, forbid_unknown_fields=True, kw_only=True):
    """The parameters of a stream, as in Python."""

    name: Name
    horizon: Annotated[int, msgspec.Meta(ge=1, le=10**7)] | None = None
    keys: Names | None = None
    window: Annotated[int, msgspec.Meta(ge=1, le=10**6)] | None = None
    pan_private: bool | None = None
    confidence: Amount | None = None


class Ticks(msgspec.Struct, forbid_unknown_fields=True):
    """Ticks to add: a count each, or counts by key."""

    ticks: Annotated[
        list[
            Annotated[int, msgspec.Meta(ge=0, le=10**9)] | dict[Name, Annotated[int, msgspec.Meta(ge=0, le=10**9)]]
        ],
        msgspec.Meta(min_length=1, max_length=10_000),
    ]


class AuditTerms(msgspec.Struct, forbid_unknown_fields=True):
    """Which shipped mechanisms to attack, and with how many samples."""

    names: Names | None = None
    samples: Annotated[int, msgspec.Meta(ge=1000, le=10**7)] | None = None


class NewCollection(msgspec.Struct, forbid_unknown_fields=True):
    """A local collection: designed and signed by the service, or signed elsewhere (`signed` and `key`)."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200)] | None = None
    domain: Annotated[list[Name], msgspec.Meta(min_length=2, max_length=10_000)] | None = None
    epsilon: Amount | None = None
    protocol: Name | None = None
    days: Annotated[int, msgspec.Meta(ge=1, le=366)] = 30
    cohort: Whole = 100
    codes: Annotated[int, msgspec.Meta(ge=0, le=100_000)] = 0
    tickets: bool = False
    signed: Annotated[str, msgspec.Meta(max_length=500_000)] | None = None
    key: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")] | None = None


class NewBudget(msgspec.Struct, forbid_unknown_fields=True):
    """A budget of an analyst, of a purpose, or of the whole vault."""

    epsilon: Amount
    delta: Amount | None = None
    analyst: Name | None = None
    purpose: Name | None = None
    reason: Annotated[str, msgspec.Meta(max_length=500)] = ""
    confirmed: Annotated[str, msgspec.Meta(max_length=500)] = ""


class NewPerson(msgspec.Struct, forbid_unknown_fields=True):
    """A new account; without a password only tokens or a provider let it in.

    With `provider`, the first person whom the provider calls by this name gets the account.
    """

    name: Name
    role: Role = Role.ANALYST
    password: Annotated[str, msgspec.Meta(max_length=1024)] = ""
    provider: bool = False


class NewToken(msgspec.Struct, forbid_unknown_fields=True):
    """A new token: what it may be used for, where, and for how long."""

    label: Annotated[str, msgspec.Meta(max_length=128)] = ""
    verbs: Names | None = None
    vaults: Names | None = None
    days: Annotated[int, msgspec.Meta(ge=1, le=366)] = 90


class NewGrant(msgspec.Struct, forbid_unknown_fields=True):
    """The purposes that an analyst may name."""

    purposes: list[Name] = []


class NewInvitation(msgspec.Struct, forbid_unknown_fields=True):
    """A one-time code with which a person makes an account."""

    role: Role = Role.ANALYST
    days: Annotated[int, msgspec.Meta(ge=1, le=90)] = 7


class Opened(msgspec.Struct, forbid_unknown_fields=True):
    """Whether an account is open.

    With `provider`, the account forgets whom the provider signed in, and waits for the first one by its name.
    """

    open: bool
    provider: bool = False


class Question(msgspec.Struct, forbid_unknown_fields=True):
    """A question in SQL with its cost: one of `epsilon`, `spend` and `within`, as in Python."""

    sql: Sql
    epsilon: Amount | None = None
    spend: Amount | None = None
    within: Amount | dict[Name, Amount] | None = None
    confidence: Amount | None = None
    keys_delta: Amount | None = None
    purpose: Name | None = None

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the worker's verb."""
        return _arguments(self)


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


class Made(msgspec.Struct):
    """A product of the account: an oracle, a synthetic table, a model, a holdout or a stream."""

    id: str
    kind: str
    purpose: str | None
    arguments: dict[str, Any]
    made: int


class Person(msgspec.Struct):
    """An account."""

    name: str
    role: str
    open: bool
    created: int


class Shown(msgspec.Struct):
    """A secret that is shown once."""

    secret: str


class KnownToken(msgspec.Struct):
    """What is known about a token."""

    id: str
    label: str
    verbs: list[str]
    vaults: list[str]
    created: int
    expires: int
    last_used: int
    revoked: bool


class Granted(msgspec.Struct):
    """The right of an analyst to use a vault."""

    user: str
    vault: str
    purposes: list[str]
    by: str
    since: int


class Collecting(msgspec.Struct, omit_defaults=True):
    """A local collection: its signed descriptor, the key that verifies it, and what was counted so far.

    `codes` are its invitation codes, shown once. `exchanged` of them were used, for a report or a ticket, and
    `redeemed` tickets for a report. `labels` are its values where the descriptor has their hash only.
    """

    id: str
    name: str
    key: str
    signed: str
    reports: int
    rejected: dict[str, int]
    minimum_cohort: int
    first_day: str
    last_day: str
    epsilon: str
    invited: bool
    tickets: bool = False
    exchanged: int = 0
    redeemed: int = 0
    labels: list[str] | None = None
    codes: list[str] = []


class Counted(msgspec.Struct):
    """What became of a batch: how many of its reports were new and valid, and how many there are in all."""

    counted: int
    reports: int


class Accepted(msgspec.Struct):
    """A question that goes on by itself: poll the address."""

    id: str
    location: str
    status: str = "running"
    words: str = "running"
    share: float = 0.0


REQUESTS: tuple[type[msgspec.Struct], ...] = (
    *(Question, OracleTerms, OraclePlanTerms, OracleQuestion, SyntheticTerms, ModelTerms, Rows, HoldoutTerms),
    *(Scored, StreamTerms, Ticks, AuditTerms, NewCollection, NewBudget, NewPerson, NewToken, NewGrant),
    *(NewInvitation, Opened),
)
"""The bodies of requests: their description says that unknown fields are refused. Add new ones here."""


def problems(*statuses: int) -> dict[int, ResponseSpec]:
    """Return the problems that a route may reply with, for its description."""
    always = (400, 401, 403, 409, 413, 429, 500, 503)
    return {
        status: ResponseSpec(Problem, media_type=MEDIA_TYPE, generate_examples=False, description="A problem")
        for status in sorted({*always, *statuses})
    }
