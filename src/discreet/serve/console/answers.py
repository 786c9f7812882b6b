"""Show answers: a table, a picture, intervals, the label, a link to share, code, and files.

An answer is a release, so everything here is post-processing and free. The link of an answer names the question
and its price. It shows the recorded answer to everyone who may use the vault, and never charges.
"""

from __future__ import annotations

import base64
import csv
import io
import json
from dataclasses import replace
from datetime import date, datetime
from functools import cache
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlencode

from litestar import Request, Response, get
from litestar.params import FromPath, FromQuery

from discreet.release import render
from discreet.release.release import Release
from discreet.release.serialize import written_label
from discreet.render import svg
from discreet.serve.accounts.replies import RUNNING
from discreet.serve.api.vaults import VaultName
from discreet.serve.console.ask import Asked
from discreet.serve.console.pages import Page, body_of, elsewhere, page
from discreet.serve.guards import BESIDE, Parts, WhoAsks, address_of

_MOST_BARS = 60
_FILES = {
    "csv": "text/csv; charset=utf-8",
    "arrow": "application/vnd.apache.arrow.file",
    "parquet": "application/vnd.apache.parquet",
    "json": "application/json",
    "yaml": "application/yaml; charset=utf-8",
}
"""The kinds of files, by their ending. YAML is the label alone."""
_DRAWN = {"vl.json": "application/vnd.vegalite.v6+json", "svg": "image/svg+xml", "png": "image/png"}
"""The pictures by altair, by their ending: a specification for Vega-Lite, and two that vl-convert draws."""


_WORDS = {"csv": "CSV", "arrow": "Arrow", "parquet": "Parquet", "json": "JSON", "yaml": "Label (YAML)"}
_WORDS |= {"png": "Chart (PNG)", "svg": "Chart (SVG)", "vl.json": "Chart (Vega-Lite)"}


@get("/answers/{question:str}", opt={BESIDE: True})
async def waiting(question: FromPath[str], actor: WhoAsks, service: Parts, to: FromQuery[str] = "") -> Page:
    """Wait for a question that takes longer than a request may: the page is loaded again until it ends."""
    reply = await service.questions.poll(actor, question)
    if reply.status == RUNNING:
        return page("waiting", actor, headers={"refresh": "1"})
    body_of(reply)
    return elsewhere(to if to.startswith(f"/vaults/{reply.vault}/") else f"/vaults/{reply.vault}")


@get("/vaults/{name:str}/answer")
async def answer(
    request: Request[Any, Any, Any],
    name: VaultName,
    actor: WhoAsks,
    service: Parts,
    sql: FromQuery[str],
    by: FromQuery[str],
    within: FromQuery[str] = "",
    spend: FromQuery[str] = "",
    epsilon: FromQuery[str] = "",
    purpose: FromQuery[str] = "",
    file: FromQuery[str] = "",
    new: FromQuery[str] = "",
) -> Response[Any]:
    """Show the recorded answer to a question at a price, or download it."""
    actor.expect("describe")
    asked = Asked(sql=sql, by=by, within=within, spend=spend, epsilon=epsilon, purpose=purpose)
    question = asked.question()
    # The link is for everyone who may use the vault; what is left for its purpose is for those who may name it.
    payer = question.purpose if actor.may_name(question.purpose, name) else None
    reply = await service.questions.run(actor, name, "recorded", question.arguments(), purpose=payer)
    if reply.status == 404 and "preview" in actor.verbs:
        return elsewhere(f"/vaults/{name}/ask?{urlencode({'sql': sql, 'by': by, 'value': asked.price})}")
    release = Release.from_json(body_of(reply))
    headers = {"content-disposition": f'attachment; filename="{name}.{file}"'}
    if file in _FILES:
        return Response(written(release, file), media_type=_FILES[file], headers=headers)
    if file in pictures():
        drawn = {**question.arguments(), "form": file}
        body = body_of(await service.questions.run(actor, name, "chart", drawn, purpose=payer))
        return Response(base64.b64decode(body["data"]), media_type=_DRAWN[file], headers=headers)
    link, offered = asked.link(name), {*_FILES, *(pictures() if charts(release) else ())}
    return page(
        "answer",
        actor,
        vault=name,
        release=release,
        columns=render.table(release),
        rows=min(render.FIRST, release.groups),
        remarks=render.remarks(release, _HINTS),
        cost=render.cost(replace(release, free=False) if new else release),
        charts=charts(release),
        facts=release.label.facts,
        link=f"{address_of(request)}{link}",
        python=python(address_of(request), name, asked),
        files=[(words, f"{link}&file={ending}") for ending, words in _WORDS.items() if ending in offered],
        again=f"/vaults/{name}/ask?{urlencode({'sql': sql, 'by': by, 'value': asked.price})}",
    )


