"""Registries of games, algorithms and other classes: dicts from name to `module:class`."""

from __future__ import annotations

import ast
import importlib
import re
import sys
import time
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from counterplay.core.game import Game
from counterplay.core.renamed_parameters import suggest_parameter
from counterplay.core.settings import check_type, is_literal
from counterplay.errors import ConfigError, suggestion

GAMES = {
    "battle_of_the_sexes": "counterplay.games.battle_of_the_sexes:BattleOfTheSexes",
    "chicken": "counterplay.games.chicken:Chicken",
    "coin_toss": "counterplay.games.coin_toss:CoinToss",
    "connect_four": "counterplay.games.connect_four:ConnectFour",
    "custom_holdem": "counterplay.games.custom_holdem:CustomHoldem",
    "dark_hex": "counterplay.games.dark_hex:DarkHex",
    "flop_holdem": "counterplay.games.flop_holdem:FlopHoldem",
    "goofspiel": "counterplay.games.goofspiel:Goofspiel",
    "grid_duel": "counterplay.games.grid_duel:GridDuel",
    "holdem5": "counterplay.games.holdem5:Holdem5",
    "king_ace_poker": "counterplay.games.king_ace_poker:KingAcePoker",
    "kriegspiel": "counterplay.games.kriegspiel:Kriegspiel",
    "kuhn_poker": "counterplay.games.kuhn_poker:KuhnPoker",
    "leduc_poker": "counterplay.games.leduc_poker:LeducPoker",
    "liars_dice": "counterplay.games.liars_dice:LiarsDice",
    "limit_holdem": "counterplay.games.limit_holdem:LimitHoldem",
    "matching_pennies": "counterplay.games.matching_pennies:MatchingPennies",
    "matching_pennies_3p": "counterplay.games.matching_pennies_3p:MatchingPennies3P",
    "matrix_game": "counterplay.games.matrix_game:MatrixGame",
    "ms0": "counterplay.games.ms0:MS0",
    "ms1f1": "counterplay.games.ms1f1:MS1F1",
    "ms1f3": "counterplay.games.ms1f3:MS1F3",
    "ms2f1t1h5": "counterplay.games.ms2f1t1h5:MS2F1T1H5",
    "ms3f1t1r1h5": "counterplay.games.ms3f1t1r1h5:MS3F1T1R1H5",
    "no_limit_holdem": "counterplay.games.no_limit_holdem:NoLimitHoldem",
    "phantom_tic_tac_toe": "counterplay.games.phantom_tic_tac_toe:PhantomTicTacToe",
    "poker": "counterplay.games.poker:Poker",
    "prisoners_dilemma": "counterplay.games.prisoners_dilemma:PrisonersDilemma",
    "rock_paper_scissors": "counterplay.games.rock_paper_scissors:RockPaperScissors",
    "shapleys_game": "counterplay.games.shapleys_game:ShapleysGame",
    "stratego": "counterplay.games.stratego:Stratego",
    "tic_tac_toe": "counterplay.games.tic_tac_toe:TicTacToe",
}

