"""Re-export the amounts of render.numbers under their old name, until every caller uses the new one."""

from discreet.render.numbers import decimal, left, spent
from discreet.render.numbers import share as percent

__all__ = ["decimal", "left", "percent", "spent"]
