"""Implement the mechanisms of the lecture notes for many queries: PMW, Hardt–Rothblum, MWEM, BLR.

queries                  workloads of linear queries, and their sums on a sealed histogram
multiplicative_weights   the hypothesis: a distribution over cells that learns
theorem                  the parameters of a theorem about online queries, and its promise
interaction              what the runs of online mechanisms share
online_release           online release without privacy
pmw                      private multiplicative weights on AboveThreshold
hardt_rothblum           the mechanism of Hardt and Rothblum
censored                 the loss of noisy answers that are shown only if they are surprising
mwem                     multiplicative weights with the exponential mechanism
blr                      the small-database mechanism
comparison               mechanisms side by side on public data
plots                    plots of the theorems
"""
