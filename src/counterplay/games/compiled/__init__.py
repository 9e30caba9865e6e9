"""Compiled rules: a game as an integer state machine, beside the protocol it implements."""
