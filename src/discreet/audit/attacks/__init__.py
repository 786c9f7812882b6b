"""Attack a mechanism: by its exact law, its contract, its budget and its randomness.

densities         compare the densities of perturbed minimisers on two neighbours
exact             enumerate all draws, one by one
pieces            enumerate shared noise, and add up all other noise over ranges
comparison        compare the exact laws on two neighbours with the claim
draw_laws         the certified law of each draw
outcomes          what an observer sees of an answer
contract          what a mechanism promises beside its loss, and its error bar
overspending      make a session grant more than its budget
randomness        look for a second holder of a stream of random draws
canaries          bound the loss from one run with many made-up persons
clopper_pearson   bounds on a probability from a count
"""