ALGORITHMS = {
    "ach": "counterplay.algorithms.deep.policy_gradient.ach:ACH",
    "alpha_psro": "counterplay.algorithms.population.alpha_psro:AlphaPSRO",
    "anytime_psro": "counterplay.algorithms.population.anytime_psro:AnytimePSRO",
    "apcfr_plus": "counterplay.algorithms.cfr.apcfr_plus:APCFRPlus",
    "average_strategy_sampling": (
        "counterplay.algorithms.mccfr.average_strategy_sampling:AverageStrategySampling"
    ),
    "batch_fsp": "counterplay.algorithms.fictitious_play.batch_fsp:BatchFSP",
    "cfr": "counterplay.algorithms.cfr.cfr:CFR",
    "cfr_br": "counterplay.algorithms.cfr.cfr_br:CFRBR",
    "cfr_hedge": "counterplay.algorithms.cfr.cfr_hedge:CFRHedge",
    "cfr_plus": "counterplay.algorithms.cfr.cfr_plus:CFRPlus",
    "chance_sampling": "counterplay.algorithms.mccfr.chance_sampling:ChanceSampling",
    "clairvoyant_cfr": "counterplay.algorithms.cfr.clairvoyant_cfr:ClairvoyantCFR",
    "dcfr": "counterplay.algorithms.cfr.dcfr:DCFR",
    "dcfr_plus": "counterplay.algorithms.cfr.dcfr_plus:DCFRPlus",
    "ddcfr": "counterplay.algorithms.cfr.ddcfr:DDCFR",
    "deep_cfr": "counterplay.algorithms.deep.regret.deep_cfr:DeepCFR",
    "deep_hedge": "counterplay.algorithms.deep.deep_hedge:DeepHedge",
    "deep_mmd": "counterplay.algorithms.deep.policy_gradient.deep_mmd:DeepMMD",
    "double_oracle": "counterplay.algorithms.population.double_oracle:DoubleOracle",
    "dream": "counterplay.algorithms.deep.regret.dream:DREAM",
    "efr": "counterplay.algorithms.cfr.efr:EFR",
    "escher": "counterplay.algorithms.deep.regret.escher:ESCHER",
    "external_sampling": "counterplay.algorithms.mccfr.external_sampling:ExternalSampling",
    "fsp": "counterplay.algorithms.fictitious_play.fsp:FSP",
    "hs_dcfr": "counterplay.algorithms.cfr.hs_dcfr:HSDCFR",
    "hs_pcfr_plus": "counterplay.algorithms.cfr.hs_pcfr_plus:HSPCFRPlus",
    "ireg_pcfr_plus": "counterplay.algorithms.cfr.ireg_pcfr_plus:IREGPCFRPlus",
    "jpsro": "counterplay.algorithms.population.jpsro:JPSRO",
    "league": "counterplay.algorithms.deep.league:League",
    "linear_cfr": "counterplay.algorithms.cfr.linear_cfr:LinearCFR",
    "mmd": "counterplay.algorithms.regularised.mmd:MMD",
    "neurd": "counterplay.algorithms.deep.policy_gradient.neurd:NeuRD",
    "nfsp": "counterplay.algorithms.deep.nfsp.nfsp:NFSP",
    "nxdo": "counterplay.algorithms.population.nxdo:NXDO",
    "nfsp_ppo": "counterplay.algorithms.deep.nfsp.nfsp_ppo:NFSPPPO",
    "nfsp_sac": "counterplay.algorithms.deep.nfsp.nfsp_sac:NFSPSAC",
    "online_outcome_sampling": (
        "counterplay.algorithms.mccfr.online_outcome_sampling:OnlineOutcomeSampling"
    ),
    "outcome_sampling": "counterplay.algorithms.mccfr.outcome_sampling:OutcomeSampling",
    "p2sro": "counterplay.algorithms.population.p2sro:P2SRO",
    "pcfr": "counterplay.algorithms.cfr.pcfr:PCFR",
    "pcfr_plus": "counterplay.algorithms.cfr.pcfr_plus:PCFRPlus",
    "pdcfr_plus": "counterplay.algorithms.cfr.pdcfr_plus:PDCFRPlus",
    "ppo": "counterplay.algorithms.deep.policy_gradient.ppo:PPO",
    "probing": "counterplay.algorithms.mccfr.probing:Probing",
    "psro": "counterplay.algorithms.population.psro:PSRO",
    "public_chance_deep_cfr": (
        "counterplay.algorithms.deep.regret.public_chance_deep_cfr:PublicChanceDeepCFR"
    ),
    "public_chance_mmd": (
        "counterplay.algorithms.deep.policy_gradient.public_chance_mmd:PublicChanceMMD"
    ),
    "qpg": "counterplay.algorithms.deep.policy_gradient.qpg:QPG",
    "qre": "counterplay.algorithms.regularised.qre:QRE",
    "r_nad": "counterplay.algorithms.deep.policy_gradient.r_nad:RNaD",
    "rebel": "counterplay.algorithms.deep.rebel:ReBeL",
    "rectified_psro": "counterplay.algorithms.population.rectified_psro:RectifiedPSRO",
    "reg_cfr": "counterplay.algorithms.cfr.reg_cfr:RegCFR",
    "reinforce": "counterplay.algorithms.deep.policy_gradient.reinforce:REINFORCE",
    "rmpg": "counterplay.algorithms.deep.policy_gradient.rmpg:RMPG",
    "rpcfr_plus": "counterplay.algorithms.cfr.rpcfr_plus:RPCFRPlus",
    "rpg": "counterplay.algorithms.deep.policy_gradient.rpg:RPG",
    "rt_cfr_plus": "counterplay.algorithms.cfr.rt_cfr_plus:RTCFRPlus",
    "sapcfr_plus": "counterplay.algorithms.cfr.sapcfr_plus:SAPCFRPlus",
    "sd_cfr": "counterplay.algorithms.deep.regret.sd_cfr:SDCFR",
    "sequence_form_lp": "counterplay.algorithms.exact.sequence_form_lp:SequenceFormLP",
    "smooth_pcfr_plus": "counterplay.algorithms.cfr.smooth_pcfr_plus:SmoothPCFRPlus",
    "sp_psro": "counterplay.algorithms.population.sp_psro:SPPSRO",
    "table_lookup_fsp": "counterplay.algorithms.fictitious_play.table_lookup_fsp:TableLookupFSP",
    "tabular_r_nad": "counterplay.algorithms.regularised.tabular_r_nad:TabularRNaD",
    "vr_deep_dcfr_plus": "counterplay.algorithms.deep.regret.vr_deep_dcfr_plus:VRDeepDCFRPlus",
    "vr_deep_pdcfr_plus": "counterplay.algorithms.deep.regret.vr_deep_pdcfr_plus:VRDeepPDCFRPlus",
    "vr_mccfr": "counterplay.algorithms.mccfr.vr_mccfr:VRMCCFR",
    "vr_mccfr_plus": "counterplay.algorithms.mccfr.vr_mccfr_plus:VRMCCFRPlus",
    "xdo": "counterplay.algorithms.population.xdo:XDO",
    "xfp": "counterplay.algorithms.fictitious_play.xfp:XFP",
}

