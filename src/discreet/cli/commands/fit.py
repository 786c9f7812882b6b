"""Define `discreet fit` and `discreet predict`: learn a model from a vault, and use it.

Files are checked before anything is charged. If writing fails afterwards, the model is in the ledger's record, and
fitting it again is free. Predictions follow from the model alone: no vault is opened, and nothing is charged.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import options, output
from discreet.cli.commands.ask import Analyst, Purpose, cost_in_numbers, receipt_in_numbers
from discreet.cli.locations import Location, opened
from discreet.cli.progress import stages, waiting
from discreet.errors import DiscreetError, Fix

if TYPE_CHECKING:
    import pyarrow

    from discreet.learn.estimator import PrivateEstimator

ESTIMATORS = {
    "logistic": "LogisticRegression",
    "svc": "LinearSVC",
    "ridge": "Ridge",
    "linear": "LinearRegression",
    "gaussian-nb": "GaussianNB",
    "categorical-nb": "CategoricalNB",
    "histograms": "BoostedHistograms",
    "stumps": "BoostedStumps",
}
"""The estimators by their names on the command line: classes of `discreet.learn`."""

_CARDS, _MODELS, _TABLES = (".md", ".html"), (".json",), (".csv", ".parquet")

Estimator = Annotated[str, typer.Option(metavar="NAME", help=f"What to fit: {', '.join(ESTIMATORS)}.")]


def fit(
    vault: Location,
    target: Annotated[str, typer.Option(metavar="NAME", help="The column to predict.")],
    features: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES", help="The columns to predict from: age,city (by default all that are not strings)"
        ),
    ] = None,
    epsilon: options.Epsilon = None,
    spend: options.Spend = None,
    estimator: Estimator = "logistic",
    method: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="How logistic or svc is made private: objective_perturbation, output_perturbation, "
            "gradient_descent, posterior_sampling, or auto (the default).",
        ),
    ] = None,
    feature_map: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="hats, linear, or auto: by how many rows there are (the default)."),
    ] = None,
    regularisation: Annotated[
        float | None,
        typer.Option(help="More of it is smoother, and less noisy; by default the estimator chooses."),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Save the model: .json, for discreet predict and Python.")
    ] = None,
    card: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the model card: .md, or .html with pictures.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw its shape functions: .svg, .png, .html or .pdf.")
    ] = None,
    analyst: Analyst = None,
    purpose: Purpose = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print facts, cost and label as JSON.")] = False,
) -> None:
    """Fit a model to the rows of a vault, and charge it once. The same model again is free.

    [bold]Examples[/bold]

    [cyan]discreet fit people.vault --target income --epsilon 1 --save model.json[/cyan]

    [cyan]discreet fit people.vault --target ill --features age,city --spend 20% --card card.html[/cyan]

    [cyan]discreet predict model.json new.csv --out predicted.csv[/cyan]
      use it, as often as you like

    Exit status: as ask.
    """
    _expect_files(save, card, plot)
    price = options.amount(epsilon, spend)
    made = _estimator(estimator, {"method": method, "feature_map": feature_map, "regularisation": regularisation})
    if plot is not None and not hasattr(made, "shapes"):
        raise DiscreetError(f"The estimator {estimator} has no shape functions to draw.", fix=Fix("plot", None))
    with opened(vault, analyst=analyst, purpose=purpose) as sealed, stages() as told:
        model = sealed.fit(made, target=target, features=options.names(features), **price, progress=told)
    if as_json:
        output.data(_document(model))
    else:
        output.say(*_lines(str(model)))
        if hasattr(model, "shapes"):
            output.say("", *_lines(str(model.shapes())))
        output.say("", _cost(model))
    output.write("--save", save, model.save, quiet=as_json)
    output.write("--card", card, lambda to: _write_card(model, to, save), quiet=as_json)
    output.write("--plot", plot, lambda to: output.picture(model.shapes().plot(), to), quiet=as_json)
    if not (as_json or save):
        output.say("To keep it, for free: run the same command with --save model.json")


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The file of a model: model.json.")],
    rows: Annotated[Path, typer.Argument(metavar="FILE", help="The rows to predict for: .csv or .parquet.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The file for the predictions: .csv or .parquet; by default stdout."),
    ] = None,
    keep: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Columns of the rows to write beside them: id,name.")
    ] = None,
) -> None:
    """Predict with a model that discreet fit saved. It needs no vault, and costs nothing.

    The output has one row for each row of the file, in its order: the predicted value, and the probability of each
    class if the model has them. Values that the model does not know are treated as missing ones.

    [bold]Examples[/bold]

    [cyan]discreet predict model.json new.csv --out predicted.csv --keep user_id[/cyan]

    [cyan]discreet predict model.json new.parquet | head[/cyan]

    Exit status: 2 = a file has no meaning.
    """
    if out is not None:
        output.expect_writable("--out", out, _TABLES)
    options.expect_table(rows, "The file of the rows")
    from discreet import learn

    with waiting("predicting"):
        fitted = learn.load(model)
        found = _predicted(fitted, rows, options.names(keep) or [])
    if out is None:
        from pyarrow import csv

        csv.write_csv(found, sys.stdout.buffer)
    output.write("--out", out, lambda to: _write_table(found, to))


def _estimator(name: str, given: dict[str, Any]) -> PrivateEstimator:
    """Return the estimator of a name, with the parameters that were given."""
    from discreet import learn

    if name not in ESTIMATORS:
        raise DiscreetError(
            "There is no such estimator.", found=name, fix=[Fix("estimator", one) for one in [*ESTIMATORS][:3]]
        )
    kind = getattr(learn, ESTIMATORS[name])
    wanted = {parameter: value for parameter, value in given.items() if value is not None}
    unknown = [parameter for parameter in wanted if parameter not in kind().get_params()]
    if unknown:
        raise DiscreetError(f"The estimator {name} has no such parameter.", fix=Fix(unknown[0], None))
    made: PrivateEstimator = kind(**wanted)
    return made


def _expect_files(save: Path | None, card: Path | None, plot: Path | None) -> None:
    if save is not None:
        output.expect_writable("--save", save, _MODELS)
    if card is not None:
        output.expect_writable("--card", card, _CARDS)
    if plot is not None:
        output.expect_picture("--plot", plot)


def _write_card(model: PrivateEstimator, file: Path, save: Path | None) -> None:
    from discreet.learn.card import document

    page = file.suffix.lower() == ".html"
    text = document(model) if page else model.card("model.json" if save is None else save.name)
    file.write_text(text, encoding="utf-8")


def _lines(text: str) -> list[str]:
    return text.split("\n")


def _cost(model: PrivateEstimator) -> str:
    if model.free:
        return f"Free: it is recorded. Now {model.receipt.remaining}."
    return f"This used {model.receipt.used}; {model.receipt.remaining}."


def _document(model: PrivateEstimator) -> dict[str, Any]:
    from discreet.learn.card import facts

    model.expect_release("--json")
    return {
        "estimator": type(model).__name__,
        "target": model.task_.target,
        "features": list(model.task_.features),
        "free": model.free,
        "cost": cost_in_numbers(model.cost),
        **receipt_in_numbers(model.receipt),
        "facts": facts(model),
        "label": model.label.facts,
    }


def _predicted(model: Any, file: Path, keep: list[str]) -> pyarrow.Table:
    """Return the kept columns of a file, the predictions, and the probabilities if the model has them."""
    import pyarrow

    from discreet.learn.shape_charts import named

    rows = _rows(file, list(model.task_.features))
    absent = [name for name in keep if name not in rows.column_names]
    if absent:
        raise DiscreetError(
            f"The file has no column {absent[0]!r}.", fix=f"It has {', '.join(map(repr, rows.column_names))}."
        )
    found = rows.select(keep)
    columns = {model.task_.target: pyarrow.array(model.predict(rows).tolist())}
    if hasattr(model, "predict_proba"):
        chances = model.predict_proba(rows)
        columns |= {f"p({named(one)})": pyarrow.array(chances[:, i]) for i, one in enumerate(model.classes_)}
    for name, column in columns.items():
        while name in found.column_names:
            name = f"predicted {name}"
        found = found.append_column(name, column)
    return found


def _rows(file: Path, features: list[str]) -> pyarrow.Table:
    """Return the rows of a file. The features of a CSV file are text, as they are when it is sealed."""
    import pyarrow

    try:
        if file.suffix.lower() == ".parquet":
            from pyarrow import parquet

            return parquet.read_table(file)
        from pyarrow import csv

        texts = dict.fromkeys(features, pyarrow.string())
        return csv.read_csv(
            file, convert_options=csv.ConvertOptions(column_types=texts, strings_can_be_null=False)
        )
    except (pyarrow.ArrowException, OSError) as wrong:
        raise DiscreetError(
            "The file of the rows cannot be read.",
            found=str(wrong).splitlines()[0],
            fix="Name a .csv or .parquet file.",
        ) from None


def _write_table(table: pyarrow.Table, file: Path) -> None:
    if file.suffix.lower() == ".csv":
        from pyarrow import csv

        csv.write_csv(table, file)
    else:
        from pyarrow import parquet

        parquet.write_table(table, file)
