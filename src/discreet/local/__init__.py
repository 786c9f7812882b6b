"""Local privacy: learn from devices that trust nobody. The server never sees a raw answer.

draws       fresh bits, or bits that a secret key settles for ever
contract    what a protocol is
estimates   frequencies with their errors, unbiased and consistent
chances     probabilities over 2⁶⁴, and the ε that follows from them
support     what protocols for frequencies have in common

grr         randomised response, Warner's survey        subset      a set of values
unary       a row of bits: SUE, OUE                     hadamard    a column of the Hadamard matrix
hashing     a hash function of one's own: OLH           projective  a point of a finite geometry

registry    every protocol by its name
choose      which one, and why
variance    all of them side by side
"""
