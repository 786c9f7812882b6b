"""Attack a mechanism: by its exact law, its contract, its budget and its randomness.

exact             enumerate all draws and compare the exact laws on two neighbours
draw_laws         the certified law of each draw
outcomes          what an observer sees of an answer
contract          what a mechanism promises beside its loss, and its error bar
overspending      make a session grant more than its budget
randomness        look for a second holder of a stream of random draws
clopper_pearson   bounds on a probability from a count
"""
