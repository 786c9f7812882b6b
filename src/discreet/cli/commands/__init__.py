"""Define the commands of `discreet`, one module for each group.

propose           discreet propose: draft the schema of a table, or be asked for it
seal              discreet seal: make a vault from a table
clean             discreet clean: remove what killed sealings left behind
source_options    the options that name a source
ask               discreet ask, preview: ask a question, and see its cost before
oracle            discreet oracle: ask many questions on one charge
synthesize        discreet synthesize: make a synthetic table, and see how far to trust it
describe          discreet describe: see what is public about a vault
ledger            discreet ledger, budget: see and set who may spend what
serve             discreet serve: share the vaults of a folder with a team
stream            discreet stream count, demo: count what arrives, privately at every moment
demo              discreet demo: all of these on an invented city
audit             discreet audit: attack shipped mechanisms, the museum, or your own
local/            discreet local design, simulate, encode, aggregate, estimate: collect from devices
validity          discreet validity plan, demo: plan a reusable holdout, and overfit a plain one
"""
