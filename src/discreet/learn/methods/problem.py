"""State the problem that a method solves: rows, features, a loss, and how much to regularise.

A method (`discreet.learn.methods`) takes a problem and a price, and returns a training. The model that comes back
is a state with these keys, whatever the method:

    theta       integers: the coefficients in units of 2^-grid, a list for each class, or one list if there are two
    grid        the exponent of that unit
    map         the feature map, as JSON
    count       the noisy number of persons, or None if it was not needed
    facts       what a model card says about the fit, by name
    test_bits   whether the noise was predictable
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from discreet import noise
from discreet.engines.examples import WHOLE, Examples
from discreet.errors import Fix, ParameterError
from discreet.learn.feature_map import FeatureMap
from discreet.learn.methods.gradients import counted
from discreet.learn.methods.margin_losses import MarginLoss
from discreet.learn.training import Task
from discreet.mechanisms import Exact, Gaussian, Laplace, Sensitivity
from discreet.privacy.theorems.learning.tolerance import SMOOTHING

MapChoice = FeatureMap | Literal["auto", "hats", "linear"]

LEAST, MOST = 2.0, 10.0
"""λ is between so many times R²/ε, unless it is given."""

_RISE = 6.0  # λ over R²/ε where there is one person for each feature and unit of noise
_ROOM = 6.0  # persons for each hat and unit of noise, from which on hats are rarely worse than linear features


@dataclass(frozen=True)
class Problem:
    """A classification problem.

    Args:
        task: The columns and the target.
        loss: The loss of the margin; None for the softmax loss of more than two classes.
        maps: The feature maps that may be used: one, or hats and then linear, decided by a noisy count.
        regularisation: λ as a multiple of R²/ε; by default between 2 and 10, by a noisy count.
        intervals: Whether a share of the budget says how far coefficients may be off; False by default.
    """

    task: Task
    loss: MarginLoss | None
    maps: tuple[FeatureMap, ...]
    regularisation: float | None = None
    intervals: bool = False

    @property
    def classes(self) -> int:
        """The number of classes."""
        return len(self.task.classes)

    @property
    def counts(self) -> bool:
        """Whether a noisy number of persons decides something: the feature map, or how much to regularise."""
        return len(self.maps) > 1 or self.regularisation is None

    @property
    def least_factor(self) -> float:
        """The least λ that may be chosen, as a multiple of R²/ε: the noise is calibrated for it."""
        return LEAST if self.regularisation is None else self.regularisation

    def factor(self, feature_map: FeatureMap, count: float | None, strength: float) -> float:
        """Return λ as a multiple of R²/ε: more if there are few persons for each feature and unit of noise.

        Args:
            feature_map: The features.
            count: The noisy number of persons.
            strength: One over the deviation of noise of sensitivity 1.
        """
        if self.regularisation is not None:
            return self.regularisation
        crowd = max((count or 0.0) * strength, 1e-9)
        return min(MOST, max(LEAST, _RISE * math.sqrt(feature_map.size / crowd)))

    def chosen(self, count: float | None, strength: float) -> FeatureMap:
        """Return the map for a noisy count: hats if count·strength is 6 times their number, or more."""
        if count is None or len(self.maps) == 1:
            return self.maps[0]
        return self.maps[0] if count * strength >= _ROOM * self.maps[0].size else self.maps[1]


def feature_maps(task: Task, choice: MapChoice) -> tuple[FeatureMap, ...]:
    """Return the maps that a choice allows.

    >>> from discreet.schema import Boolean, Integer
    >>> task = Task({"age": Integer(0, 110)}, "ill", Boolean())
    >>> [found.kind for found in feature_maps(task, "auto")]
    ['hats', 'linear']
    """
    if isinstance(choice, FeatureMap):
        if dict(choice.columns) != dict(task.features):
            raise ParameterError(
                "The feature map is for other columns than the task.",
                found=", ".join(choice.columns),
                fix=Fix("feature_map", "hats"),
            )
        return (choice,)
    if choice == "auto":
        return FeatureMap(task.features), FeatureMap(task.features, "linear")
    if choice in ("hats", "linear"):
        return (FeatureMap(task.features, choice),)
    raise ParameterError("There is no such feature map.", found=repr(choice), fix=Fix("feature_map", "hats"))


@dataclass(frozen=True)
class Count:
    """A noisy number of persons, which chooses the feature map.

    Args:
        mechanism: The noise, in units of 1/WHOLE of a person.
    """

    mechanism: Laplace | Gaussian

    @classmethod
    def gaussian(cls, rho: Fraction) -> Count:
        """Return a count of ρ-zCDP, which is √(2ρ)-Gaussian DP as well."""
        return cls(Gaussian(math.ceil(Fraction(WHOLE**2) / (2 * rho)) + SMOOTHING, WHOLE))

    @classmethod
    def pure(cls, epsilon: Fraction) -> Count:
        """Return a count of ε-DP."""
        return cls(Laplace.for_epsilon(epsilon, WHOLE))

    @property
    def deviation(self) -> float:
        """The spread of the noise, in persons."""
        noise = self.mechanism
        return (float(noise.variance) ** 0.5 if isinstance(noise, Gaussian) else float(noise.scale)) / WHOLE

    def released(self, examples: Examples) -> tuple[float, bool]:
        """Return the noisy number of persons, and whether its noise was predictable."""
        found = self.mechanism.release(Exact(counted(examples), Sensitivity(entries=1, each=WHOLE)))
        return float(np.asarray(found).ravel()[0]) / WHOLE, noise.is_test_noise(found)
