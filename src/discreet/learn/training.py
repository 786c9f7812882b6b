"""Describe the training of one model: the rows it reads, and what an estimator does for a price."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from discreet.engines.examples import Examples
from discreet.errors import Fix, ParameterError
from discreet.privacy.losses import Losses
from discreet.release.label import Noise
from discreet.schema import Category, Column, Date, Datetime, Real

Progress: TypeAlias = Callable[[str, float], None]
"""Called with the present step and the share of the work that is done, from 0 to 1."""

SOLVED = (
    "The time of a fit depends on the rows, because the solver takes as many steps as it needs. The guarantee "
    "does not cover what an observer of that time learns."
)
"""A note for labels of models that a solver finds."""

_CLASSES = 1000  # an integer with more values is a number, and not a class

State: TypeAlias = dict[str, Any]
"""A model that was released, as JSON: everything in it is public."""


@dataclass(frozen=True)
class Task:
    """What is learnt from what: all of it is public.

    Args:
        features: The columns that a model predicts from, by name.
        target: The name of the column that it predicts.
        outcome: The declaration of that column: its classes, or its range.
        several: Whether a person may own several rows, which then share the weight of one; False by default.
    """

    features: Mapping[str, Column]
    target: str
    outcome: Column
    several: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", dict(self.features))
        if not self.features:
            raise ParameterError("A model needs at least one feature.", fix=Fix("features", ["age"]))
        for name, column in {**self.features, self.target: self.outcome}.items():
            if column.levels is None:
                other = "Predict another column." if name == self.target else "Leave it out of the features."
                raise ParameterError(
                    f"The values of {name!r} are strings that the schema does not list.",
                    found="Text",
                    fix=[other, "Or seal it as a Category with the values that matter."],
                )

    @property
    def classes(self) -> list[Any]:
        """The classes of the target, as the schema lists them."""
        if isinstance(self.outcome, Category) and self.outcome.levels > _CLASSES:
            raise ParameterError(
                f"The target {self.target!r} has more than {_CLASSES:,} classes.",
                found=f"{self.outcome.levels:,}",
                fix='Seal it with the categories that matter: the others become one, with other="another".',
            )
        if isinstance(self.outcome, Real | Date | Datetime) or (self.outcome.levels or 0) > _CLASSES:
            raise ParameterError(
                f"The target {self.target!r} is a number with {self.outcome.levels:,} values, and not a class.",
                fix=[
                    "Use a regression: learn.Ridge, or estimator ridge at the command line.",
                    "Or seal the target as a Category or a Boolean.",
                ],
            )
        found = list(self.outcome.values(list(range(self.outcome.levels or 0))))
        if len(found) < 2:  # the schema is public: this says nothing about rows, and costs nothing
            raise ParameterError(
                f"The target {self.target!r} has one declared value, so there is nothing to predict.",
                found=repr(found[0]) if found else "no value",
                fix=[
                    Fix("target", "retired", note="a column with two values or more"),
                    "Or seal it with all of its values.",
                ],
            )
        return found


@dataclass(frozen=True)
class Training:
    """What an estimator does for a price, decided from public facts alone.

    Args:
        losses: What is charged: a bound for the whole run, however its steps depend on each other.
        run: Reads the rows, draws noise and returns the model. It is called once, after the charge.
        noise: The noise of the run, for the label.
        method: The method, in words, for the label.
        notes: Facts that a reader of the label needs: assumptions, and what was chosen.
        arithmetic: How numbers are computed, where it is not as in every other release.
    """

    losses: Losses
    run: Callable[[Examples, Progress], State]
    noise: Sequence[Noise]
    method: str
    notes: Sequence[str] = field(default=())
    arithmetic: str = ""


def silent(_what: str, _done: float) -> None:
    """Report no progress."""
