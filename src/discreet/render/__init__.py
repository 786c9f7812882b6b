"""Render numbers, text and pages: one look everywhere.

Modules: amounts, numbers.
"""
