"""State how well a vote generalises: bounds on its error, and whether the statement itself may leave.

A certificate from the noisy margins of a release is private: it was paid for with the model. A certificate from
rows is not, whatever the model is, because margins are computed from the rows without noise.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.learn.boosting.margin_bounds import MarginBound, written
from discreet.render.html import fragment, framed

_PAGE = """<p class="{{ mark }}">{{ standing }}</p><table><caption>{{ about }}</caption>
{% for bound in bounds %}<tr><td>{{ bound.name }}</td><td class="n">{{ bound.verdict }}</td>
<td class="text">{{ bound.details }}</td></tr>
{% endfor %}</table>"""


@dataclass(frozen=True)
class Certificate:
    """Bounds on the error of a vote on new persons, each with its confidence.

    Args:
        bounds: The bounds. Each holds by itself.
        private: Whether the certificate was computed from what was released.
        about: What is bounded.

    >>> from discreet.learn.boosting.margin_bounds import breiman_bound
    >>> print(Certificate((breiman_bound(0.9, examples=10**6, hypotheses=200),), private=False, about="a vote"))
    Error of a vote on new persons, at most:
    Breiman  0.005655  θ = 0.9, confidence 95 %
    Not private: computed from the rows themselves, without noise.
    """

    bounds: tuple[MarginBound, ...]
    private: bool
    about: str

    @property
    def vacuous(self) -> bool:
        """Whether no bound says anything."""
        return all(bound.vacuous for bound in self.bounds)

    @property
    def standing(self) -> str:
        """Whether the certificate may leave, in words."""
        if self.private:
            return "Private: computed from noisy margins that were paid for with the model."
        return "Not private: computed from the rows themselves, without noise."

    def __str__(self) -> str:
        last = [] if not self.vacuous else ["Every bound is vacuous: there are too few persons for these margins."]
        head = f"Error of {self.about} on new persons, at most:"
        return "\n".join([head, *written(self.bounds), *last, self.standing])

    def _repr_html_(self) -> str:
        mark = "soft" if self.private else "test"
        about = f"Error of {self.about} on new persons, at most"
        return framed(fragment(_PAGE, mark=mark, standing=self.standing, about=about, bounds=self.bounds))
