"""State the theorems: composition, conversions, subsampling, group privacy, odds.

composition   k releases together
conversions   one measure of privacy into another
calibration   the largest ρ that an (ε, δ) allows
subsampling   amplification by sampling
group         several people who change at once
selection     the best of several private candidates
odds          ε as an attacker's odds
"""
