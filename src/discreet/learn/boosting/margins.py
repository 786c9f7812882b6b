"""Measure the margins of a vote: how sure an ensemble is of the right class, example by example.

The margin of (x, y) is the share of the votes for y minus the largest share for another class, with weights
divided by their sum. In two classes it is y·f(x)/Σ|α|, with y and the voters in {−1, 1}. It lies in [−1, 1], and
it is positive where the vote is right. The *margin distribution graph* is its cumulative distribution: boosting
pushes it to the right after all examples are classified correctly (Schapire, Freund, Bartlett and Lee 1998).

**Margins are not private.** One person moves one of them as far as they like, and no noise is added. A picture
of the margins of private data must not leave, and says so in its text, its HTML and its title. Theory:
docs/theory/boosting.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import Fix, ParameterError
from discreet.learn.boosting.margin_bounds import MarginBound, margin_bounds
from discreet.learn.boosting.votes import votes
from discreet.rational import Rational, whole
from discreet.render.html import fragment, framed
from discreet.render.terminal import table

if TYPE_CHECKING:
    import altair

Floats: TypeAlias = NDArray[np.float64]

WARNING = "Not private: computed from the rows themselves, without noise."
"""What stands on everything that shows margins."""

_ROUNDS = (5, 100, 1000)  # those of the textbook's graph
_COLUMNS = ("voters", "examples", "errors", "least margin", "median", "largest")
_PAGE = """<p class="test">{{ warning }}</p>
<table><caption>Margins of {{ name }}</caption>
<tr>{% for c in columns %}<th class="n">{{ c }}</th>{% endfor %}</tr>
{% for row in rows %}<tr>{% for cell in row %}<td class="n">{{ cell }}</td>{% endfor %}</tr>
{% endfor %}</table>"""


@dataclass(frozen=True, eq=False)
class Margins:
    """The margins of all examples after some numbers of voters. Not private.

    >>> made = Margins("a vote", (2,), (np.array([-0.5, 0.25, 1.0]),))
    >>> print(made)
    Margins of a vote. Not private: computed from the rows themselves, without noise.
    voters  examples  errors  least margin  median  largest
    2       3         33.3 %  -0.5000       0.2500  1.0000
    """

    name: str
    rounds: tuple[int, ...]
    values: tuple[Floats, ...] = field(repr=False)
    """For each number of voters the margin of every example, in the order of the examples."""
    private = False

    def __post_init__(self) -> None:
        if not self.rounds or len(self.rounds) != len(self.values):
            raise ParameterError("Margins need one array for every number of voters.", found=self.rounds)

    @property
    def last(self) -> Floats:
        """The margins of the whole vote."""
        return self.values[-1]

    @property
    def least(self) -> float:
        """The least margin of the whole vote."""
        return float(self.last.min())

    def share_at_most(self, theta: float) -> float:
        """Return the share of the examples whose margin is at most θ, for the whole vote."""
        return float((self.last <= theta).mean())

    def bounds(
        self, hypotheses: int, *, alpha: Rational = "0.05", weights: ArrayLike | None = None
    ) -> tuple[MarginBound, ...]:
        """Return bounds on the error of the whole vote on new examples. They are not private either.

        Args:
            hypotheses: |H|, counting h and −h: a finite set, fixed before the examples were seen.
            alpha: The probability that a bound fails; 0.05 by default.
            weights: The α of every distinct hypothesis that votes; none by default.
        """
        return margin_bounds(self.last, hypotheses=hypotheses, alpha=alpha, weights=weights)

    def plot(self) -> altair.LayerChart:
        """Draw the margin distribution graph: one curve for each number of voters."""
        from discreet.learn.boosting.margin_plots import margin_distribution

        return margin_distribution(self)

    def __str__(self) -> str:
        return "\n".join([f"Margins of {self.name}. {WARNING}", *table([_COLUMNS, *self._rows()])])

    def _repr_html_(self) -> str:
        return framed(fragment(_PAGE, warning=WARNING, name=self.name, columns=_COLUMNS, rows=self._rows()))

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                f"{count:,}",
                f"{found.size:,}",
                f"{100 * float((found <= 0).mean()):.1f} %",
                *(f"{edge:.4f}" for edge in (found.min(), np.median(found), found.max())),
            )
            for count, found in zip(self.rounds, self.values, strict=True)
        ]


def margins(model: Any, X: Any, y: Any, *, rounds: Sequence[int] | None = None) -> Margins:
    """Return the margins of a fitted voting classifier, ours or scikit-learn's. Not private.

    Args:
        model: A fitted classifier that votes. `votes` lists the kinds.
        X: The examples.
        y: Their classes, as the model was trained with.
        rounds: The numbers of voters after which to look; 5, 100, 1000 and all of them by default.

    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> margins(forest, X, y).rounds
    (5, 10)
    """
    wanted = None if rounds is None else {whole(count, "rounds") for count in rounds}
    if wanted is not None and not wanted:
        raise ParameterError("Give at least one number of voters.", found=rounds, fix=Fix("rounds", (5, 100)))
    right = _right_class(model, y)
    total, weighed = np.zeros((len(right), 0)), 0.0
    kept: dict[int, Floats] = {}
    count = 0
    for count, (weight, shares) in enumerate(votes(model, X), start=1):
        _refuse_other_length(len(shares), len(right))
        total = (total if total.size else np.zeros(shares.shape)) + weight * shares
        weighed += abs(weight)
        if count in (_ROUNDS if wanted is None else wanted):
            kept[count] = _margins(total, right, weighed)
    if not count:
        raise ParameterError("The model has no voter, so it has no margins.", found=type(model).__name__)
    if wanted is not None and (beyond := sorted(wanted - kept.keys())):
        raise ParameterError(
            f"The model has {count:,} voters.", found=f"rounds={beyond}", fix=Fix("rounds", (count,))
        )
    if wanted is None:
        kept[count] = _margins(total, right, weighed)
    return Margins(type(model).__name__, tuple(kept), tuple(kept.values()))


def _margins(total: Floats, right: NDArray[np.intp], weighed: float) -> Floats:
    if not weighed:
        return np.zeros(len(right))
    rows = np.arange(len(right))
    others = total.copy()
    others[rows, right] = -np.inf
    found: Floats = np.clip((total[rows, right] - others.max(axis=1)) / weighed, -1.0, 1.0)
    return found


def _right_class(model: Any, y: Any) -> NDArray[np.intp]:
    classes = getattr(model, "classes_", None)
    if classes is None or np.ndim(classes) != 1 or len(classes) < 2:
        raise ParameterError(
            "Margins are defined for a fitted classifier with at least two classes.", found=type(model).__name__
        )
    same = np.asarray(y).ravel()[:, None] == np.asarray(classes)[None, :]
    if not len(same):
        raise ParameterError("Margins need at least one example.", found="none")
    if not same.any(axis=1).all():
        raise ParameterError("y holds a class that the model does not know.")
    codes: NDArray[np.intp] = same.argmax(axis=1)
    return codes


def _refuse_other_length(found: int, wanted: int) -> None:
    if found != wanted:
        raise ParameterError("X and y must have as many rows as each other.", found=f"{found} and {wanted}")
