"""Implement the mechanisms of the lecture notes for many queries: PMW, Hardt–Rothblum, MWEM, BLR.

Modules:

    multiplicative_weights  a distribution over cells that learns from its mistakes
    experts                 advice of experts: the algorithm behind all of these
    online_release          multiplicative weights without privacy
    pmw                     private multiplicative weights on AboveThreshold
    hardt_rothblum          private multiplicative weights as first published
    mwem                    multiplicative weights and the exponential mechanism
    blr                     one small database, drawn by the exponential mechanism
    queries                 linear queries over the cells of a domain
    interaction             one query at a time on a sealed histogram
    censored                the loss of answers that are shown only if they are surprising
    theorem                 the parameters of a theorem and its guarantee
    comparison              the mechanisms side by side on public data
    plots                   pictures of the theorems
"""
