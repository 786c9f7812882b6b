"""Seal a table: read sources, join them, write bounded integer rows.

Modules: draft, joins, seal, backends/, sources/.
"""
