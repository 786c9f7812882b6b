"""Randomise on the device and remember what it spent.

Modules: days, device, device_ledger, wire.
"""
