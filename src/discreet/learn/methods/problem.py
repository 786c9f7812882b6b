"""State the problem that a method solves: rows, features, a loss, and how much to regularise.

A method (`discreet.learn.methods`) takes a problem and a price, and returns a training. The model that comes back
is a state with these keys, whatever the method:

    theta       integers: the coefficients in units of 2^-grid, a list for each class, or one list if there are two
    grid        the exponent of that unit
    map         the feature map, as JSON
    count       the noisy number of persons, or None if it was not needed
    facts       what a model card says about the fit, by name
    test_bits   whether the noise was predictable

Margin. A person moves a gradient by at most 1, but the logistic loss has slope ½ where nothing is learnt yet: half
of what the noise pays for is lost. The loss log(1 + exp(c − m)) has slope 1/(1 + e⁻ᶜ) there, and the same privacy,
because ℓ″ = s(1 − s) for every c. Its bias is no use where persons are many, so c falls with a noisy count. A
margin makes scores larger, as λ makes them smaller; λ is divided by 1 + c, within its public bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from discreet import noise
from discreet.engines.examples import WHOLE, Examples
from discreet.errors import Fix, ParameterError
from discreet.learn.feature_map import FeatureMap
from discreet.learn.methods.gradients import counted
from discreet.learn.methods.margin_losses import Logistic, MarginLoss
from discreet.learn.training import Task
from discreet.mechanisms import Exact, Gaussian, Laplace, Sensitivity
from discreet.privacy.theorems.learning.tolerance import SMOOTHING

MapChoice = FeatureMap | Literal["auto", "hats", "linear"]

LEAST, MOST = 2.0, 10.0
"""λ is between so many times R²/ε, unless it is given."""

WIDEST = 2.0
"""The largest margin that is chosen: its slope at 0 is .88, and more biases the intercept of a rare class."""

LINE, LINES, STRONGEST = 1.2, 2.0, 3.0
"""The line beside the hats of a number: of two classes, where a solver finds the minimum; of more, where persons
are many; and where they are fewer."""

_RISE = 6.0  # λ over R²/ε where there is one person for each feature and unit of noise
_CLEAR = 8.0  # persons for each feature and unit of noise at which the margin is 1
_ROOM = 6.0  # persons for each hat and unit of noise, from which on hats are rarely worse than linear features
_ROOM_LINES = 2.0  # the same where a strong line is beside hats


@dataclass(frozen=True)
class Problem:
    """A classification problem.

    Args:
        task: The columns and the target.
        loss: The loss of the margin; None for the softmax loss of more than two classes.
        maps: The feature maps that may be used: one, or hats and then linear, decided by a noisy count.
        regularisation: λ as a multiple of R²/ε; by default between 2 and 10, by a noisy count.
        intervals: Whether a share of the budget says how far coefficients may be off; False by default.
        widens: Whether the logistic loss gets a margin where a noisy count says that persons are few for the
            noise; False by default.
    """

    task: Task
    loss: MarginLoss | None
    maps: tuple[FeatureMap, ...]
    regularisation: float | None = None
    intervals: bool = False
    widens: bool = False

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

    def factor(self, feature_map: FeatureMap, count: float | None, strength: float, margin: float = 0.0) -> float:
        """Return λ as a multiple of R²/ε: more if there are few persons for each feature and unit of noise.

        Args:
            feature_map: The features.
            count: The noisy number of persons.
            strength: One over the deviation of noise of sensitivity 1.
            margin: The margin of the loss, which makes coefficients larger; 0 by default.
        """
        if self.regularisation is not None:
            return self.regularisation
        wanted = min(MOST, _RISE / math.sqrt(_crowd(feature_map, count, strength)))
        return max(LEAST, wanted / (1.0 + margin))

    def wide_loss(self, feature_map: FeatureMap, count: float | None, strength: float) -> MarginLoss | None:
        """Return the loss with its margin: 8 over the persons for each feature and unit of noise, 2 at most.

        Args:
            feature_map: The features.
            count: The noisy number of persons.
            strength: One over the deviation of noise of sensitivity 1.
        """
        if not self.widens or not isinstance(self.loss, Logistic):
            return self.loss
        margin = min(WIDEST, _CLEAR / _crowd(feature_map, count, strength))
        return replace(self.loss, shift=margin * self.loss.width)

    def chosen(self, count: float | None, strength: float) -> FeatureMap:
        """Return the map for a noisy count: hats if count·strength is 6 times their number, or more.

        Beside a strong line, hats need not learn what is straight: from twice their number on they are worth it,
        with a line that is stronger still.
        """
        if count is None or len(self.maps) == 1:
            return self.maps[0]
        hats, linear = self.maps
        crowd = count * strength / hats.size
        if crowd >= _ROOM:
            return hats
        return replace(hats, line=STRONGEST) if hats.line >= LINES and crowd >= _ROOM_LINES else linear


def _crowd(feature_map: FeatureMap, count: float | None, strength: float) -> float:
    """Return the number of persons for each feature and unit of noise."""
    return max((count or 0.0) * strength, 1e-9) / feature_map.size


def feature_maps(task: Task, choice: MapChoice, line: float = 0.0) -> tuple[FeatureMap, ...]:
    """Return the maps that a choice allows.

    Args:
        task: The columns.
        choice: A name, or a map.
        line: The size of the line beside the hats of a number; 0, the default, for none.

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
        return FeatureMap(task.features, line=line), FeatureMap(task.features, "linear")
    if choice == "hats":
        return (FeatureMap(task.features, line=line),)
    if choice == "linear":
        return (FeatureMap(task.features, "linear"),)
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
