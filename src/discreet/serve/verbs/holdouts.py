"""Open holdouts inside of a vault, and score models with them. A model arrives as JSON: no code of it is run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from discreet.serve.verbs.verb import Result, Tell, Verb, given, recorded_only

if TYPE_CHECKING:
    from discreet.validity.vault_holdout import VaultHoldout
    from discreet.vault.vault import Vault


def open_(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Open a holdout, and charge it once."""
    with vault.holdout(**given(arguments)) as made:
        return Result(_described(made))


def score(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Score a model of `discreet.learn`."""
    from discreet import learn

    model = learn.from_json(arguments["model"])
    with _opened(vault, arguments["opening"]) as made:
        answer = made.score(model, name=arguments.get("name"))
        answer.expect_release("the service")
        return Result(answer.to_json())


def describe(vault: Vault, arguments: Mapping[str, Any], tell: Tell) -> Result:
    """Return how many answers a holdout gave, and how accurate they are."""
    with _opened(vault, arguments["opening"]) as made:
        return Result(_described(made), public=True)


def _opened(vault: Vault, opening: Mapping[str, Any]) -> VaultHoldout:
    from discreet.validity.open import holdout

    return holdout(recorded_only(vault), **given(opening))


def _described(made: VaultHoldout) -> dict[str, Any]:
    from discreet.release.serialize import written_label

    return {
        "metric": made.metric.name,
        "asked": made.asked,
        "margin": made.width,
        "answers": [answer.to_json() for answer in made.answers],
        "label": written_label(made.label),
    }


VERBS = {
    "open_holdout": Verb(open_),
    "score": Verb(score),
    "describe_holdout": Verb(describe, public=True),
}
