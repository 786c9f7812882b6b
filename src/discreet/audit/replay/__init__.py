"""Replay a computation on neighbouring tables with the released values frozen.

Modules: diff, exposure, recorder, replay, sensitivity, tape, traces.
"""
