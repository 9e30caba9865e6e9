"""Poker with any number of players as a betting tree."""
