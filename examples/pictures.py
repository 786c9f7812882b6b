"""Draw the pictures that the documentation shows: docs/images/*.svg.

make pictures
"""

from __future__ import annotations

from pathlib import Path

import pricing
import tour

IMAGES = Path(__file__).parent.parent / "docs" / "images"


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    for name, chart in {**tour.charts(), "pricing": pricing.chart(pricing.revenue(pricing.limits()))}.items():
        chart.save(str(IMAGES / f"{name}.svg"))
        print(f"docs/images/{name}.svg")


if __name__ == "__main__":
    main()
