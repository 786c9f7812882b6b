"""Render numbers, text, pages and pictures: one look everywhere.

Modules:
    numbers: digits as the noise warrants, amounts of a budget, dates
    terminal: safe characters, wrapped lines, aligned columns, tables
    html: templates that escape, the stylesheet of notebooks and pages
    charts: the house style of pictures, the palette, intervals
    amounts: the amounts of `numbers`, under their old name
"""
