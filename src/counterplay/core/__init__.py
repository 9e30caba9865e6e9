"""Games, arenas, policies, evaluation and `solve`, on which all other packages build."""
