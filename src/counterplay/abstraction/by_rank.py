"""Buckets of infosets by the ranks of cards."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

from counterplay.abstraction.abstracted_game import AbstractedGame
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.game import State
from counterplay.core.settings import settings
from counterplay.errors import ConfigError

RANK_PATTERN = "[0-9TJQKA]"
CARD_PATTERN = re.compile(rf"(^|\|)({RANK_PATTERN})[shdc]?")  # at the start, or after a bar


@settings()
class ByRank:
    """Merge infosets whose cards have equal ranks, or ranks of the same group.

    A card stands at the start of an infoset key or after a bar, as in the poker games. It is a
    rank, one of 0-9 T J Q K A, with or without a suit s, h, d, c. The label of an infoset is its
    key without suits. With `groups`, the whole group replaces a rank, as in `(JQ):cc|(K):`; a rank
    in no group stays. Labels contain the earlier labels: recall stays perfect.

    Example:
        >>> ByRank().label("Qs:cc|Kh:"), ByRank(("JQ", "K")).label("Qs:cc|Jh:")
        ('Q:cc|K:', '(JQ):cc|(JQ):')
    """

    groups: tuple[str, ...] = ()  # such as ("JQ", "K")
    distinguish_pairs: bool = True  # mark infosets that show two cards of one rank with a `*`

    runs_on: ClassVar[tuple[str, ...]] = ("tree", "rules")

    def __post_init__(self) -> None:
        ranks = "".join(self.groups)
        for rank in ranks:
            if not re.fullmatch(RANK_PATTERN, rank):
                raise ConfigError(f"by_rank: {rank!r} is not a rank; these are 0-9 T J Q K A")
            if ranks.count(rank) > 1:
                raise ConfigError(f"by_rank: rank {rank!r} is in two groups")

    def labels(self, tree: TreeArena) -> Sequence[Hashable]:
        """Return one label per infoset."""
        if not any(CARD_PATTERN.search(key) for key in tree.infoset_keys):
            raise ConfigError(f"by_rank: no infoset of {tree.spec} shows a card")
        return [self.label(key) for key in tree.infoset_keys]

    def bucket_game(self, game: Any) -> Any:
        """Return the rules of a game with merged infosets, for algorithms that sample rules."""
        return RankedGame(game, self)

    def label(self, key: str) -> str:
        """Return the label of an infoset key."""
        group = {rank: f"({name})" for name in self.groups for rank in name}
        ranks = [rank for _, rank in CARD_PATTERN.findall(key)]
        pair = self.distinguish_pairs and len(set(ranks)) < len(ranks)
        text = CARD_PATTERN.sub(lambda card: card[1] + group.get(card[2], card[2]), key)
        return text + "*" * pair


class RankedGame(AbstractedGame):
    """A game whose infosets are merged by the ranks of their cards."""

    abstraction: ByRank

    def infoset_key(self, state: State, player: int) -> str:
        """Return the label of the full game's key."""
        return self.abstraction.label(self.full_game.infoset_key(state, player))
