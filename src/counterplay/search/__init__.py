"""Search in two-player zero-sum games of perfect information."""
