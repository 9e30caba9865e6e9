"""Games, one per file; the registry stands in `counterplay.registry`."""
