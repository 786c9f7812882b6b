"""Add up sufficient statistics: all that a regression or a naive Bayes classifier needs to know of the rows.

scaled_column     a declared column as integers within ±4096
design            the features of a regression as integers, and how much one row moves their moments
moments           exact moments: sums of products, by the engine itself or row by row
noisy_sums        exact sums with noise, as parts of one price
least_squares     coefficients, their intervals and their regularisation, from noisy moments
"""
