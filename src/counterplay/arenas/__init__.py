"""Arenas, which algorithms run on: trees, rules, factored arenas and hold'em arenas."""
