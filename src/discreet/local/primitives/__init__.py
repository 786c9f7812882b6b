"""Provide what protocols are built from: randomness, hash families, finite fields, bitmaps.

bitmaps             sets as bytes
fixed_point         probabilities over 2⁶⁴, and the ε that follows
galois_fields       finite fields, by tables
hash_family         public pairwise independent hashes
projective_space    points and hyperplanes over finite fields
randomness          fresh coins and keyed coins
"""
