"""Build the inputs of an attack: subjects, pairs, neighbours, extreme values.

subject          a release, its claimed loss, and pairs of neighbours
pairs            exact values on which proofs about a mechanism are tight
transcripts      whole transcripts on which a mechanism loses nearly all of its claim
neighbours       tables with one person more or less
extremes         extreme values for each type of column
mutation_check   refuse a mechanism that changes its data
"""