@cache
def pictures() -> tuple[str, ...]:
    """Return the endings of pictures that can be drawn here: the extra `plots` has the packages."""
    if find_spec("altair") is None:
        return ()
    return tuple(_DRAWN) if find_spec("vl_convert") is not None else ("vl.json",)


_HINTS = render.Hints(table="download the file.", label="the label below")


def python(address: str, vault: str, asked: Asked) -> str:
    """Return the question as a program of Python."""
    price = f"{asked.by}={asked.price!r}"
    purpose = f", purpose={asked.purpose!r}" if asked.purpose else ""
    return (
        "import discreet as dp\n\n"
        f'client = dp.Client({address!r}, token="…")\n'
        f"vault = client.vault({vault!r}{purpose})\n"
        f"release = vault.ask({asked.sql!r}, {price})\n"
        "print(release)"
    )


def written(release: Release, ending: str) -> bytes:
    """Return an answer as a file of this kind."""
    if ending == "json":
        return json.dumps(release.to_json(), ensure_ascii=False, indent=1).encode()
    if ending == "yaml":  # JSON is YAML 1.2, and needs no package to be written
        return (json.dumps(written_label(release.label), ensure_ascii=False, indent=1) + "\n").encode()
    table = release.to_arrow()
    if ending == "csv":
        text = io.StringIO()
        lines = csv.writer(text)
        lines.writerow(map(_cell, table.column_names))
        lines.writerows(zip(*(map(_cell, column.to_pylist()) for column in table.columns), strict=True))
        return text.getvalue().encode()
    import pyarrow

    sink = io.BytesIO()
    if ending == "parquet":
        import pyarrow.parquet

        pyarrow.parquet.write_table(table, sink)
    else:
        with pyarrow.ipc.new_file(sink, table.schema) as file:
            file.write_table(table)
    return sink.getvalue()


def _cell(value: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula: keys are texts of people, names those of analysts."""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{value}"
    return value.isoformat() if isinstance(value, date | datetime) else value


def charts(release: Release) -> list[dict[str, Any]]:
    """Draw each number of an answer: bars by name, or a line over days and numbers."""
    drawn = []
    names = list(release.keys)
    keys = list(zip(*release.keys.values(), strict=True)) if names else [()] * release.groups
    for answer in release.aggregates:
        rows = [
            (key, value, low, high)
            for key, value, low, high in zip(keys, answer.values, answer.low, answer.high, strict=True)
            if low is not None and high is not None and answer.axis == "number"
        ]
        title = f"{answer.name}{' by ' + ', '.join(names) if names else ''}, with intervals"
        ordered = (
            len(names) == 1 and len(rows) > 12 and all(isinstance(row[0][0], date | int | float) for row in rows)
        )
        if ordered and not any(isinstance(row[0][0], bool) for row in rows):
            points = [
                svg.Point(
                    _place(key[0]), render.key(key[0]), (low + high) / 2 if value is None else value, low, high
                )
                for key, value, low, high in rows
            ]
            drawn.append({"title": title, "svg": svg.line(points, title), "more": 0})
        elif rows:
            bars = [
                svg.Bar(", ".join(map(render.key, key)) or answer.name, value, low, high)
                for key, value, low, high in rows[:_MOST_BARS]
            ]
            drawn.append({"title": title, "svg": svg.bars(bars, title), "more": len(rows) - len(bars)})
    return drawn


def _place(key: Any) -> float:
    return float(key.toordinal()) if isinstance(key, date) else float(key)
