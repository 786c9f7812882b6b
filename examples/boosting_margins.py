"""Watch boosting enlarge margins after its training error is zero, and bound the error from the margins.

python examples/boosting_margins.py

The first model is AdaBoost over small trees: it is not private, and all that it prints says so. The second
is a private vote of rules, whose certificate was paid for with the model.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from discreet.learn.boosting import AdaBoost, BoostedStumps, Margins
from discreet.learn.boosting.margin_plots import errors_over_rounds
from discreet.schema import Integer

ROUNDS, DEPTH, SPLITS = 1000, 3, 2


def examples(seed: int) -> tuple[Any, Any, Any, Any]:
    """Pictures of digits, and whether the digit is odd."""
    X, digit = load_digits(return_X_y=True)
    parts: tuple[Any, Any, Any, Any] = tuple(train_test_split(X, digit % 2, test_size=0.4, random_state=seed))
    return parts


def boosted() -> tuple[Margins, dict[str, Any]]:
    """The margins of AdaBoost on one training set, and its errors after every round, mean of several splits."""
    errors: dict[str, list[Any]] = {"training": [], "test": []}
    for seed in range(SPLITS):
        X, X_test, y, y_test = examples(seed)
        model = AdaBoost(rounds=ROUNDS, depth=DEPTH).fit(X, y)
        errors["training"].append(model.staged_error(X, y))
        errors["test"].append(model.staged_error(X_test, y_test))
    return model.margins(X, y), {name: np.mean(found, axis=0) for name, found in errors.items()}


def charts() -> dict[str, Any]:
    """The pictures of this example, by the name of their file."""
    margins, errors = boosted()
    return {"margins": margins.plot(), "boosting-errors": errors_over_rounds(errors)}


def private() -> BoostedStumps:
    """A private vote on a made-up table of 200,000 persons: the sum of two dice, and whether it was high."""
    rng = np.random.default_rng(3)  # for the made-up persons only: the noise is the product's own
    dice = rng.integers(1, 7, (200_000, 2))
    high = (dice.sum(axis=1) + rng.normal(0, 0.5, len(dice)) > 7).astype(int)
    columns = {"first": Integer(1, 6, missing=1), "second": Integer(1, 6, missing=1)}
    model = BoostedStumps(epsilon=1, delta="1e-9", columns=columns, classes=[0, 1])
    return model.fit({"first": dice[:, 0], "second": dice[:, 1]}, high)


def main() -> None:
    margins, errors = boosted()
    perfect = int(np.argmax(errors["training"] == 0)) + 1
    print(f"AdaBoost, mean of {SPLITS} splits: no training error from round {perfect} on.")
    print(f"Test error then {errors['test'][perfect - 1]:.2%}, after {ROUNDS:,} rounds {errors['test'][-1]:.2%}.")
    print(margins)
    print()
    vote = private()
    print(vote.noisy_margins_)
    print(vote.certificate())


if __name__ == "__main__":
    main()
