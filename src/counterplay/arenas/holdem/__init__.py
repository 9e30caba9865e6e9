"""Hold'em: ranges, equity, and spots as public trees with a vector over hands at every node."""
