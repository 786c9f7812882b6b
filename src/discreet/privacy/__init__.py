"""What a guarantee is, and how guarantees add up."""
