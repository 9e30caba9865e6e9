"""Games, algorithms and abstractions by name: plain dicts from the name to the class's place."""

from __future__ import annotations

import ast
import importlib
import re
import sys
import time
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from counterplay.errors import ConfigError, suggestion
from counterplay.game import Game
from counterplay.settings import check_type as check_type
from counterplay.settings import is_literal

GAMES = {
    "battle_of_the_sexes": "counterplay.games.battle_of_the_sexes:BattleOfTheSexes",
    "chicken": "counterplay.games.chicken:Chicken",
    "connect_four": "counterplay.games.connect_four:ConnectFour",
    "dark_hex": "counterplay.games.dark_hex:DarkHex",
    "flop_holdem": "counterplay.games.flop_holdem:FlopHoldem",
    "goofspiel": "counterplay.games.goofspiel:Goofspiel",
    "grid_duel": "counterplay.games.grid_duel:GridDuel",
    "king_ace_poker": "counterplay.games.king_ace_poker:KingAcePoker",
    "kriegspiel": "counterplay.games.kriegspiel:Kriegspiel",
    "kuhn_poker": "counterplay.games.kuhn_poker:KuhnPoker",
    "leduc_poker": "counterplay.games.leduc_poker:LeducPoker",
    "liars_dice": "counterplay.games.liars_dice:LiarsDice",
    "limit_holdem": "counterplay.games.limit_holdem:LimitHoldem",
    "matching_pennies": "counterplay.games.matching_pennies:MatchingPennies",
    "matching_pennies_3p": "counterplay.games.matching_pennies_3p:MatchingPennies3P",
    "matrix_game": "counterplay.games.matrix_game:MatrixGame",
    "no_limit_holdem": "counterplay.games.no_limit_holdem:NoLimitHoldem",
    "phantom_tic_tac_toe": "counterplay.games.phantom_tic_tac_toe:PhantomTicTacToe",
    "prisoners_dilemma": "counterplay.games.prisoners_dilemma:PrisonersDilemma",
    "rock_paper_scissors": "counterplay.games.rock_paper_scissors:RockPaperScissors",
    "shapleys_game": "counterplay.games.shapleys_game:ShapleysGame",
    "tic_tac_toe": "counterplay.games.tic_tac_toe:TicTacToe",
}

