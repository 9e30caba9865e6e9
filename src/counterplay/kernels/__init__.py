"""Compiled functions on flat arrays; they know neither games nor options."""
