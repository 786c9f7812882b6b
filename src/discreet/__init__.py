"""Learn from data about people with differential privacy."""