ABSTRACTIONS = {
    "by_equity": "counterplay.abstraction.by_equity:ByEquity",
    "by_rank": "counterplay.abstraction.by_rank:ByRank",
}

LEARNERS = {  # of matrix games
    "fictitious_play": "counterplay.matrix.fictitious_play:FictitiousPlay",
    "hedge": "counterplay.matrix.hedge:Hedge",
    "regret_matching": "counterplay.matrix.regret_matching:RegretMatching",
    "regret_matching_plus": "counterplay.matrix.regret_matching_plus:RegretMatchingPlus",
    "replicator_dynamics": "counterplay.matrix.replicator_dynamics:ReplicatorDynamics",
}

SEARCHERS = {  # of games without hidden information
    "alpha_beta": "counterplay.search.alpha_beta:AlphaBeta",
    "expectiminimax": "counterplay.search.expectiminimax:Expectiminimax",
    "mcts": "counterplay.search.mcts:MCTS",
    "minimax": "counterplay.search.minimax:Minimax",
}

SEARCH_AGENTS = {  # agents that search games with hidden information
    "belief_search": "counterplay.search.belief_search:BeliefSearch",
    "blueprint_search": "counterplay.play.poker.blueprint_search:BlueprintSearch",
    "hunl": "counterplay.play.poker.hunl:HoldemAgentConfig",
    "is_mcts": "counterplay.search.is_mcts:ISMCTS",
    "mirror_search": "counterplay.search.mirror_search:MirrorSearch",
    "oos": "counterplay.search.oos:OOS",
    "pimc": "counterplay.search.pimc:PIMC",
    "resolving": "counterplay.search.resolving:Resolving",
    "smooth_uct": "counterplay.search.smooth_uct:SmoothUCT",
}

FACTORED_ARENAS = {  # arenas of games too large for a tree, by the game's name
    "custom_holdem": "counterplay.arenas.holdem.game_arena:HOLDEM_GAME_FACTORY",
    "dark_hex": "counterplay.arenas.factored.phantom:PHANTOM_FACTORY",
    "flop_holdem": "counterplay.arenas.holdem.game_arena:HOLDEM_GAME_FACTORY",
    "holdem5": "counterplay.arenas.holdem.game_arena:HOLDEM_GAME_FACTORY",
    "liars_dice": "counterplay.arenas.factored.liars_dice:LIARS_DICE_FACTORY",
    "ms0": "counterplay.arenas.holdem.game_arena:HOLDEM_GAME_FACTORY",
    "ms1f1": "counterplay.arenas.holdem.game_arena:HOLDEM_GAME_FACTORY",
    "ms1f3": "counterplay.arenas.holdem.game_arena:HOLDEM_GAME_FACTORY",
    "ms2f1t1h5": "counterplay.arenas.holdem.game_arena:HOLDEM_GAME_FACTORY",
    "ms3f1t1r1h5": "counterplay.arenas.holdem.game_arena:HOLDEM_GAME_FACTORY",
    "phantom_tic_tac_toe": "counterplay.arenas.factored.phantom:PHANTOM_FACTORY",
}

