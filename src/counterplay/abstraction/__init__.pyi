"""The public names of this package, written by tools/exports.py; do not edit."""

from counterplay.abstraction.abstraction import Abstraction as Abstraction
from counterplay.abstraction.abstraction import build_abstraction as build_abstraction
from counterplay.abstraction.abstraction import fix_policy as fix_policy
from counterplay.abstraction.betting_policy import BettingPolicy as BettingPolicy
from counterplay.abstraction.betting_policy import load_betting_policy as load_betting_policy
from counterplay.abstraction.betting_policy import stitch as stitch
from counterplay.abstraction.by_equity import ByEquity as ByEquity
from counterplay.abstraction.by_rank import ByRank as ByRank
from counterplay.abstraction.grafting import graft_policy as graft_policy
from counterplay.registry import load_abstraction as load_abstraction

__all__ = [
    "Abstraction",
    "BettingPolicy",
    "ByEquity",
    "ByRank",
    "build_abstraction",
    "fix_policy",
    "graft_policy",
    "load_abstraction",
    "load_betting_policy",
    "stitch",
]
