"""Poker agents: subgames, the heads-up no-limit agent, matches with ranges."""
