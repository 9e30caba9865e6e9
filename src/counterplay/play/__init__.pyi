"""The public names of this package, written by tools/exports.py; do not edit."""

from counterplay.play.aivat import aivat_utilities as aivat_utilities
from counterplay.play.aivat import value_function_from_policy as value_function_from_policy
from counterplay.play.bounds import LowerBound as LowerBound
from counterplay.play.bounds import local_best_response as local_best_response
from counterplay.play.episodes import Agent as Agent
from counterplay.play.episodes import play_episode as play_episode
from counterplay.play.match import Estimate as Estimate
from counterplay.play.match import head_to_head as head_to_head

__all__ = [
    "Agent",
    "Estimate",
    "LowerBound",
    "aivat_utilities",
    "head_to_head",
    "local_best_response",
    "play_episode",
    "value_function_from_policy",
]