ALGORITHMS = {
    "ach": "counterplay.deep.ach:ACH",
    "alpha_psro": "counterplay.population.alpha_psro:AlphaPSRO",
    "anytime_psro": "counterplay.population.anytime_psro:AnytimePSRO",
    "average_strategy_sampling": (
        "counterplay.tabular.average_strategy_sampling:AverageStrategySampling"
    ),
    "batch_fsp": "counterplay.tabular.batch_fsp:BatchFSP",
    "cfr": "counterplay.tabular.cfr:CFR",
    "cfr_br": "counterplay.tabular.cfr_br:CFRBR",
    "cfr_hedge": "counterplay.tabular.cfr_hedge:CFRHedge",
    "cfr_plus": "counterplay.tabular.cfr_plus:CFRPlus",
    "chance_sampling": "counterplay.tabular.chance_sampling:ChanceSampling",
    "dcfr": "counterplay.tabular.dcfr:DCFR",
    "deep_cfr": "counterplay.deep.deep_cfr:DeepCFR",
    "deep_hedge": "counterplay.deep.deep_hedge:DeepHedge",
    "deep_mmd": "counterplay.deep.deep_mmd:DeepMMD",
    "double_oracle": "counterplay.population.double_oracle:DoubleOracle",
    "dream": "counterplay.deep.dream:DREAM",
    "escher": "counterplay.deep.escher:ESCHER",
    "external_sampling": "counterplay.tabular.external_sampling:ExternalSampling",
    "fsp": "counterplay.tabular.fsp:FSP",
    "jpsro": "counterplay.population.jpsro:JPSRO",
    "league": "counterplay.deep.league:League",
    "linear_cfr": "counterplay.tabular.linear_cfr:LinearCFR",
    "mmd": "counterplay.tabular.mmd:MMD",
    "neurd": "counterplay.deep.neurd:NeuRD",
    "nfsp": "counterplay.deep.nfsp:NFSP",
    "nxdo": "counterplay.population.nxdo:NXDO",
    "nfsp_ppo": "counterplay.deep.nfsp_ppo:NFSPPPO",
    "nfsp_sac": "counterplay.deep.nfsp_sac:NFSPSAC",
    "online_outcome_sampling": "counterplay.tabular.online_outcome_sampling:OnlineOutcomeSampling",
    "outcome_sampling": "counterplay.tabular.outcome_sampling:OutcomeSampling",
    "p2sro": "counterplay.population.p2sro:P2SRO",
    "pcfr_plus": "counterplay.tabular.pcfr_plus:PCFRPlus",
    "pdcfr_plus": "counterplay.tabular.pdcfr_plus:PDCFRPlus",
    "ppo": "counterplay.deep.ppo:PPO",
    "probing": "counterplay.tabular.probing:Probing",
    "psro": "counterplay.population.psro:PSRO",
    "qpg": "counterplay.deep.qpg:QPG",
    "qre": "counterplay.tabular.qre:QRE",
    "r_nad": "counterplay.deep.r_nad:RNaD",
    "rectified_psro": "counterplay.population.rectified_psro:RectifiedPSRO",
    "rmpg": "counterplay.deep.rmpg:RMPG",
    "rpg": "counterplay.deep.rpg:RPG",
    "sd_cfr": "counterplay.deep.sd_cfr:SDCFR",
    "sequence_form_lp": "counterplay.tabular.sequence_form_lp:SequenceFormLP",
    "sp_psro": "counterplay.population.sp_psro:SPPSRO",
    "table_lookup_fsp": "counterplay.tabular.table_lookup_fsp:TableLookupFSP",
    "tabular_r_nad": "counterplay.tabular.tabular_r_nad:TabularRNaD",
    "vr_deep_dcfr_plus": "counterplay.deep.vr_deep_dcfr_plus:VRDeepDCFRPlus",
    "vr_deep_pdcfr_plus": "counterplay.deep.vr_deep_pdcfr_plus:VRDeepPDCFRPlus",
    "vr_mccfr": "counterplay.tabular.vr_mccfr:VRMCCFR",
    "vr_mccfr_plus": "counterplay.tabular.vr_mccfr_plus:VRMCCFRPlus",
    "xdo": "counterplay.population.xdo:XDO",
    "xfp": "counterplay.tabular.xfp:XFP",
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

GENERATED = {  # arenas of games that no tree holds, by the game's name
    "dark_hex": "counterplay.generated.phantom:PHANTOM",
    "flop_holdem": "counterplay.public.flop_tree:FLOP",
    "liars_dice": "counterplay.generated.dice:DICE",
    "phantom_tic_tac_toe": "counterplay.generated.phantom:PHANTOM",
}

MACHINES = {  # compiled rules, by the game's name
    "dark_hex": "counterplay.tree.known_machines:phantom_board",
    "goofspiel": "counterplay.tree.known_machines:goofspiel",
    "kuhn_poker": "counterplay.tree.known_machines:kuhn_poker",
    "leduc_poker": "counterplay.tree.known_machines:leduc_poker",
    "liars_dice": "counterplay.tree.known_machines:liars_dice",
    "phantom_tic_tac_toe": "counterplay.tree.known_machines:phantom_board",
}

REGISTRIES = {
    "game": GAMES,
    "algorithm": ALGORITHMS,
    "abstraction": ABSTRACTIONS,
    "learner": LEARNERS,
    "searcher": SEARCHERS,
}
LISTED = ("game", "algorithm")  # by a command of their own

SOURCES = {  # games from elsewhere, by what the whole spec looks like
    r"openspiel:.*": "counterplay.interop.openspiel:load",
    r".*\.(efg|nfg|json|csv)": "counterplay.interop.files:load",
    r"[^()]+:[A-Za-z_]\w*\s*(\(.*\))?": "counterplay.interop.own_game:load",
    r".*\.py": "counterplay.interop.own_game:load",
}
EXTRAS = {  # package -> what installs it
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
OWN_GAMES: dict[type, str] = {}  # classes loaded from files, and where they were found


def load_game(spec: str, **parameters: Any) -> Game:
    """The game of that name, such as `leduc_poker` or `kuhn_poker(players=3)`.

    Also games from elsewhere: `openspiel:leduc_poker`; an `.efg`, `.nfg`, `.json` or `.csv` file; a
    class of one's own as `path/to/file.py:Class` or `package.module:Class`, with parameters as
    above. The last runs the code of that file, and remembers that this content of it is allowed:
    policies and runs made from it can then be opened. Specs that come from a file of another
    person do not belong here; `load_policies`, `load_run` and others check them (see `trust`).

    >>> import counterplay as cp
    >>> cp.load_game("kuhn_poker", players=3)
    KuhnPoker(players=3, num_cards=0)
    """
    if not is_from_elsewhere(spec):
        return load_game_unchecked(spec, **parameters)
    from counterplay.consent import references, remember

    named = references(spec)  # before its code runs, which could change the file
    game = load_game_unchecked(spec, **parameters)
    remember(named)
    return game


def load_game_unchecked(spec: str, **parameters: Any) -> Game:
    """Load a game without asking for consent, or remembering it: for callers that have done so."""
    spec = spec.strip()
    pattern = source_pattern(spec)
    if pattern:
        return find_class(SOURCES, pattern)(spec, **parameters)
    return _load("game", GAMES, spec, parameters)


def source_pattern(spec: str) -> str:
    """The first key of `SOURCES` that a game's spec matches; empty for a registered game."""
    matches = (pattern for pattern in SOURCES if re.fullmatch(pattern, spec.strip(), re.DOTALL))
    return next(matches, "")


def is_from_elsewhere(spec: str) -> bool:
    """Return True if a game's spec names a file, another library or a class of the user."""
    return bool(source_pattern(spec))


def load_algorithm(spec: str, **parameters: Any) -> Any:
    """The algorithm of that name, such as `cfr_plus` or `dcfr(alpha=1.5, gamma=2)`."""
    return _load("algorithm", ALGORITHMS, spec, parameters)


def load_abstraction(spec: str, **parameters: Any) -> Any:
    """The rule of that name, such as `by_rank` or `by_rank(groups=("JQ", "K"))`."""
    return _load("abstraction", ABSTRACTIONS, spec, parameters)


def load_learner(spec: str, **parameters: Any) -> Any:
    """The learner of that name, such as `regret_matching` or `hedge(eta=0.1)`."""
    return _load("learner", LEARNERS, spec, parameters)


def load_searcher(spec: str, **parameters: Any) -> Any:
    """The searcher of that name, such as `alpha_beta(depth=8)` or `mcts(seconds=2)`."""
    return _load("searcher", SEARCHERS, spec, parameters)


def find_class(registry: dict[str, str], name: str) -> Any:
    """Import the class, or the loader, that stands under `name`."""
    module, attribute = registry[name].split(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        advice = missing_package(name, error)
        if not advice:
            raise
        raise ConfigError(advice) from error


def missing_package(name: str, error: ModuleNotFoundError) -> str:
    """What to install so that `name` can be used; nothing if no extra brings what is missing."""
    extra = EXTRAS.get(str(error.name).split(".")[0])
    install = f"pip install 'counterplay[{extra}]'"
    return f"{name} needs the package {error.name}: {install}" if extra else ""


def spec_of(thing: Any) -> str:
    """The string that loads an equal one again; fields at their defaults left out.

    A game that was read from elsewhere says itself where from, in `spec`.
    """
    if isinstance(getattr(thing, "spec", None), str):
        return thing.spec
    name = _name_of(type(thing))
    if not is_dataclass(thing):
        return name
    values = [(f.name, getattr(thing, f.name), f.default) for f in fields(thing)]
    text = ",".join(f"{key}={_word(value)}" for key, value, default in values if value != default)
    return f"{name}({text})" if text else name


def spec_name(thing: Any) -> str:
    """The name without its parameters, for messages."""
    return _name_of(type(thing))


def _word(value: Any) -> str:
    """A literal as it is; of anything else only what kind of thing it is."""
    return repr(value) if is_literal(value) else f"<{type(value).__name__}>"


def _name_of(kind: type) -> str:
    """The name that finds a class again; its bare name where nothing would."""
    place = f"{kind.__module__}:{kind.__qualname__}"
    for known in REGISTRIES.values():
        for name, where in known.items():
            if where == place:
                return name
    if kind in OWN_GAMES:
        return OWN_GAMES[kind]
    if kind.__module__ == "__main__" and "." not in kind.__qualname__:
        file = getattr(sys.modules["__main__"], "__file__", None)
        return f"{file}:{kind.__name__}" if file else kind.__name__
    return kind.__name__ if "." in kind.__qualname__ else place


def _load(kind: str, registry: dict[str, str], spec: str, parameters: dict[str, Any]) -> Any:
    name, given = parse(kind, spec)
    name = known_name(registry, name)
    if name not in registry:
        names = ", ".join(registry)
        listed = f"counterplay {kind}s lists all" if kind in LISTED else f"known: {names}"
        raise ConfigError(f"unknown {kind} {name!r}{suggestion(name, registry)} ({listed})")
    return make(name, find_class(registry, name), given | parameters)


def known_name(registry: dict[str, str], name: str) -> str:
    """The registered name that is meant by `CFR`, `cfr-plus` or `CFRPlus`; else the name itself."""
    if name in registry:
        return name
    plain = name.replace("-", "_").lower()
    of_class = [known for known, where in registry.items() if where.split(":")[1] == name]
    return of_class[0] if of_class else plain if plain in registry else name


def make(name: str, cls: Any, given: dict[str, Any]) -> Any:
    """An instance of a dataclass, its parameters checked by name and type."""
    known = {field.name: field for field in fields(cls)} if is_dataclass(cls) else {}
    for key, value in given.items():
        if key not in known:
            has = f"it takes {', '.join(known)}" if known else "it takes none"
            raise ConfigError(f"{name} has no parameter {key!r}{suggestion(key, known)} ({has})")
        check_type(f"{name}: {key}", value, known[key].default)
    for key, field in known.items():
        if key not in given and field.default is MISSING and field.default_factory is MISSING:
            raise ConfigError(f"{name} needs the parameter {key!r}")
    return cls(**given)


def parse_python(text: str, mode: str = "exec") -> Any:
    """Parse Python source; also safe while other threads parse.

    CPython 3.11 counts the depth of a syntax tree once for all threads, and may raise a SystemError
    ("AST constructor recursion depth mismatch") if two parse at the same time. A later attempt is
    undisturbed.
    """
    for _ in range(PARSE_ATTEMPTS - 1):
        try:
            return ast.parse(text, mode=mode)
        except SystemError:
            time.sleep(0.001)
    return ast.parse(text, mode=mode)


def parse(kind: str, spec: str) -> tuple[str, dict[str, Any]]:
    match = re.fullmatch(r"([\w:.-]+)\s*(?:\((.*)\))?", spec.strip(), re.DOTALL)
    if not match:
        raise ConfigError(f"cannot read {kind} {spec!r}; write name or name(parameter=value, ...)")
    name, inside = match.groups()
    try:
        call = parse_python(f"f({inside or ''})", "eval").body
        assert isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.args
        given = {str(word.arg): _literal(word.value) for word in call.keywords}
        assert len(given) == len(call.keywords) and not any(map(_is_huge, ast.walk(call)))
        return name, given
    # the last two: nested too deeply
    except (SyntaxError, ValueError, TypeError, AssertionError, RecursionError, MemoryError):
        message = f"cannot read the parameters of {spec!r}; write {name}(parameter=value, ...)"
        raise ConfigError(message) from None


def _literal(node: ast.expr) -> Any:
    """A Python literal; bare words are strings, and true and false are what they seem."""
    if isinstance(node, ast.Name):
        return {"true": True, "false": False, "inf": float("inf")}.get(node.id.lower(), node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_literal(node.operand)
    return ast.literal_eval(node)


def _is_huge(node: ast.AST) -> bool:
    """Whether it is an integer that no array could hold, nor perhaps an error message."""
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, int) and value.bit_length() > 63
