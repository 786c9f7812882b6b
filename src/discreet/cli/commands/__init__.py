"""Define the commands of `discreet`, one module for each group.

seal              discreet propose, seal: make a vault from a table
ask               discreet ask, preview: ask a question, and see its cost before
oracle            discreet oracle: ask many questions on one charge
synthesize        discreet synthesize: make a synthetic table, and see how far to trust it
describe          discreet describe: see what is public about a vault
ledger            discreet ledger, budget: see and set who may spend what
demo              discreet demo: all of these on an invented city
audit             discreet audit: attack shipped mechanisms, the museum, or your own
local_design      discreet local design, simulate: design a collection, and rehearse it
local_reports     discreet local encode, aggregate: make reports, and count them
local_estimate    discreet local estimate: estimate shares from counts
"""
