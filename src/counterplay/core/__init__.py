"""Games, arenas, policies, evaluation and `solve`: what all other packages build on."""
