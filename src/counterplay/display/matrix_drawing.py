"""Drawings of payoff tables as SVG."""

from __future__ import annotations

from html import escape

from counterplay.display.tree_drawing import PLAYER_COLOURS
from counterplay.errors import ConfigError
from counterplay.matrix.normal_form import NormalForm

MAX_DRAWN_ACTIONS = 30  # of a player
ROW_HEIGHT = 44  # pixels
LETTER_WIDTH = 8  # pixels
PADDING = 14  # pixels


def draw_matrix(form: NormalForm) -> str:
    """Return the payoff table of a two-player game as SVG.

    A cell has the utility of player 0 at the lower left and that of player 1 at the upper right, as
    textbooks draw them; of a zero-sum game only player 0's. Best responses are underlined.

    Raises:
        ConfigError: the game has another number of players, or too many actions.
    """
    if form.num_players != 2 or max(form.shape) > MAX_DRAWN_ACTIONS:
        shape = " x ".join(map(str, form.shape))
        raise ConfigError(
            f"a payoff table is drawn of two players with at most {MAX_DRAWN_ACTIONS} actions, not "
            f"of {shape}"
        )
    rows, columns = form.action_names
    numbers = [f"{value:.6g}" for value in form.utility.flat]
    width = LETTER_WIDTH * max(map(len, (*numbers, *columns))) * (1 if form.is_zero_sum else 2)
    width = max(width, ROW_HEIGHT) + 2 * PADDING
    left = LETTER_WIDTH * max(map(len, rows)) + 2 * PADDING
    best = [form.utility[p] >= form.utility[p].max(axis=p, keepdims=True) for p in range(2)]
    parts = [
        _text(left + (b + 0.5) * width, ROW_HEIGHT * 0.6, name, 1) for b, name in enumerate(columns)
    ]
    for a, name in enumerate(rows):
        top = (a + 1) * ROW_HEIGHT
        parts.append(_text(left / 2, top + ROW_HEIGHT * 0.6, name, 0))
        for b in range(len(columns)):
            x = left + b * width
            box = f"x='{x}' y='{top}' width='{width}' height='{ROW_HEIGHT}'"
            parts.append(f"<rect {box} fill='none' stroke='#888888'/>")
            places = [(0.5, 0.6)] if form.is_zero_sum else [(0.27, 0.82), (0.73, 0.42)]
            for player, (across, down) in enumerate(places):
                value = f"{form.utility[player, a, b]:.6g}"
                place = x + across * width, top + down * ROW_HEIGHT
                parts.append(_text(*place, value, player, underlined=bool(best[player][a, b])))
    size = left + len(columns) * width + PADDING, (len(rows) + 1) * ROW_HEIGHT + PADDING
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {size[0]} {size[1]}' "
        f"width='{size[0]}' height='{size[1]}' font-family='sans-serif' font-size='14'>"
        f"{''.join(parts)}</svg>\n"
    )


def _text(x: float, y: float, text: str, player: int, underlined: bool = False) -> str:
    style = " text-decoration='underline'" if underlined else ""
    colour = PLAYER_COLOURS[player]
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='middle' fill='{colour}'{style}>"
        f"{escape(text)}</text>"
    )
