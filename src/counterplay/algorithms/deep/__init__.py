"""Algorithms with networks, on JAX, one per file."""
