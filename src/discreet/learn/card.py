"""Draw a model card: what the model predicts, how it was learnt, what it promises, and how to use it.

    print(model)          a page for a terminal
    model                 a page for a notebook, with the shape functions drawn
    model.card()          Markdown, to publish beside the file of the model

A card states public facts only: those of the schema, of the label, and of the model that was released.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from discreet.learn.shapes import amount
from discreet.release.released import TEST_BITS
from discreet.render.html import document as html_document
from discreet.render.html import fragment, framed, trusted
from discreet.render.terminal import paragraph, plain
from discreet.schema import describe

if TYPE_CHECKING:
    from discreet.learn.estimator import PrivateEstimator
    from discreet.learn.shapes import Shapes

_NAMES = 24  # columns of the names of facts in a terminal
_CLASSES = 12  # classes that are listed by name
_EFFECTS = 12  # values of a column that a Markdown card lists
_PAGE = (
    '{% if warning %}<p class="test">{{ warning }}</p>{% endif %}'
    '<h3>{{ title }}</h3><dl style="grid-template-columns:minmax(5em,8em) 1fr">'
    "{% for name, fact in facts.items() %}<dt>{{ name }}</dt><dd>{{ fact }}</dd>"
    "{% endfor %}</dl>{{ shapes }}"
    "{% if limits %}<h3>Limits</h3><ul>{% for limit in limits %}<li>{{ limit }}</li>{% endfor %}</ul>{% endif %}"
    "<details><summary>Label</summary>{{ label }}</details>"
)
LIMITS = (
    "It predicts, and explains nothing: a column that adds to the score need not be a cause.",
    "Coefficients carry noise and are regularised, so they are smaller than without. Where few people are, a "
    "shape is mostly noise.",
    "The guarantee is about the people in the table. It does not say whether the model is right or fair.",
)
"""What every reader of a card has to know."""


def facts(model: PrivateEstimator) -> dict[str, str]:
    """Return what a reader wants to know first."""
    task, receipt, label = model.task_, model.receipt, model.label
    classes = [plain(str(one)) for one in getattr(model, "classes_", ())]
    more = f" and {len(classes) - _CLASSES} more" if len(classes) > _CLASSES else ""
    return {
        "Predicts": f"{task.target} from {', '.join(task.features)}",
        **({"Classes": ", ".join(classes[:_CLASSES]) + more} if classes else {}),
        "Protects": label.unit,
        "Guarantee": f"{receipt.promise}. {receipt.promise.meaning}",
        "Method": label.notes[0],
        "Noise": "; ".join(map(str, label.noise)) or "none",
        "Cost": f"{receipt.used}; {receipt.remaining}" if label.sealed_at else "there is no ledger: see the label",
        **model.state_.get("facts", {}),
    }


def title(model: PrivateEstimator) -> str:
    """Return the first line of a card."""
    return f"{type(model).__name__} of {model.task_.target}, fitted to {model.label.table}"


def text(model: PrivateEstimator, width: int = 80) -> str:
    """Return the card for a terminal."""
    lines = [plain(title(model))]
    for name, fact in facts(model).items():
        lines += paragraph(name, fact, _NAMES, width)
    return "\n".join(lines)


def page(model: PrivateEstimator, *, published: bool = False) -> str:
    """Return the card for a notebook; one that is published lists its limits for readers who did not fit it."""
    found = _shapes(model)
    return framed(
        fragment(
            _PAGE,
            warning=TEST_BITS if model.test_bits else "",
            title=title(model),
            facts=facts(model),
            shapes="" if found is None else trusted(found._repr_html_()),
            limits=[*LIMITS, *model.label.notes[1:]] if published else [],
            label=trusted(model.label.as_html()),
        )
    )


def document(model: PrivateEstimator) -> str:
    """Return the card as a whole page of HTML, with the shape functions drawn and the limits of the model."""
    return html_document(title(model), page(model, published=True))


def markdown(model: PrivateEstimator, path: str = "model.json") -> str:
    """Return the card as Markdown, to publish beside the file of the model.

    Args:
        model: The fitted model.
        path: The file of the model, as the card names it.
    """
    found = _shapes(model)
    lines = [f"# {_cell(title(model))}", ""]
    if model.test_bits:
        lines += [f"**{TEST_BITS}**", ""]
    lines += ["| fact | |", "|---|---|"]
    lines += [f"| {_cell(name)} | {_cell(fact)} |" for name, fact in facts(model).items()]
    lines += ["", "## Columns", "", "| column | declared as |", "|---|---|"]
    declared = {**model.task_.features, f"{model.task_.target} (predicted)": model.task_.outcome}
    lines += [f"| {_cell(name)} | {_cell(describe.domain(column))} |" for name, column in declared.items()]
    if found is not None:
        lines += ["", *_effects(found)]
    lines += ["", "## Limits", "", *(f"- {limit}" for limit in LIMITS)]
    lines += [f"- {_cell(note)}" for note in model.label.notes[1:]]
    lines += ["", "## Use it", "", "```python", "from discreet import learn", ""]
    lines += [
        f"model = learn.load({json.dumps(path, ensure_ascii=False)})",
        "model.predict(frame)  # a frame with the columns above",
        "```",
    ]
    return "\n".join([*lines, ""])


def _shapes(model: Any) -> Shapes | None:
    return model.shapes() if hasattr(model, "shapes") else None


def _effects(shapes: Shapes) -> list[str]:
    """Return the shapes as a table of Markdown."""
    lines = [f"## What each value adds to the {_cell(shapes.unit)}", ""]
    lines += ["| column | effect of each value |", "|---|---|"]
    for shape in shapes:
        for i, score in enumerate(shapes.scores):
            name = shape.name if len(shapes.scores) == 1 else f"{shape.name}, {score}"
            listed = shape.told(i)
            told = ", ".join(
                f"{'missing' if one is None else one} {amount(effect)}" for one, effect in listed[:_EFFECTS]
            )
            lines.append(f"| {_cell(name)} | {_cell(told)}{', …' if len(listed) > _EFFECTS else ''} |")
    return lines


def _cell(text: str) -> str:
    """Return text that a table of Markdown shows as it is.

    >>> _cell("a|b")
    'a\\\\|b'
    """
    return "".join(f"\\{c}" if c in "\\|`*_<>[]#" else c for c in plain(" ".join(text.split())))
