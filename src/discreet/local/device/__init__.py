"""Randomise on the device and remember what it spent.

device           Device: reports on a schedule, within its limits
device_ledger    DeviceLedger: the secret and the charges, in one file
wire             frames and batches: the bytes that travel
"""
