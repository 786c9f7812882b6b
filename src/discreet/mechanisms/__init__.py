"""One private release each."""