COMPILED_GAMES = {  # compiled rules, by the game's name
    "dark_hex": "counterplay.games.compiled.phantom_board:compile_game",
    "flop_holdem": "counterplay.games.compiled.poker:compile_game",
    "goofspiel": "counterplay.games.compiled.goofspiel:compile_game",
    "kuhn_poker": "counterplay.games.compiled.kuhn_poker:compile_game",
    "leduc_poker": "counterplay.games.compiled.leduc_poker:compile_game",
    "liars_dice": "counterplay.games.compiled.liars_dice:compile_game",
    "limit_holdem": "counterplay.games.compiled.poker:compile_game",
    "no_limit_holdem": "counterplay.games.compiled.poker:compile_game",
    "phantom_tic_tac_toe": "counterplay.games.compiled.phantom_board:compile_game",
    "poker": "counterplay.games.compiled.poker:compile_game",
    "stratego": "counterplay.games.compiled.stratego:compile_game",
}

REGISTRIES = {
    "game": GAMES,
    "algorithm": ALGORITHMS,
    "abstraction": ABSTRACTIONS,
    "learner": LEARNERS,
    "searcher": SEARCHERS,
    "search agent": SEARCH_AGENTS,
}
KINDS_WITH_COMMAND = ("game", "algorithm")  # kinds that a command such as `games` lists

USER_CLASS = r"[^()]+:[A-Za-z_]\w*\s*(\(.*\))?"  # file.py:Class or package.module:Class
OPENSPIEL_LOADER = "counterplay.interop.openspiel:load_openspiel_game"
GAME_FILE_LOADER = "counterplay.interop.game_files:load_game_file"
USER_GAME_LOADER = "counterplay.interop.user_classes:load_user_game"  # runs the user's code
USER_ALGORITHM_LOADER = "counterplay.interop.user_classes:load_user_algorithm"
USER_ALGORITHM_CLASS_LOADER = "counterplay.interop.user_classes:load_user_algorithm_class"
EXTERNAL_GAME_LOADERS = {  # loaders of games outside the registry, by a pattern of the whole spec
    r"openspiel:.*": OPENSPIEL_LOADER,
    r".*\.(efg|nfg|json|csv)": GAME_FILE_LOADER,
    USER_CLASS: USER_GAME_LOADER,
    r".*\.py": USER_GAME_LOADER,
}
EXTRA_BY_PACKAGE = {  # package -> the extra that installs it
    "filelock": "deep",
    "jax": "deep",
    "jaxlib": "deep",
    "optax": "deep",
    "gymnasium": "rl",
    "pettingzoo": "rl",
    "pyspiel": "openspiel",
    "open_spiel": "openspiel",
    "matplotlib": "plot",
}
PARSE_ATTEMPTS = 20
ABSTRACTION_SEPARATOR = " with "  # between a game and its abstraction in a spec
ABSTRACT_GAME = "counterplay.abstraction.abstracted_game:abstract_game"
USER_CLASSES: dict[type, str] = {}  # games and algorithms of users, with their `file.py:Class`
ENTRY_POINT_GROUPS = {"counterplay.games": GAMES, "counterplay.algorithms": ALGORITHMS}


