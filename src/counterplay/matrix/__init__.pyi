"""The public names of this package, written by tools/exports.py; do not edit."""

from counterplay.matrix.correlated import (
    coarse_correlated_equilibrium as coarse_correlated_equilibrium,
)
from counterplay.matrix.correlated import correlated_equilibrium as correlated_equilibrium
from counterplay.matrix.dominance import eliminate_dominated as eliminate_dominated
from counterplay.matrix.dominance import find_dominated_actions as find_dominated_actions
from counterplay.matrix.dominance import find_dominating_mixture as find_dominating_mixture
from counterplay.matrix.fictitious_play import FictitiousPlay as FictitiousPlay
from counterplay.matrix.hedge import Hedge as Hedge
from counterplay.matrix.learning import run_learners as run_learners
from counterplay.matrix.nash import nash_equilibria as nash_equilibria
from counterplay.matrix.normal_form import NormalForm as NormalForm
from counterplay.matrix.normal_form import normal_form_from_game as normal_form_from_game
from counterplay.matrix.policy_enumeration import count_pure_policies as count_pure_policies
from counterplay.matrix.policy_enumeration import pure_policies as pure_policies
from counterplay.matrix.ranking import alpha_rank as alpha_rank
from counterplay.matrix.ranking import single_population_alpha_rank as single_population_alpha_rank
from counterplay.matrix.regret_matching import RegretMatching as RegretMatching
from counterplay.matrix.regret_matching_plus import RegretMatchingPlus as RegretMatchingPlus
from counterplay.matrix.replicator_dynamics import ReplicatorDynamics as ReplicatorDynamics
from counterplay.matrix.solvers.lemke_howson import lemke_howson as lemke_howson
from counterplay.matrix.solvers.nash_nlp import nash_nlp as nash_nlp
from counterplay.matrix.solvers.support_enumeration import (
    support_enumeration as support_enumeration,
)
from counterplay.matrix.solvers.zero_sum_lp import zero_sum_lp as zero_sum_lp
from counterplay.matrix.stackelberg import StackelbergEquilibrium as StackelbergEquilibrium
from counterplay.matrix.stackelberg import stackelberg_equilibrium as stackelberg_equilibrium
from counterplay.matrix.trace import LearnerStep as LearnerStep
from counterplay.matrix.trace import LearnerTrace as LearnerTrace
from counterplay.matrix.trace import trace_learner as trace_learner
from counterplay.matrix.verification import coarse_deviation as coarse_deviation
from counterplay.matrix.verification import correlated_deviation as correlated_deviation
from counterplay.matrix.verification import nash_deviation as nash_deviation
from counterplay.registry import load_learner as load_learner

__all__ = [
    "FictitiousPlay",
    "Hedge",
    "LearnerStep",
    "LearnerTrace",
    "NormalForm",
    "RegretMatching",
    "RegretMatchingPlus",
    "ReplicatorDynamics",
    "StackelbergEquilibrium",
    "alpha_rank",
    "coarse_correlated_equilibrium",
    "coarse_deviation",
    "correlated_deviation",
    "correlated_equilibrium",
    "count_pure_policies",
    "eliminate_dominated",
    "find_dominated_actions",
    "find_dominating_mixture",
    "lemke_howson",
    "load_learner",
    "nash_deviation",
    "nash_equilibria",
    "nash_nlp",
    "normal_form_from_game",
    "pure_policies",
    "run_learners",
    "single_population_alpha_rank",
    "stackelberg_equilibrium",
    "support_enumeration",
    "trace_learner",
    "zero_sum_lp",
]
