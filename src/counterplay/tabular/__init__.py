"""Algorithms with one number per sequence, one per file."""