def load_game(spec: str, **parameters: Any) -> Game:
    """Return a game by name, such as `leduc_poker` or `kuhn_poker(players=3)`.

    Loading a user's class runs the code of its file, and remembers that its content is allowed:
    policies and runs made with it can then be opened. Do not pass specs from files of other
    people; `load_policies`, `load_run` and others check such specs (see `trust`).

    Args:
        spec: the name of a game, with parameters; `openspiel:NAME`; an `.efg`, `.nfg`, `.json` or
            `.csv` file; or a user's class as `path/to/file.py:Class` or `package.module:Class`.
            Any of them with merged infosets, as in `leduc_poker with by_rank`.
        parameters: parameters of the game, besides those in the spec.

    Raises:
        ConfigError: the name or a parameter is unknown, or a parameter has the wrong type.

    Example:
        >>> import counterplay as cp
        >>> cp.load_game("kuhn_poker", players=3)
        KuhnPoker(players=3, num_cards=0)
    """
    if not is_external_game(spec):
        return load_game_unchecked(spec, **parameters)
    from counterplay.core.trust import references, remember

    named = references(spec)  # before its code runs, which could change the file
    game = load_game_unchecked(spec, **parameters)
    remember(named)
    return game


def load_game_unchecked(spec: str, **parameters: Any) -> Game:
    """Load a game without checking or remembering consent, for callers that have checked it."""
    spec, abstraction = split_abstraction(spec.strip())
    pattern = source_pattern(spec)
    if pattern:
        game = import_registered(EXTERNAL_GAME_LOADERS, pattern)(spec, **parameters)
    else:
        game = _load_registered("game", GAMES, spec, parameters)
    return load_abstracted_game(game, abstraction) if abstraction else game


def load_abstracted_game(game: Game, abstraction: str) -> Game:
    """Return the rules of a game with infosets merged by the abstraction of a spec."""
    merge = import_registered({"": ABSTRACT_GAME}, "")
    abstracted: Game = merge(game, load_abstraction(abstraction))
    return abstracted


def split_abstraction(spec: str) -> tuple[str, str]:
    """Return the game and the abstraction of a spec such as `leduc_poker with by_rank`.

    The abstraction of other specs is "".
    """
    head, separator, tail = spec.rpartition(ABSTRACTION_SEPARATOR)
    name = tail.partition("(")[0].strip()
    is_abstraction = resolve_name(ABSTRACTIONS, name) in ABSTRACTIONS
    return (head.strip(), tail.strip()) if separator and is_abstraction else (spec, "")


def spec_name(spec: str) -> str:
    """Return a spec without parameters; the whole spec of a game with an abstraction."""
    return spec if split_abstraction(spec)[1] else spec.partition("(")[0]


def source_pattern(spec: str) -> str:
    """Return the first key of `EXTERNAL_GAME_LOADERS` that a spec matches, or ""."""
    text = split_abstraction(spec.strip())[0]
    matches = (p for p in EXTERNAL_GAME_LOADERS if re.fullmatch(p, text, re.DOTALL))
    return next(matches, "")


def is_external_game(spec: str) -> bool:
    """Return True if a game's spec names a file, another library or a class of the user."""
    return bool(source_pattern(spec))


def load_algorithm(spec: str, **parameters: Any) -> Any:
    """Return an algorithm by name, such as `cfr_plus` or `dcfr(alpha=1.5, gamma=2)`.

    Loading a user's class runs the code of its file and remembers that its content is allowed, as
    `load_game` does.

    Args:
        spec: the name of an algorithm, with parameters; or a user's class as
            `path/to/file.py:Class` or `package.module:Class`.
        parameters: parameters of the algorithm, besides those in the spec.

    Raises:
        ConfigError: the name or a parameter is unknown, or a parameter has the wrong type.

    Example:
        >>> import counterplay as cp
        >>> cp.load_algorithm("dcfr(alpha=1.5)", gamma=3.0)
        DCFR(alpha=1.5, beta=0.0, gamma=3.0, restart_base=0)
    """
    if not is_user_class(spec):
        return _load_registered("algorithm", ALGORITHMS, spec, parameters)
    from counterplay.core.trust import references, remember

    named = references(spec)  # before its code runs, which could change the file
    algorithm = load_algorithm_unchecked(spec, **parameters)
    remember(named)
    return algorithm


def load_registered_algorithm(spec: str, **parameters: Any) -> Any:
    """Return an algorithm of the registry, for specs that may come from a file: runs no other code.

    Algorithms use it for the algorithms that their parameters name.
    """
    return _load_registered("algorithm", ALGORITHMS, spec, parameters)


def load_algorithm_unchecked(spec: str, **parameters: Any) -> Any:
    """Load an algorithm without checking or remembering consent, for callers that checked it."""
    if not is_user_class(spec):
        return _load_registered("algorithm", ALGORITHMS, spec, parameters)
    return import_registered({"": USER_ALGORITHM_LOADER}, "")(spec, **parameters)


