"""Compiled rules: games as functions on integer states, and their protocol."""
