"""Draw guarantees and answers: composition, trade-off curves, numbers with intervals.

    plots.composition("0.1", "1e-6")     the total ε of many releases, by every composition theorem
    plots.tradeoff({"ε = 1": pure(1)})   trade-off curves beside blind guessing
    plots.intervals(keys, estimates)     numbers with their intervals

Altair is imported only when a picture is drawn, so that `import discreet` stays light.
"""

from discreet.privacy.plots import Points, composition, tradeoff
from discreet.render.charts import Estimated, intervals

__all__ = ["Estimated", "Points", "composition", "intervals", "tradeoff"]
