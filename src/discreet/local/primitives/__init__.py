"""Provide what protocols are built from: randomness, hash families, finite fields, bitmaps.

Modules: bitmaps, fixed_point, galois_fields, hash_family, projective_space, randomness.
"""
