"""Answer a Plan: exact sums, noise, estimates, post-processing, label.

Modules:

    execute              run the statements of a plan and add its noise
    estimates            noisy integers -> values with intervals
    interval_arithmetic  intervals of sums, ratios, squares and roots
    postprocess          having, order by, limit and names of a release
    label                the label of a release, from its plan
"""
