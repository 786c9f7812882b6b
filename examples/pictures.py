"""Draw the pictures that the documentation shows: docs/images/*.svg.

make pictures
"""

from __future__ import annotations

from pathlib import Path

import learning
import performance
import pricing
import stream
import textbook
import tour

from discreet import audit, noise, privacy

IMAGES = Path(__file__).parent.parent / "docs" / "images"


def half_the_noise() -> audit.LowerBound:
    """A black-box audit of a mechanism that claims scale 2 and has 1."""

    def batch(count: int, times: int) -> object:
        return count + noise.discrete_laplace(1, times)

    return audit.lower_bound(lambda count: count + noise.discrete_laplace(1), 0, 1, samples=200_000, batch=batch)


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    charts = {
        **tour.charts(),
        **textbook.charts(),
        "learning-shapes": learning.chart(),
        **stream.charts(),
        **performance.charts(),
        "pricing": pricing.chart(pricing.revenue(pricing.limits())),
        "audit": half_the_noise().plot(privacy.DiscreteLaplace(2)),
    }
    for name, chart in charts.items():
        chart.save(str(IMAGES / f"{name}.svg"))
        print(f"docs/images/{name}.svg")


if __name__ == "__main__":
    main()
