"""Find frequent strings of an open domain.

Modules: count_mean_sketch, hash_sketch, prefix_tree, rappor, rappor_decoding, sequence_fragments, strings.
"""
