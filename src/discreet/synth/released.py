"""Hold what synthesis has released so far: noisy marginals and noisy scores, with their noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from discreet.kernel.gaussian_budget import Unit
from discreet.mechanisms import Exponential, Gaussian
from discreet.synth.marginals.domain import Columns, Domain
from discreet.synth.marginals.measurements import Evidence, Measurement


@dataclass(frozen=True)
class Score:
    """The noisy distance of a marginal from its prediction when it was scored, in rows.

    Of a pair that was picked it is only known to have beaten others: `value` is what it had to beat.
    """

    columns: Columns
    value: float
    deviation: float


@dataclass
class Released:
    """Everything released so far, in rows, with its noise.

    `stages` has the number of measurements when scores were taken: scores are distances from the model of those.
    """

    domain: Domain
    unit: Unit
    scale: float
    measurements: list[Measurement] = field(default_factory=list)
    scores: dict[str, list[Score]] = field(default_factory=dict)
    stages: dict[str, int] = field(default_factory=dict)
    noises: list[Gaussian] = field(default_factory=list)
    choices: list[Exponential] = field(default_factory=list)
    test_bits: bool = False

    @property
    def mechanisms(self) -> list[Gaussian | Exponential]:
        """Everything that was paid for."""
        return [*self.noises, *self.choices]

    @property
    def evidence(self) -> Evidence:
        """The measurements."""
        return Evidence(self.domain, tuple(self.measurements))

    @property
    def ties(self) -> dict[Columns, float]:
        """The distances of pairs from independence when they were scored or picked."""
        return ties(self.scores)

    def surely(self, name: str, deviations: float) -> dict[Columns, float]:
        """Return scores lowered by so many deviations of their noise."""
        return {score.columns: score.value - deviations * score.deviation for score in self.scores[name]}


def ties(scores: Mapping[str, Sequence[Score]]) -> dict[Columns, float]:
    """Return the distances of pairs from independence, as far as scores say them.

    >>> ties({"picked": [Score((0, 1), 70.0, 9.0)], "triples": [Score((0, 1, 2), 5.0, 9.0)]})
    {(0, 1): 70.0}
    """
    return {score.columns: max(score.value, 0.0) for name in ("pairs", "picked") for score in scores.get(name, ())}
