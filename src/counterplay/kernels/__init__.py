"""Compiled functions on flat arrays, independent of games and of algorithm settings."""
