"""Replay a computation on neighbouring tables with the released values held fixed.

replay        search the neighbours of a table, and compare a run on each with the first run
recorder      listen to the calls of mechanisms
tape          the calls of one run, in order, with their answers
traces        one run: its tape and its result
diff          compare two runs: calls, values, results
sensitivity   how much a value changed, against its declared sensitivity
exposure      what was released about one person, against what was declared and charged
comparisons   what a run of the threshold test loses between two tables, at least
transcript    what all additive releases of a run lose between two tables, exactly
"""
