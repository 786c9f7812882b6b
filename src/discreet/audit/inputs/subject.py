"""Define the subject of an attack: a release, the loss that it claims, and pairs of neighbours."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.audit.attacks.outcomes import observed
from discreet.audit.report.verdict import Verdict
from discreet.privacy.losses import Losses, counted, describe


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A claim of privacy: a release, the loss that it claims, and the pairs of neighbours to compare.

    Args:
        name: The name of the subject in a report.
        release: Makes one release from one input.
        loss: The loss that is claimed.
        pairs: Pairs of neighbouring inputs.
        batch: `batch(data, count)` makes `count` independent releases at once. Black-box attacks need many.
        attacks: Attacks on this subject by name, where enumeration and a black box would take too long; by default
            these two.
        samples: Releases on each input for a black box, where one takes long; None, the default, for what is
        usual.

    >>> from discreet import noise, privacy
    >>> coin = Subject(
    ...     name="randomised response",
    ...     release=lambda bit: bit ^ noise.bernoulli("1/4"),
    ...     loss=privacy.RandomizedResponse("1.0987"),
    ...     pairs=[(0, 1)],
    ... )
    >>> coin.run(0) in {0, 1}
    True
    """

    name: str
    release: Callable[[Any], Any]
    loss: Losses
    pairs: Sequence[tuple[Any, Any]]
    batch: Callable[[Any, int], Any] | None = None
    attacks: Mapping[str, Callable[[Subject], Verdict]] | None = None
    samples: int | None = None

    @property
    def claim(self) -> str:
        """The claimed loss as text."""
        counts = counted(self.loss).items()
        return " + ".join(describe(loss * count if count > 1 else loss) for loss, count in counts)

    def run(self, data: Any) -> Hashable:
        """Release once, and return what an observer sees: the answer, or the exception."""
        return observed(self.release, data)
