"""Hold'em arenas: ranges, equity, and spots as public trees with a vector over hands per node."""
