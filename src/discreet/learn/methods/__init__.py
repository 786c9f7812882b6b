"""Choose the method by which a linear classifier is made private, from public facts.

    objective_perturbation   noise in the objective, before it is minimised: the default for two classes
    softmax_objective        the same for more classes: their default for pure ε
    output_perturbation      noise on the minimiser
    gradient_descent         noise on every gradient: the default for more than two classes and a δ
    posterior_sampling       one draw from the posterior

Each module has `plan(problem, price)`, which reads no row and may refuse. A method with parameters of its own is
given as an object that has `plan`, such as `learn.methods.GradientDescent(steps=50)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from discreet.errors import Fix, ParameterError
from discreet.learn.methods import (
    gradient_descent,
    objective_perturbation,
    output_perturbation,
    posterior_sampling,
    softmax_objective,
)
from discreet.learn.methods.gradient_descent import GradientDescent
from discreet.learn.methods.problem import Problem
from discreet.learn.price import Price
from discreet.learn.training import Training

__all__ = ["GradientDescent", "Method", "plan"]


def _objective(problem: Problem, price: Price) -> Training:
    if problem.loss is None:
        return softmax_objective.plan(problem, price)
    return objective_perturbation.plan(problem, price)


_METHODS: dict[str, Callable[[Problem, Price], Training]] = {
    "objective_perturbation": _objective,
    "gradient_descent": gradient_descent.plan,
    "output_perturbation": output_perturbation.plan,
    "posterior_sampling": posterior_sampling.plan,
}


@runtime_checkable
class Method(Protocol):
    """A method with its parameters."""

    def plan(self, problem: Problem, price: Price) -> Training:
        """Return the training for a problem and a price. It reads no row, and may refuse."""


def plan(method: str | Method, problem: Problem, price: Price) -> Training:
    """Return the training of a method for a problem and a price.

    Args:
        method: Its name, or "auto", or the method itself with its parameters.
        problem: What is to be solved.
        price: What it may cost.
    """
    if isinstance(method, Method) and not problem.intervals:
        return method.plan(problem, price)
    if method == "auto":
        # Noise on gradients is Gaussian, and needs a δ; for two classes noise in the objective is less.
        two = problem.loss is not None
        method = "objective_perturbation" if two or price.pure else "gradient_descent"
    if problem.intervals and (method != "objective_perturbation" or problem.loss is None):
        raise ParameterError(
            "Intervals of coefficients are offered for objective perturbation of two classes.",
            found=f"{method}, {problem.classes} classes",
            fix=[
                Fix("intervals", False),
                *([] if problem.loss is None else [Fix("method", "objective_perturbation")]),
            ],
        )
    if method not in _METHODS:
        raise ParameterError(
            "There is no such method.",
            found=repr(method),
            fix=[Fix("method", "auto"), f"Or choose {', '.join(_METHODS)}."],
        )
    return _METHODS[method](problem, price)
