"""State what is true of every release of a vault: the bias, the arithmetic, timing, and trust."""

BIAS = (
    "Intervals cover the noise only. Bounding adds a bias that they do not show: the rows of a person with more "
    "rows than count in full are scaled down, and values outside their bounds are moved to them."
)
"""What the intervals do not show."""

ARITHMETIC = (
    "Sums are exact integers, and so is the noise, which a cryptographic generator draws with exactly its law; "
    "floating point is used only after the noise was added."
)
"""How numbers are computed."""

TIMING = (
    "The time of a draw of noise does not depend on the value drawn. The time of the engine depends on the rows, "
    "and is not hidden."
)
"""What can be learned from the time of an answer."""

TRUST = "central: every account that can read the vault's files can read the rows; analysts see releases only"
"""Who can read the rows."""