def is_user_class(spec: str) -> bool:
    """Return True for `file.py:Class` and `package.module:Class`, with parameters or without."""
    return re.fullmatch(USER_CLASS, spec.strip(), re.DOTALL) is not None


def register_entry_points() -> None:
    """Add the games and algorithms that installed packages declare as entry points.

    A package declares them in the groups `counterplay.games` and `counterplay.algorithms`, each as
    `name = "package.module:Class"`. Names of this package cannot be replaced.
    """
    from importlib.metadata import entry_points

    for group, registry in ENTRY_POINT_GROUPS.items():
        for entry in entry_points(group=group):
            registry.setdefault(entry.name, entry.value)


def load_abstraction(spec: str, **parameters: Any) -> Any:
    """Return an abstraction by name, such as `by_rank` or `by_rank(groups=("JQ", "K"))`."""
    return _load_registered("abstraction", ABSTRACTIONS, spec, parameters)


def load_learner(spec: str, **parameters: Any) -> Any:
    """Return a learner by name, such as `regret_matching` or `hedge(eta=0.1)`."""
    return _load_registered("learner", LEARNERS, spec, parameters)


def load_searcher(spec: str, **parameters: Any) -> Any:
    """Return a searcher by name, such as `alpha_beta(max_depth=8)` or `mcts(max_seconds=2)`."""
    return _load_registered("searcher", SEARCHERS, spec, parameters)


def load_search_agent(spec: str, **parameters: Any) -> Any:
    """Return the parameters of an agent for hidden information, such as `is_mcts(simulations=100)`.

    Its `needs` is "tree", "rules" or "value network": `make_agent(tree, blueprint)`,
    `make_agent(game)` or `make_agent(tree, network, depth, end_size)` returns the agent.
    """
    return _load_registered("search agent", SEARCH_AGENTS, spec, parameters)


