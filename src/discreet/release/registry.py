"""Write a release, or a whole vault, as an entry of the public registry of deployments of differential privacy.

The registry (opendp/deployments-registry-data, the schema of 2026) asks in three tiers: what was published, with
which guarantee, and how. Everything of the second and third tier that is a fact of the label is filled in. The
purpose of the product, its publisher and the reasons for the choices are parameters. Without a justification the
entry is of tier 2. The entry is JSON, which YAML 1.2 reads; numbers with an exponent have a point, because readers
of YAML 1.1 take them for text without one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.errors import Fix, ParameterError
from discreet.release.receipt import Promise
from discreet.render.numbers import spent
from discreet.schema import describe

if TYPE_CHECKING:
    from discreet.release.label import Label

PRODUCTS = (
    "Summary statistics",
    "Machine learning model",
    "Dataset",
    "Synthetic data",
    "Interactive API",
    "SQL queries",
)
SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")

# A text, which stays as it is, or a number with an exponent and no point.
_EXPONENT = re.compile(r'("(?:[^"\\]|\\.)*")|(?<![.0-9])([0-9]+)(e[+-][0-9]+)')


@dataclass(frozen=True)
class About:
    """What a registry entry states that a label does not know. `Label.registry_entry` explains the fields."""

    name: str
    curators: Sequence[str]
    authors: Sequence[str]
    intended_use: str
    region: str
    description: str
    published: date | str
    of: str = "release"
    product: str | None = None
    sector: str | None = None
    justification: str = ""
    sources: str = ""

    def __post_init__(self) -> None:
        _check("of", self.of, ("release", "vault"))
        _check("product", self.kind, PRODUCTS)
        if self.sector is not None:
            _check("sector", self.sector, SECTORS)
        for what, names in (("curators", self.curators), ("authors", self.authors)):
            if isinstance(names, str) or not names:
                raise ParameterError(
                    f"{what} must be a list of names.", found=repr(names), fix=Fix(what, ["Office of Statistics"])
                )

    @property
    def whole(self) -> bool:
        """Whether the entry is about the vault, not about one release."""
        return self.of == "vault"

    @property
    def kind(self) -> str:
        """The kind of product."""
        return self.product or ("SQL queries" if self.whole else "Summary statistics")


def entry(label: Label, about: About) -> str:
    """Return the entry as JSON."""
    record = {
        "url_slug": re.sub(r"[^a-z0-9]+", "_", about.name.lower()).strip("_") or "deployment",
        "status": "Draft",
        "tier": 3 if about.justification else 2,
        "deployment": {
            "basic": _basic(about),
            "dp_variant": _variant(label),
            "privacy_loss": _loss(label, about.whole),
            "deployment_model": _model(label, about.whole),
            "accounting": {
                "post_processing": _post_processing(label),
                "composition": _sentence(label.composition),
            },
            "implementation": _implementation(label, about.justification),
            "administrative": {"sources": about.sources, "registry_authors": list(about.authors)},
        },
    }
    return written(record)


def written(record: dict[str, Any]) -> str:
    """Return a record as JSON that readers of YAML 1.1 and 1.2 read as the same values.

    >>> print(written({"name": "1e-9", "delta": 1e-9}), end="")
    {
     "name": "1e-9",
     "delta": 1.0e-09
    }
    """
    text = json.dumps(record, ensure_ascii=True, allow_nan=False, indent=1)
    text = _EXPONENT.sub(lambda m: m[1] or f"{m[2]}.0{m[3]}", text)
    return _PAIR.sub(_astral, text) + "\n"


_PAIR = re.compile(r"\\\\|\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})")
"""An escaped backslash, which stays, or a character that JSON escapes as two: YAML would read two characters."""


def _astral(found: re.Match[str]) -> str:
    if found[1] is None:
        return found[0]
    return chr(0x10000 + ((int(found[1], 16) - 0xD800) << 10) + int(found[2], 16) - 0xDC00)


def _post_processing(label: Label) -> str:
    if label.local:
        return "Estimates are computed from the reports. The consistent version is a distribution, and is biased."
    return (
        "Ordering and filtering of what was released, where the question asks for it. Counts below zero are not "
        "cut off."
    )


def _basic(about: About) -> dict[str, Any]:
    when = about.published if isinstance(about.published, str) else about.published.isoformat()
    try:
        day = date.fromisoformat(when)
    except ValueError:
        raise ParameterError(
            "The day of publication must be a date.", found=when, fix=Fix("published", "2026-01-31")
        ) from None
    return {
        "name": about.name,
        "data_curators": list(about.curators),
        "intended_use": about.intended_use,
        "data_product_type": about.kind,
        "data_product_region": about.region,
        "description": about.description,
        "publication_date": day.isoformat(),
        **({} if about.sector is None else {"data_product_sector": about.sector}),
    }


def _variant(label: Label) -> dict[str, Any]:
    columns = [
        f"{column}: {describe.domain(what)}; {describe.fate(what)}." for column, what in label.columns.items()
    ]
    return {
        "variant_name": "Pure DP" if label.receipt.budget.pure else "Approximate DP",
        "data_domain": "\n".join([_domain(label), *columns]),
        "unprotected_quantities": "The number of reports, and when they were sent."
        if label.local
        else "None: nothing that depends on the rows is published without noise.",
    }


def _loss(label: Label, whole: bool) -> dict[str, Any]:
    receipt = label.receipt
    promise: Promise = receipt.total if whole else receipt.promise
    rho = receipt.whole.total if whole else receipt.cost.rho
    of = "this device in this collection" if label.local else "this vault"
    rest = "" if whole else f" Everything that is ever asked of {of} keeps {receipt.total}."
    parameters = {"epsilon": _above(promise.epsilon)}
    if promise.delta:
        parameters |= {"delta": _above(promise.delta), "rho": _above(rho or Fraction(0))}
    meaning = " ".join(promise.meaning.split("\n"))
    return {
        "privacy_unit": _sentence(label.unit),
        "privacy_unit_details": f"Neighbours are {label.neighbours}. {_sentence(label.contribution)}",
        "privacy_parameters": parameters,
        "privacy_parameters_details": meaning + rest,
    }


def _domain(label: Label) -> str:
    if label.local:
        return "Values of the domain of the collection, one per report."
    return "Tables with any number of rows, whose columns are bounded when sealed."


def _local_model(label: Label) -> dict[str, Any]:
    many = label.rows_per_person > 1
    return {
        "model_name": "Local",
        "model_name_details": _sentence(label.statements.trust),
        "actors": "Devices randomise their values. The server and analysts see reports; the guarantee holds "
        "against all of them together.",
        "release_type": "Many releases" if many else "One release",
        "release_type_details": f"Every device refuses what exceeds {label.receipt.total} in this collection.",
        "data_source_type": "Dynamic" if many else "Static",
        "data_source_type_details": f"Reports to the collection {label.table}. {_sentence(label.contribution)}",
        "access_type": "Non-interactive",
        "access_type_details": _sentence(label.composition),
    }


def _model(label: Label, whole: bool) -> dict[str, Any]:
    if label.local:
        return _local_model(label)
    budget = (
        f"Charges go to one ledger, which refuses what exceeds {label.receipt.total}; it is never renewed "
        "automatically."
    )
    return {
        "model_name": "Central",
        "model_name_details": _sentence(label.statements.trust),
        "actors": "The curator seals the table and holds it. Analysts ask, and see releases only; the guarantee "
        "holds against all of them together.",
        "release_type": "Many releases" if whole else "One release",
        "release_type_details": budget,
        "data_source_type": "Static",
        "data_source_type_details": f"Version {label.version} of the sealed table {label.table}.",
        "access_type": "Interactive" if whole else "Non-interactive",
        "access_type_details": f"{_sentence(label.composition)} It also holds if analysts collude.",
    }


def _implementation(label: Label, justification: str) -> dict[str, Any]:
    means = [
        *(_sentence(str(noise)) for noise in label.noise),
        f"Groups: {_sentence(label.grouping)}",
        f"Library: {label.library}." if label.local else f"Library: {label.library}, engine {label.engine}.",
        label.statements.arithmetic,
        label.statements.timing,
        *label.notes,
    ]
    return {
        "preprocessing_and_hyperparameter_tuning": f"Bounds were declared, not computed from the data. "
        f"{label.statements.bias}",
        "mechanisms": "\n".join(means),
        **({"justification": justification} if justification else {}),
    }


def _above(value: Fraction) -> float:
    """Return a number of about six digits, rounded up."""
    return float(spent(value))


def _sentence(text: str) -> str:
    first = text[:1].upper() if text[:1].isascii() else text[:1]  # ε stays small
    return first + text[1:] + ("" if text.endswith(".") else ".")


def _check(name: str, value: str, among: Sequence[str]) -> None:
    if value not in among:
        raise ParameterError(f"{name} must be one of {', '.join(among)}.", found=value, fix=Fix(name, among[0]))
