"""Arenas of games with too many histories to store: infosets and exact gradients only."""
