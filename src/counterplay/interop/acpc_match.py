"""Both sides of an ACPC match over TCP: the dealer and a client that plays an agent.

The dealer listens on one port per player and deals hands in which the players change seats. All
lines end in CRLF. A line that is too long, malformed or illegal, a closed connection and a timeout
end the match with an error; the log then has all finished hands and the score.
"""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TextIO

from counterplay.core.game import CHANCE, TERMINAL
from counterplay.errors import ConfigError, RunError
from counterplay.games.holdem_base import HoldemBase, HoldemState
from counterplay.interop.acpc_format import (
    MAX_LINE_LENGTH,
    format_action,
    format_log_line,
    format_match_state,
    format_values,
    parse_action,
    parse_match_state,
)
from counterplay.play.episodes import Agent, RandomStreams

VERSION_LINE = "VERSION:2.0.0"
MAX_STALE_ANSWERS = 1000  # answers to earlier states that the dealer skips in a row


class LineSocket:
    """Lines of text over a socket, with a limit on their length and on the time to read one.

    Args:
        connection: a connected socket, closed by `close`.
        name: name of the other side in errors.
    """

    def __init__(self, connection: socket.socket, name: str):
        self.connection, self.name, self._buffer = connection, name, b""
        if connection.family in (socket.AF_INET, socket.AF_INET6):
            # else a short line waits for the acknowledgement of the line before, up to 40 ms
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def read_line(self, seconds: float, deadline: float | None = None) -> str:
        """Return the next line that is not a comment, without its end.

        Args:
            seconds: longest time to wait.
            deadline: time of `time.monotonic` when these seconds end; by default they start now.

        Raises:
            RunError: the other side closed the connection, is too slow or sends too long a line.
        """
        deadline = time.monotonic() + seconds if deadline is None else deadline
        while True:
            line, newline, rest = self._buffer.partition(b"\n")
            if len(line) > MAX_LINE_LENGTH:
                raise RunError(f"{self.name} sent a line of more than {MAX_LINE_LENGTH} bytes")
            if newline:
                self._buffer = rest
                text = line.decode("ascii", "replace").rstrip("\r")
                if text and not text.startswith(("#", ";")):
                    return text
                continue
            self._receive(deadline, seconds)

    def _receive(self, deadline: float, seconds: float) -> None:
        remaining = deadline - time.monotonic()
        try:
            if remaining <= 0.0:
                raise TimeoutError
            self.connection.settimeout(remaining)
            received = self.connection.recv(MAX_LINE_LENGTH)
        except TimeoutError:
            raise RunError(f"{self.name} sent no line within {seconds:g} seconds") from None
        except OSError as error:
            raise RunError(f"the connection to {self.name} broke: {error}") from error
        if not received:
            raise RunError(f"{self.name} closed the connection")
        self._buffer += received

    def write_line(self, text: str, seconds: float) -> None:
        """Send a line.

        Raises:
            RunError: the other side is gone or does not read.
        """
        try:
            self.connection.settimeout(seconds)
            self.connection.sendall(f"{text}\r\n".encode("ascii"))
        except OSError as error:
            raise RunError(f"the connection to {self.name} broke: {error}") from error

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


def check_names(names: Sequence[str], num_players: int) -> None:
    """Raise ConfigError unless there is one valid name per player."""
    if len(names) != num_players:
        raise ConfigError(f"{len(names)} names for {num_players} players; give one for each")
    for name in names:
        if not re.fullmatch(r"[\w.-]{1,64}", name):
            raise ConfigError(f"{name!r} is no name; use letters, digits, dots and dashes")


