"""Random bits to exact integer noise."""
