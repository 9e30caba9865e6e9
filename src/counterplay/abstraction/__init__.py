"""Smaller games made from a tree: infosets merged, actions left out, policies fixed."""
