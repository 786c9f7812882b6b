"""Draw rows that have the marginals of a model. All of it is post-processing of noisy measurements.

stream      reproducible random numbers
tree        first rows, along a tree of pairs, outside of impossible cells
targets     the counts that rows should have: the model's answers about one, two and three columns
descent     move rows towards these counts, never away from them
gather      what moves cost, read from tables: for columns of many values
products    the same by matrix products: for columns of few values
residual    how far rows are from the answers, beside what is known about the answers
"""
