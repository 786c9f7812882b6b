"""Re-export the column types under their old name, for one version. Use `discreet` or `discreet.schema`."""

from discreet.schema import Boolean, Category, Date, Datetime, Integer, Real, Text

__all__ = ["Boolean", "Category", "Date", "Datetime", "Integer", "Real", "Text"]
