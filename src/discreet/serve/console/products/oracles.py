"""Describe oracles to their pages: columns, a margin, a plan, and the answers so far."""

from __future__ import annotations

from typing import Any

from discreet.errors import ParameterError
from discreet.release.serialize import read_label
from discreet.serve.api.bodies import OraclePlanTerms, OracleTerms
from discreet.serve.console.products.kind import Described, Form, Kind, columns_of, number, read


def terms(form: Form, described: Described) -> OracleTerms:
    """Return the parameters of an oracle."""
    return read(OracleTerms, form, columns=_columns(form, described), within=_within(form), name=form.get("name"))


def plan(form: Form, described: Described) -> OraclePlanTerms:
    """Return the parameters of a plan. About how many rows there are is for the plan alone."""
    columns = _columns(form, described)
    return read(OraclePlanTerms, form, columns=columns, within=_within(form), rows=number(form, "rows"))


def drawn(body: dict[str, Any], described: Described) -> dict[str, Any]:
    """Return what the page of an oracle shows."""
    spent, total = body["spent"]["value"], body["total"]["value"]
    return {
        "columns": body["columns"],
        "sentences": body["words"].splitlines()[1:],  # the heading has the first one
        "used": spent / total if total else 0.0,
        "label": read_label(body["label"]),
        "example": f"select count(*) from {described['table']}",
    }


def _columns(form: Form, described: Described) -> list[str]:
    if found := columns_of(form, described):
        return found
    raise ParameterError("Choose the columns that the oracle answers about.")


def _within(form: Form) -> str:
    return form.get("within", "").strip().replace(",", "")


KIND = Kind(
    name="oracle",
    words="an oracle",
    heading="Open an oracle",
    verb="open_oracle",
    shown_by="describe_oracle",
    terms=terms,
    drawn=drawn,
    defaults={"within": "100", "spend": "20"},
    plan=plan,
    files={"label.yaml": "application/yaml; charset=utf-8"},
)
