"""Define `discreet local`: collect from devices that randomise their answers themselves.

design      discreet local design, simulate: design a collection, and rehearse it
reports     discreet local encode, aggregate: make reports, and count them
estimate    discreet local estimate: estimate shares from counts
"""
