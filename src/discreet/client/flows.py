"""Write the verbs of a vault of a service, once for the blocking and the asynchronous client.

Parameters are those of the methods of `discreet.Vault`. Amounts are sent as exact fractions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.client.requests import PRODUCT, Flow, Progress, Request, checked, get, post
from discreet.errors import ParameterError
from discreet.query.builder import Ask
from discreet.query.preview import Preview
from discreet.rational import Rational, rational
from discreet.release.release import Release

if TYPE_CHECKING:
    from discreet.learn.estimator import PrivateEstimator
    from discreet.oracle.span.plan import OraclePlan
    from discreet.query.plan.calibration import Margins
    from discreet.synth.synthetic import Synthetic

Estimator = TypeVar("Estimator", bound="PrivateEstimator")


@dataclass
class Place:
    """A vault of a service.

    Args:
        name: Its name in the service.
        purpose: The purpose that is charged as well; none by default.
    """

    name: str
    purpose: str | None = None
    facts: dict[str, Any] = field(default_factory=dict, repr=False)
    """What `describe` returned, if it was called."""

    @property
    def path(self) -> str:
        """The path below the API."""
        return f"vaults/{self.name}"


def describe(vault: Place) -> Flow[dict[str, Any]]:
    """Return the public facts about the vault: its columns with their bounds, and what is left."""
    vault.facts = yield from get(vault.path)
    return vault.facts


def ask(
    vault: Place,
    question: Any,
    *,
    epsilon: Rational | None = None,
    spend: str | None = None,
    within: Margins | None = None,
    confidence: Rational = "0.95",
    keys_delta: Rational | None = None,
) -> Flow[Release]:
    """Answer a question and charge it, as `Vault.ask` does."""
    body = yield from _question(vault, question, epsilon, spend, within, confidence, keys_delta)
    response = yield from post(f"{vault.path}/ask", body)
    return Release.from_json(response.json())


def preview(
    vault: Place,
    question: Any,
    *,
    epsilon: Rational | None = None,
    spend: str | None = None,
    within: Margins | None = None,
    confidence: Rational = "0.95",
    keys_delta: Rational | None = None,
) -> Flow[Preview]:
    """Say what a question would cost and how accurate its answer would be, as `Vault.preview` does."""
    body = yield from _question(vault, question, epsilon, spend, within, confidence, keys_delta)
    response = yield from post(f"{vault.path}/preview", body)
    return Preview.from_json(response.json())


def releases(vault: Place, *, after: int = 0) -> Flow[list[dict[str, Any]]]:
    """List what was released from the vault, 500 at a time: number, time, question and schema."""
    found = yield from get(f"{vault.path}/releases", after=after)
    return list(found["releases"])


def release(vault: Place, number: int) -> Flow[Release]:
    """Return a recorded answer by its number."""
    return Release.from_json((yield from get(f"{vault.path}/releases/{number}")))


def plan_oracle(
    vault: Place,
    columns: Sequence[str],
    *,
    epsilon: Rational | None = None,
    spend: str | None = None,
    within: Rational = "0.01",
    confidence: Rational = "0.95",
    queries: int = 10_000,
    bins: Mapping[str, int] | None = None,
    promise: str = "every",
    span: Rational | None = None,
    rows: int | None = None,
) -> Flow[OraclePlan]:
    """Return what an oracle with these parameters is expected to answer, as `Vault.plan_oracle` does."""
    from discreet.oracle.span.plan import OraclePlan

    body = {
        **_priced(vault, epsilon, spend),
        **_exact(within=within, confidence=confidence, span=span),
        **_given(columns=list(columns), queries=queries, bins=bins, promise=promise, rows=rows),
    }
    response = yield from post(f"{vault.path}/oracles/plan", body)
    return OraclePlan.from_json(response.json()["plan"])


def open_oracle(
    vault: Place,
    columns: Sequence[str],
    *,
    epsilon: Rational | None = None,
    spend: str | None = None,
    within: Rational = "0.01",
    confidence: Rational = "0.95",
    queries: int = 10_000,
    bins: Mapping[str, int] | None = None,
    start: str | None = None,
    name: str = "",
    promise: str = "every",
    span: Rational | None = None,
) -> Flow[tuple[str, dict[str, Any]]]:
    """Open an oracle, and return its id and description."""
    body = {
        **_priced(vault, epsilon, spend),
        **_exact(within=within, confidence=confidence, span=span),
        **_given(columns=list(columns), queries=queries, bins=bins, start=start, name=name or None),
        **_given(promise=promise),
    }
    return (yield from _made(f"{vault.path}/oracles", body))


def synthesize(
    vault: Place,
    columns: Sequence[str] | None = None,
    *,
    epsilon: Rational | None = None,
    spend: str | None = None,
    rows: int | None = None,
    workload: Sequence[Sequence[str]] | None = None,
    bins: Mapping[str, int] | None = None,
    impossible: Sequence[str] = (),
    persons: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> Flow[Synthetic]:
    """Make a synthetic table on one charge, as `Vault.synthesize` does."""
    from discreet.synth.synthetic import Synthetic

    body = {
        **_priced(vault, epsilon, spend),
        **_given(columns=None if columns is None else list(columns), bins=bins, persons=persons or None),
        **_given(workload=None if workload is None else [list(one) for one in workload]),
        **_given(impossible=list(impossible) or None),
    }
    response = yield from post(f"{vault.path}/synthetic", body, progress)
    return Synthetic.from_json(response.json()).drawn(rows, seed=seed)


def fit(
    vault: Place,
    estimator: Estimator,
    *,
    target: str,
    features: Sequence[str] | None = None,
    epsilon: Rational | None = None,
    spend: str | None = None,
    progress: Progress | None = None,
) -> Flow[Estimator]:
    """Fit a model on one charge, and return a fitted copy of the estimator, as `Vault.fit` does."""
    from discreet import learn

    body = {
        **_priced(vault, epsilon, spend),
        "estimator": type(estimator).__name__,
        "parameters": _parameters(estimator),
        **_given(target=target, features=None if features is None else list(features)),
    }
    response = yield from post(f"{vault.path}/models", body, progress)
    made: Estimator = learn.from_json(response.json())
    return made


def open_holdout(
    vault: Place,
    target: str,
    features: Sequence[str] | None = None,
    *,
    epsilon: Rational | None = None,
    spend: str | None = None,
    metric: str = "accuracy",
    confidence: Rational = "0.95",
    queries: int = 100,
    name: str = "",
) -> Flow[tuple[str, dict[str, Any]]]:
    """Open a holdout, and return its id and description."""
    body = {
        **_priced(vault, epsilon, spend),
        **_exact(confidence=confidence),
        **_given(target=target, features=None if features is None else list(features), metric=metric),
        **_given(queries=queries, name=name or None),
    }
    return (yield from _made(f"{vault.path}/holdouts", body))


def open_stream(
    vault: Place,
    name: str,
    *,
    epsilon: Rational | None = None,
    spend: str | None = None,
    horizon: int | None = None,
    keys: Sequence[str] | None = None,
    window: int | None = None,
    pan_private: bool = False,
    confidence: Rational = "0.95",
) -> Flow[tuple[str, dict[str, Any]]]:
    """Open a stream, and return its id and description."""
    body = {
        **_priced(vault, epsilon, spend),
        **_exact(confidence=confidence),
        **_given(name=name, horizon=horizon, keys=None if keys is None else list(keys), window=window),
        **_given(pan_private=pan_private or None),
    }
    return (yield from _made(f"{vault.path}/streams", body))


def set_budget(
    vault: Place,
    *,
    epsilon: Rational,
    delta: Rational = 0,
    analyst: str | None = None,
    purpose: str | None = None,
    reason: str = "",
    confirmed: str = "",
) -> Flow[None]:
    """Give an analyst, a purpose or the whole vault a budget, or change it: for curators.

    Args:
        vault: The vault.
        epsilon: The ε of the budget.
        delta: Its δ; 0 by default.
        analyst: The analyst who gets it.
        purpose: The purpose that gets it. Without either, the budget of the whole vault changes.
        reason: Why, for the readers of the ledger.
        confirmed: How a person confirmed it; the budget of the whole vault needs this.
    """
    body = {
        **_exact(epsilon=epsilon, delta=delta),
        **_given(analyst=analyst, purpose=purpose, reason=reason, confirmed=confirmed),
    }
    checked((yield Request("PUT", f"/api/v1/{vault.path}/budgets", body)))


# -- parts ------------------------------------------------------------------------------------------------------


def _made(path: str, body: dict[str, Any]) -> Flow[tuple[str, dict[str, Any]]]:
    response = yield from post(path, body)
    return response.headers[PRODUCT], response.json()


def text_of(vault: Place, question: Any) -> Flow[str]:
    """Return the SQL of a question; one made with `dp.select` needs the name of the table."""
    if isinstance(question, Ask):
        facts = vault.facts or (yield from describe(vault))
        return question.sql(facts["table"])
    if not isinstance(question, str):
        raise ParameterError("A question is SQL text, or made with dp.select.", found=type(question).__name__)
    return question


def _question(
    vault: Place,
    question: Any,
    epsilon: Rational | None,
    spend: str | None,
    within: Margins | None,
    confidence: Rational,
    keys_delta: Rational | None,
) -> Flow[dict[str, Any]]:
    sql = yield from text_of(vault, question)
    margins: Any = within
    if isinstance(within, Mapping):
        margins = {name: _text(value, "within") for name, value in within.items()}
    elif within is not None:
        margins = _text(within, "within")
    return {
        "sql": sql,
        **_priced(vault, epsilon, spend),
        **_given(within=margins),
        **_exact(confidence=confidence, keys_delta=keys_delta),
    }


def _priced(vault: Place, epsilon: Rational | None, spend: str | None) -> dict[str, Any]:
    return {**_exact(epsilon=epsilon), **_given(spend=spend, purpose=vault.purpose)}


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _exact(**values: Rational | None) -> dict[str, str]:
    return {name: _text(value, name) for name, value in values.items() if value is not None}


def _text(value: Rational, name: str) -> str:
    if isinstance(value, str):
        return value.strip()  # as it was typed: the service reads "0.1" and "5%" exactly
    return str(rational(value, name))


def _parameters(estimator: PrivateEstimator) -> dict[str, Any]:
    """Return the parameters that differ from the defaults, as JSON."""
    defaults = type(estimator)().get_params()
    changed = {name: value for name, value in estimator.get_params().items() if value != defaults[name]}
    for name, value in changed.items():
        if not isinstance(value, bool | int | float | str | None):
            raise ParameterError(
                "This parameter cannot be sent to a service: it is neither a number nor a text.", found=name
            )
    return changed
