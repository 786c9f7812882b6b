"""Estimate how often each value of a known domain occurs.

frequency_oracle       FrequencyOracle: the common part of all
grr                    generalised randomised response, Warner's survey
hadamard               Hadamard response
local_hashing          optimised local hashing
projective_geometry    projective geometry response
subset_selection       subset selection
two_step_grr           randomised response with a permanent and a fresh step
two_step_unary         unary encoding with a permanent and a fresh step
unary                  symmetric and optimised unary encoding
"""
