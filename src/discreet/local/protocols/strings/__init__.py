"""Find frequent strings of an open domain.

count_mean_sketch     count-mean sketches (Apple)
prefix_tree           heavy hitters, letter by letter
rappor                RAPPOR (Chrome)
rappor_decoding       its estimates by least squares
sequence_fragments    the sequence fragment puzzle (Apple)
strings               words as rows of symbols
"""
