"""Populations: pools of policies that grow by responses to mixtures of what is there."""