@dataclass
class Dealer:
    """The dealer of a match.

    Args:
        game: the rules.
        names: names of the players, in the order of their ports.
        log: file that receives a line per hand and the score; None for no log.
        seed: seed of the cards.
        seconds: time for an answer.
        start_seconds: time until all players are connected.
    """

    game: HoldemBase
    names: Sequence[str]
    log: TextIO | None = None
    seed: int = 0
    seconds: float = 600.0
    start_seconds: float = 600.0
    totals: list[float] = field(init=False)  # chips won, by player
    num_hands: int = field(init=False, default=0)  # finished

    def __post_init__(self) -> None:
        check_names(self.names, self.game.num_players)
        self.totals = [0.0] * self.game.num_players

    def listen(self, host: str = "127.0.0.1", port: int = 0) -> list[socket.socket]:
        """Return a listening socket per player: ports `port`, `port + 1`, ...; 0 takes free ones.

        Raises:
            RunError: a port is not free.
        """
        listeners: list[socket.socket] = []
        for player in range(self.game.num_players):
            address = host, port + player if port else 0
            try:
                listeners.append(socket.create_server(address, backlog=1))
            except (OSError, OverflowError) as error:
                for listener in listeners:
                    listener.close()
                raise RunError(f"cannot listen on {host}:{address[1]}: {error}") from error
        return listeners

    def run(self, listeners: Sequence[socket.socket], num_hands: int) -> list[float]:
        """Accept the players, play the hands and return the chips won by each player.

        Raises:
            RunError: a player is missing, slow, gone, or sends a line that is not legal.
        """
        players: list[LineSocket] = []
        try:
            deadline = time.monotonic() + self.start_seconds
            for listener, name in zip(listeners, self.names, strict=True):
                players.append(self._accept(listener, name, deadline))
            for hand in range(num_hands):
                self._play_hand(players, hand)
        except RunError as error:
            raise RunError(f"match ended after {self.num_hands} hands: {error}") from error
        finally:
            for player in players:
                player.close()
            for listener in listeners:
                listener.close()
            self._write(f"SCORE:{format_values(self.totals)}:{'|'.join(self.names)}")
        return self.totals

    def _accept(self, listener: socket.socket, name: str, deadline: float) -> LineSocket:
        remaining = max(deadline - time.monotonic(), 0.001)
        listener.settimeout(remaining)
        try:
            connection = listener.accept()[0]
        except OSError:
            message = f"{name} did not connect within {self.start_seconds:g} seconds"
            raise RunError(message) from None
        player = LineSocket(connection, name)
        try:
            version = player.read_line(self.start_seconds, deadline)
            if not re.fullmatch(r"VERSION:2\.\d{1,4}\.\d{1,4}", version):
                raise RunError(f"{name} sent {version[:40]!r}, must send {VERSION_LINE}")
        except RunError:
            player.close()
            raise
        return player

    def _play_hand(self, players: Sequence[LineSocket], hand: int) -> None:
        game, count = self.game, self.game.num_players
        player_by_seat = [(seat - hand) % count for seat in range(count)]
        draw, state = RandomStreams(self.seed, hand), game.initial_state()
        while True:
            while state.to_act == CHANCE:
                outcomes = game.chance_outcomes(state)
                card = outcomes[int(draw(CHANCE) * len(outcomes))][0]
                state = game.next_state(state, card)
            for seat, player in enumerate(player_by_seat):
                line = format_match_state(game, state, seat, hand)
                players[player].write_line(line, self.seconds)
            if state.to_act == TERMINAL:
                break
            action = self._read_action(players[player_by_seat[state.to_act]], state, hand)
            state = game.next_state(state, action)
        for seat, utility in enumerate(game.utilities(state)):
            self.totals[player_by_seat[seat]] += utility
        names = [self.names[player] for player in player_by_seat]
        self._write(format_log_line(game, state, hand, names))
        self.num_hands += 1

    def _read_action(self, player: LineSocket, state: HoldemState, hand: int) -> int:
        """Return the answer of a player to its state; answers to other states are skipped."""
        expected = format_match_state(self.game, state, state.to_act, hand)
        deadline = time.monotonic() + self.seconds
        for _ in range(MAX_STALE_ANSWERS):
            line = player.read_line(self.seconds, deadline)
            text, _, action = line.rpartition(":")
            if text == expected:
                try:
                    return parse_action(self.game, state, action)
                except ConfigError as error:
                    raise RunError(f"{player.name}: {error}") from error
            if not line.startswith("MATCHSTATE:"):
                raise RunError(f"{player.name} sent {line[:60]!r}, which is no answer")
        raise RunError(f"{player.name} answered {MAX_STALE_ANSWERS} times to other states")

    def _write(self, line: str) -> None:
        if self.log is not None:
            self.log.write(f"{line}\n")
            self.log.flush()


def join_match(
    game: HoldemBase,
    agent: Agent,
    host: str,
    port: int,
    seed: int = 0,
    seconds: float = 600.0,
    report: Callable[[int], None] = lambda num_hands: None,
) -> int:
    """Play an agent at a dealer until it closes the connection, and return the number of hands.

    Args:
        game: the rules that the dealer plays by.
        agent: the agent.
        host: name of the dealer's machine.
        port: port of this player.
        seed: seed of the agent's actions.
        seconds: longest time between two lines of the dealer.
        report: called with the number of finished hands after each of them.

    Raises:
        RunError: there is no dealer, or it sends a line that is no state of the game.
    """
    name = f"the dealer at {host}:{port}"
    try:
        connection = socket.create_connection((host, port), timeout=seconds)
    except (OSError, OverflowError) as error:
        raise RunError(f"cannot connect to {name}: {error}") from error
    dealer, num_hands = LineSocket(connection, name), 0
    draw, drawn_hand = RandomStreams(seed, 0), 0
    try:
        dealer.write_line(VERSION_LINE, seconds)
        while True:
            try:
                line = dealer.read_line(seconds)
            except RunError:
                if num_hands:  # the dealer closes the connection at the end of the match
                    return num_hands
                raise
            try:
                match = parse_match_state(game, line)
            except ConfigError as error:
                raise RunError(f"{name}: {error}") from error
            if match.hand != drawn_hand:
                draw, drawn_hand = RandomStreams(seed, match.hand), match.hand
            if match.state.to_act == TERMINAL:
                num_hands += 1
                report(num_hands)
            elif match.state.to_act == match.seat:
                action = _draw_action(game, agent, match.state, draw)
                dealer.write_line(f"{match.text}:{format_action(game, action)}", seconds)
    finally:
        dealer.close()


def _draw_action(game: HoldemBase, agent: Agent, state: HoldemState, draw: RandomStreams) -> int:
    """Draw an action from the agent's probabilities."""
    actions = game.actions(state)
    probabilities = agent.action_probabilities(state, state.to_act)
    quantile, total = draw(state.to_act), 0.0
    for action, probability in zip(actions, probabilities, strict=True):
        total += probability
        if quantile < total:
            return action
    return max(zip(probabilities, actions, strict=True))[1]  # rounding