def import_registered(registry: dict[str, str], name: str) -> Any:
    """Import the class or function that a registry has under a name."""
    module, attribute = registry[name].split(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        advice = missing_package_advice(name, error)
        if not advice:
            raise
        raise ConfigError(advice) from error


def missing_package_advice(name: str, error: ModuleNotFoundError) -> str:
    """Return the advice to install the extra that `name` needs; "" if no extra has the package."""
    extra = EXTRA_BY_PACKAGE.get(str(error.name).split(".")[0])
    install = f"pip install 'counterplay[{extra}]'"
    return f"{name} needs the package {error.name}: {install}" if extra else ""


def get_spec(instance: Any) -> str:
    """Return the string that loads an equal object; parameters at their defaults are left out.

    A game from outside the registry has its source in the attribute `spec`.
    """
    if isinstance(getattr(instance, "spec", None), str):
        return instance.spec
    name = _find_registry_name(type(instance))
    if not is_dataclass(instance):
        return name
    values = [(f.name, getattr(instance, f.name), f.default) for f in fields(instance)]
    text = ",".join(
        f"{key}={_format_value(value)}" for key, value, default in values if value != default
    )
    return f"{name}({text})" if text else name


def get_registry_name(instance: Any) -> str:
    """Return the name of an object's class without parameters, for messages."""
    return _find_registry_name(type(instance))


def _format_value(value: Any) -> str:
    """Return a literal as Python source, or the type of any other object."""
    return repr(value) if is_literal(value) else f"<{type(value).__name__}>"


def _find_registry_name(cls: type) -> str:
    """Return the name that loads a class; its bare name if it cannot be loaded."""
    path = f"{cls.__module__}:{cls.__qualname__}"
    for registry in REGISTRIES.values():
        for name, class_path in registry.items():
            if class_path == path:
                return name
    if cls in USER_CLASSES:
        return USER_CLASSES[cls]
    if cls.__module__ == "__main__" and "." not in cls.__qualname__:
        file = getattr(sys.modules["__main__"], "__file__", None)
        return f"{file}:{cls.__name__}" if file else cls.__name__
    return cls.__name__ if "." in cls.__qualname__ else path


def _load_registered(
    kind: str, registry: dict[str, str], spec: str, parameters: dict[str, Any]
) -> Any:
    """Return an instance of the class that a spec names; keyword parameters take precedence."""
    name, spec_parameters = parse_spec(kind, spec)
    name = resolve_name(registry, name)
    if name not in registry:
        register_entry_points()
    if name not in registry:
        if name.endswith(".py"):
            message = f"{name} is a Python file; name one of its {kind}s: {name}:Class"
            raise ConfigError(message)
        advice = f"known: {', '.join(registry)}"
        if kind in KINDS_WITH_COMMAND:
            advice = f"counterplay {kind}s lists all"
        raise ConfigError(f"unknown {kind} {name!r}{suggestion(name, registry)} ({advice})")
    return make_instance(name, import_registered(registry, name), spec_parameters | parameters)


def resolve_name(registry: dict[str, str], name: str) -> str:
    """Return the registered name for `CFR`, `cfr-plus` or `CFRPlus`; other names unchanged."""
    if name in registry:
        return name
    for registered_name, class_path in registry.items():
        if class_path.split(":")[1] == name:
            return registered_name
    plain = name.replace("-", "_").lower()
    return plain if plain in registry else name


def make_instance(name: str, cls: Any, values: dict[str, Any]) -> Any:
    """Return an instance of a dataclass, after its parameters are checked by name and type.

    Args:
        name: name of the class in errors.
        cls: the class.
        values: parameters by name.

    Raises:
        ConfigError: a parameter is unknown, missing, or of the wrong type.
    """
    known = {field.name: field for field in fields(cls)} if is_dataclass(cls) else {}
    for key, value in values.items():
        if key not in known:
            names = ", ".join(known) or "none"
            advice = suggest_parameter(key, known)
            raise ConfigError(f"{name} has no parameter {key!r}{advice} (it takes {names})")
        check_type(f"{name}: {key}", value, known[key].default)
    for key, field in known.items():
        if key not in values and field.default is MISSING and field.default_factory is MISSING:
            raise ConfigError(f"{name} needs the parameter {key!r}")
    return cls(**values)


def parse_python(text: str, mode: str = "exec") -> Any:
    """Parse Python source, also while other threads parse.

    CPython 3.11 counts the depth of a syntax tree once for all threads, and may raise a SystemError
    ("AST constructor recursion depth mismatch") if two parse at the same time. A later attempt
    succeeds.
    """
    for _ in range(PARSE_ATTEMPTS - 1):
        try:
            return ast.parse(text, mode=mode)
        except SystemError:
            time.sleep(0.001)
    return ast.parse(text, mode=mode)


def parse_spec(kind: str, spec: str) -> tuple[str, dict[str, Any]]:
    """Return the name and the parameters of a spec such as `dcfr(alpha=1.5, gamma=2)`.

    Args:
        kind: "game", "algorithm", ..., for errors.
        spec: the text.

    Raises:
        ConfigError: the text is not a name with parameters.
    """
    match = re.fullmatch(r"([\w:.-]+)\s*(?:\((.*)\))?", spec.strip(), re.DOTALL)
    if not match:
        raise ConfigError(f"cannot read {kind} {spec!r}; write name or name(parameter=value, ...)")
    name, inside = match.groups()
    try:
        call = parse_python(f"f({inside or ''})", "eval").body
        assert isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.args
        parameters = {str(word.arg): _literal(word.value) for word in call.keywords}
        assert len(parameters) == len(call.keywords) and not any(map(_is_huge, ast.walk(call)))
        return name, parameters
    # RecursionError and MemoryError: nested too deeply
    except (SyntaxError, ValueError, TypeError, AssertionError, RecursionError, MemoryError):
        message = (
            f"cannot read the parameters of {spec!r}; write {name}(parameter=value, ...), "
            "with quotes around paths"
        )
        raise ConfigError(message) from None


def _literal(node: ast.expr) -> Any:
    """Return the value of a Python literal; bare words are strings, except true, false and inf."""
    if isinstance(node, ast.Name):
        return {"true": True, "false": False, "inf": float("inf")}.get(node.id.lower(), node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_literal(node.operand)
    return ast.literal_eval(node)


def _is_huge(node: ast.AST) -> bool:
    """Return True for an integer of more than 63 bits, which arrays cannot hold."""
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, int) and value.bit_length() > 63
