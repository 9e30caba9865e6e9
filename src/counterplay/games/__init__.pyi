"""The public names of this package, written by tools/exports.py; do not edit."""

from counterplay.core.game import DescribedGame as DescribedGame
from counterplay.core.game import DrawnGame as DrawnGame
from counterplay.core.game import GridGame as GridGame
from counterplay.core.game import ObservedGame as ObservedGame
from counterplay.core.game import action_labels as action_labels
from counterplay.core.game import describe_situation as describe_situation
from counterplay.core.game import grid_position as grid_position
from counterplay.games.battle_of_the_sexes import BattleOfTheSexes as BattleOfTheSexes
from counterplay.games.chicken import Chicken as Chicken
from counterplay.games.coin_toss import CoinToss as CoinToss
from counterplay.games.compiled.protocol import CompiledGame as CompiledGame
from counterplay.games.compiled.protocol import check_compiled_game as check_compiled_game
from counterplay.games.compiled.protocol import find_compiled_game as find_compiled_game
from counterplay.games.connect_four import ConnectFour as ConnectFour
from counterplay.games.custom_holdem import CustomHoldem as CustomHoldem
from counterplay.games.dark_hex import DarkHex as DarkHex
from counterplay.games.flop_holdem import FlopHoldem as FlopHoldem
from counterplay.games.goofspiel import Goofspiel as Goofspiel
from counterplay.games.grid_duel import GridDuel as GridDuel
from counterplay.games.holdem5 import Holdem5 as Holdem5
from counterplay.games.king_ace_poker import KingAcePoker as KingAcePoker
from counterplay.games.kriegspiel import Kriegspiel as Kriegspiel
from counterplay.games.kuhn_poker import KuhnPoker as KuhnPoker
from counterplay.games.leduc_poker import LeducPoker as LeducPoker
from counterplay.games.liars_dice import LiarsDice as LiarsDice
from counterplay.games.limit_holdem import LimitHoldem as LimitHoldem
from counterplay.games.matching_pennies import MatchingPennies as MatchingPennies
from counterplay.games.matching_pennies_3p import MatchingPennies3P as MatchingPennies3P
from counterplay.games.matrix_game import MatrixGame as MatrixGame
from counterplay.games.ms0 import MS0 as MS0
from counterplay.games.ms1f1 import MS1F1 as MS1F1
from counterplay.games.ms1f3 import MS1F3 as MS1F3
from counterplay.games.ms2f1t1h5 import MS2F1T1H5 as MS2F1T1H5
from counterplay.games.ms3f1t1r1h5 import MS3F1T1R1H5 as MS3F1T1R1H5
from counterplay.games.no_limit_holdem import NoLimitHoldem as NoLimitHoldem
from counterplay.games.phantom_tic_tac_toe import PhantomTicTacToe as PhantomTicTacToe
from counterplay.games.poker import Poker as Poker
from counterplay.games.prisoners_dilemma import PrisonersDilemma as PrisonersDilemma
from counterplay.games.rock_paper_scissors import RockPaperScissors as RockPaperScissors
from counterplay.games.shapleys_game import ShapleysGame as ShapleysGame
from counterplay.games.stratego import Stratego as Stratego
from counterplay.games.tic_tac_toe import TicTacToe as TicTacToe

__all__ = [
    "BattleOfTheSexes",
    "Chicken",
    "CoinToss",
    "CompiledGame",
    "ConnectFour",
    "CustomHoldem",
    "DarkHex",
    "DescribedGame",
    "DrawnGame",
    "FlopHoldem",
    "Goofspiel",
    "GridDuel",
    "GridGame",
    "Holdem5",
    "KingAcePoker",
    "Kriegspiel",
    "KuhnPoker",
    "LeducPoker",
    "LiarsDice",
    "LimitHoldem",
    "MS0",
    "MS1F1",
    "MS1F3",
    "MS2F1T1H5",
    "MS3F1T1R1H5",
    "MatchingPennies",
    "MatchingPennies3P",
    "MatrixGame",
    "NoLimitHoldem",
    "ObservedGame",
    "PhantomTicTacToe",
    "Poker",
    "PrisonersDilemma",
    "RockPaperScissors",
    "ShapleysGame",
    "Stratego",
    "TicTacToe",
    "action_labels",
    "check_compiled_game",
    "describe_situation",
    "find_compiled_game",
    "grid_position",
]
