"""Define the protocols of local privacy, their registry and their contract.

longitudinal    protocols with a permanent answer and fresh noise
protocol        Randomiser: the contract of all protocols
registry        every protocol by its name
frequency/      frequencies of a known domain
numeric/        means and distributions of numbers
strings/        frequent strings of an open domain
"""
