"""A release, or a whole vault, as an entry of the public registry of deployments of differential privacy.

The registry (opendp/deployments-registry-data, the schema of 2026) asks in three tiers: what was published, with
which guarantee, and how. Everything of the second and third tier that is a fact of the label is filled in; what
the product is for, who publishes it, and why these choices were made are parameters. Without a justification the
entry is of tier 2.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from typing import Any, Literal

from discreet.errors import ParameterError
from discreet.release.label import ARITHMETIC, TIMING, TRUST, WEIGHTS, Label
from discreet.release.plain_yaml import written
from discreet.release.receipt import Promise
from discreet.schema import describe

PRODUCTS = (
    "Summary statistics",
    "Machine learning model",
    "Dataset",
    "Synthetic data",
    "Interactive API",
    "SQL queries",
)
SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")


def deployment(
    label: Label,
    *,
    name: str,
    curators: Sequence[str],
    authors: Sequence[str],
    intended_use: str,
    region: str,
    description: str,
    published: date | str,
    of: Literal["release", "vault"] = "release",
    product: str | None = None,
    sector: str | None = None,
    justification: str = "",
    sources: str = "",
) -> str:
    """Return the entry in YAML: `of` one release, or of the vault and all that may ever be asked of it."""
    whole = of == "vault"
    kind = product or ("SQL queries" if whole else "Summary statistics")
    _check("of", of, ("release", "vault"))
    _check("product", kind, PRODUCTS)
    _check("sector", sector, (None, *SECTORS))
    for what, names in (("curators", curators), ("authors", authors)):
        if isinstance(names, str) or not names:
            raise ParameterError(f'{what} is a list of names, such as ["Office of Statistics"], not {names!r}.')
    when = published if isinstance(published, str) else published.isoformat()
    basic = {
        "name": name,
        "data_curators": list(curators),
        "intended_use": intended_use,
        "data_product_type": kind,
        "data_product_region": region,
        "description": description,
        "publication_date": date.fromisoformat(when).isoformat(),
        **({} if sector is None else {"data_product_sector": sector}),
    }
    entry = {
        "url_slug": re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "deployment",
        "status": "Draft",
        "tier": 3 if justification else 2,
        "deployment": {
            "basic": basic,
            "dp_variant": _variant(label),
            "privacy_loss": _loss(label, whole),
            "deployment_model": _model(label, whole),
            "accounting": {
                "post_processing": "Ordering and filtering of what was released, where the question asks for it. "
                "Counts below zero are not cut off.",
                "composition": _sentence(label.composition),
            },
            "implementation": _implementation(label, justification),
            "administrative": {"sources": sources, "registry_authors": list(authors)},
        },
    }
    return written(entry)


def _variant(label: Label) -> dict[str, Any]:
    columns = [
        f"{column}: {describe.domain(what)}; {describe.fate(what)}." for column, what in label.columns.items()
    ]
    return {
        "variant_name": "Pure DP" if label.cost.budget.pure else "Approximate DP",
        "data_domain": "\n".join(
            ["Tables with any number of rows, whose columns are bounded when sealed.", *columns]
        ),
        "unprotected_quantities": "None: nothing is read off the rows without noise.",
    }


def _loss(label: Label, whole: bool) -> dict[str, Any]:
    promise: Promise = label.cost.total if whole else label.cost.promise
    rho = label.cost.whole.total if whole else label.cost.cost.rho
    rest = "" if whole else f" Everything that is ever asked of this vault keeps {label.cost.total}."
    parameters = {"epsilon": _above(promise.epsilon)}
    if promise.delta:
        parameters |= {"delta": _above(promise.delta), "rho": _above(rho or Fraction(0))}
    meaning = " ".join(promise.meaning.split("\n"))
    return {
        "privacy_unit": _sentence(label.unit),
        "privacy_unit_details": f"Adjacent are {label.neighbours}. {_sentence(label.contribution)}",
        "privacy_parameters": parameters,
        "privacy_parameters_details": meaning + rest,
    }


def _model(label: Label, whole: bool) -> dict[str, Any]:
    budget = (
        f"Charges go to one ledger, which refuses what exceeds {label.cost.total}; it is not renewed by itself."
    )
    return {
        "model_name": "Central",
        "model_name_details": _sentence(TRUST),
        "actors": "The curator seals the table and holds it. Analysts ask, and see releases only; the guarantee "
        "holds against all of them together.",
        "release_type": "Many releases" if whole else "One release",
        "release_type_details": budget,
        "data_source_type": "Static",
        "data_source_type_details": f"Version {label.version} of the sealed table {label.table}.",
        "access_type": "Interactive" if whole else "Non-interactive",
        "access_type_details": f"{_sentence(label.composition)} It holds also if analysts join forces.",
    }


def _implementation(label: Label, justification: str) -> dict[str, Any]:
    means = [
        *(_sentence(str(noise)) for noise in label.noise),
        f"Groups: {_sentence(label.grouping)}",
        f"Library: {label.library}, engine {label.engine}.",
        ARITHMETIC,
        TIMING,
        *label.notes,
    ]
    return {
        "preprocessing_and_hyperparameter_tuning": f"Bounds were declared, not read off the data. {WEIGHTS}",
        "mechanisms": "\n".join(means),
        **({"justification": justification} if justification else {}),
    }


def _above(value: Fraction) -> float:
    """About six digits, not below."""
    from discreet.render.amounts import spent

    return float(spent(value))


def _sentence(text: str) -> str:
    first = text[:1].upper() if text[:1].isascii() else text[:1]
    return first + text[1:] + ("" if text.endswith(".") else ".")


def _check(name: str, value: str | None, among: Sequence[str | None]) -> None:
    if value not in among:
        listed = ", ".join(repr(one) for one in among if one is not None)
        raise ParameterError(f"{name} is one of {listed}, not {value!r}.")
