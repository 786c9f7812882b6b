"""Factor the running sum into noise that is correlated over time.

blt                 BLT: a few geometric series that follow 1/√(1 − x), with a table for horizons up to 10⁹
square_root         SquareRoot: the coefficients of 1/√(1 − x) themselves, for comparison
correlated_noise    Filter: integer noise with the correlation of a strategy, from independent integer draws
toeplitz            ToeplitzSums: running sums with such noise, for one count or for many keys
tree                TreeSums: the binary tree, with its estimate from below, and with noise in every open node
epochs              Epochs: running sums without a horizon
units               Person and event: what one of them can change
running_sums        RunningSums: what all of them offer
constants           error constants of every mechanism, and the lower bound for all of them
"""
