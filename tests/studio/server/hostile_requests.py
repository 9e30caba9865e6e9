"""Hostile requests to every route of the studio, from a seed."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from counterplay.studio.server.app import make_app
from counterplay.studio.server.app_state import StudioState

METHODS = ["GET", "POST", "DELETE", "HEAD", "PUT", "PATCH", "OPTIONS", "TRACE", "get"]
QUERY = [
    "after",
    "epoch",
    "from",
    "to",
    "x",
    "scale",
    "points",
    "r",
    "fresh",
    "node",
    "start",
    "text",
    "form",
    "lock",
    "vs",
    "policy",
    "game",
    "infoset",
    "player",
    "hint",
    "at",
    "token",
]
KEYS = [
    "config",
    "seeds",
    "steps",
    "ticket",
    "name",
    "text",
    "game",
    "policy",
    "seat",
    "action",
    "move",
    "number",
    "utility",
    "names",
    "learner",
    "spot",
    "target",
    "estimate",
    "record",
    "cell",
]
NUMBERS = [0, -1, 1, 2**31, 2**53, 2**63, 10**30, -0.0, 1e308, 0.5, True, 7]
WORDS = ["", "x", "²", "--5", "-5", "1e999", "nan", "inf", "0x10", "null", "\x00", "\u202e", "💥"]
RAW_BODIES = [
    b"",
    b"{",
    b"null",
    b"[]",
    b"\xff\xfe",
    b'{"a":' * 960 + b"1" + b"}" * 960,
    b'{"config":' + b"[" * 900 + b"]" * 900 + b"}",
    b"[" * 100_000,
    b'{"name":"a.efg","text":"\\ud800"}',
    b'{"name":"\\udfff.efg","text":"x"}',
    b'{"game":"\\ud83d"}',
    b'{"\\ud800":1}',
    b'{"target":NaN,"spot":{}}',
    b'{"target":Infinity,"spot":{"pot":-Infinity}}',
    b'{"seat":' + b"9" * 5000 + b"}",
    b'{"seat":1e999,"policy":"uniform","game":"kuhn_poker"}',
    b'{"game":"kuhn_poker","game":"/etc/passwd"}',
]
KUHN = {"name": "a", "algorithm": "cfr", "game": "kuhn_poker", "spec": {"max_steps": 2}}
DICT_GAME = KUHN | {"game": {"name": "kuhn_poker", "params": {"players": 2}}}
SMALL_GAME = "connect_four(rows=2,columns=3)"
PUSH = [{"bet": "a", "raise": "a"}] * 2
SPOT = {"board": "2s3h4d6c7c", "ranges": ["AsAh", "KsKh"], "pot": 20, "stacks": [10, 10]}
SPOT["sizes"] = {"river": PUSH}
LOCK = {"locks": [{"record": "", "hands": "AA", "shares": {"check": 1}}]}
VIEW = {"game": "kuhn_poker", "policy": "uniform", "node": "0", "start": "0", "vs": "best:0"}
VIEW |= {"infoset": "0", "player": "0", "text": "0", "form": "csv", "lock": "0:0,1"}
METRICS = {"x": "step", "scale": "log", "points": "50", "from": "1", "to": "9", "after": "3"}
VALID = [  # requests that are answered; one value of each is made hostile
    *(("GET", f"/api/explore/{what}", VIEW) for what in ("view", "grid", "leaks", "drawing")),
    *(("GET", f"/api/explore/{what}", VIEW) for what in ("find", "infoset", "export", "overview")),
    ("GET", "/api/runs/kuhn/20260101T000000Z/metrics", METRICS),
    ("GET", "/api/compare", {"r": "kuhn/20260101T000000Z"}),
    ("GET", "/api/events", {"after": "x-1"}),
    ("POST", "/api/check", {"config": KUHN}),
    ("POST", "/api/check", {"config": DICT_GAME}),
    ("POST", "/api/estimate", {"game": "kuhn_poker"}),
    ("POST", "/api/estimate/run", {"config": KUHN}),
    ("POST", "/api/runs", {"config": DICT_GAME, "seeds": [0]}),
    ("POST", "/api/play", {"game": "kuhn_poker", "policy": "uniform", "seat": 0}),
    ("POST", "/api/play", {"game": SMALL_GAME, "policy": "search:minimax(max_depth=1)", "seat": 0}),
    ("POST", "/api/matrix", {"game": "chicken", "learner": "hedge"}),
    ("POST", "/api/matrix", {"utility": [[[1, -1]], [[-1, 1]]], "names": [["a"], ["b"]]}),
    ("POST", "/api/spot", {"spot": SPOT, "estimate": True}),
    ("POST", "/api/spot/node", {"spot": SPOT, "target": 5, "record": "", "variant": LOCK}),
    ("POST", "/api/spot/answer", {"spot": SPOT, "history": "", "hand": "AsAh", "action": "a"}),
    ("POST", "/api/range", {"text": "AA"}),
    ("POST", "/api/library/ranges", {"name": "a", "text": "AA"}),
    ("POST", "/api/review", {"files": [{"name": "a.phh", "text": "x"}], "ranges": ["AA", "KK"]}),
    ("POST", "/api/games/upload", {"name": "a.efg", "text": "EFG 2 R"}),
    ("POST", "/api/restore", {"ticket": "0123456789abcdef"}),
]


@dataclass
class Attack:
    """Makes requests that name `paths`, none of which the studio may open."""

    seed: int
    paths: list[str]
    runs: list[str]  # ids of runs that are there
    rng: random.Random = field(init=False)

    def __post_init__(self):
        self.rng = random.Random(self.seed)
        self.routes = [
            (route.path, sorted(getattr(route, "methods", None) or ["GET"]))
            for route in make_app(StudioState(Path("nowhere"))).routes
        ]

    def requests(self, count):
        """Yield method, path with query, extra headers and body.

        One in three is random; the others are valid but for one value.
        """
        for number in range(count):
            yield self._random(number) if number % 3 == 0 else self._nearly_valid()

    def _random(self, number):
        path, methods = self.routes[number // 3 % len(self.routes)]  # every route has its turn
        rng = self.rng
        method = rng.choice(methods if rng.random() < 0.85 else METHODS)
        parts = [self._segment() if "{" in part else part for part in path.split("/")]
        target = "/".join(parts) + self._query()
        body = self._body() if method in ("POST", "PUT", "PATCH") else None
        return method, target[:12_000], self._headers(), body

    def _nearly_valid(self):
        method, path, values = self.rng.choice(VALID)
        values = json.loads(json.dumps(values))
        self._spoil(values)
        if method == "POST":
            return method, path, {}, json.dumps(values).encode()
        pairs = [f"{quote(key)}={quote(str(value))}" for key, value in values.items()]
        return method, f"{path}?{'&'.join(pairs)}", {}, None

    def _spoil(self, values):
        """Replace one value, at any depth, or add one."""
        rng = self.rng
        key = rng.choice(list(values) if isinstance(values, dict) else range(len(values)))
        inside = values[key]
        if isinstance(inside, (dict, list)) and inside and rng.random() < 0.8:
            self._spoil(inside)
        elif isinstance(values, dict) and rng.random() < 0.1:
            values[self._text()[:50]] = self._value(1)
        elif key == "policy" and rng.random() < 0.5:
            values[key] = rng.choice(["search:", "solve:", "run:", "best:", ""]) + self._path()
        elif key in ("game", "name") and rng.random() < 0.3:
            values[key] = f"openspiel:{rng.choice(['efg', 'nfg'])}_game(filename={self._path()})"
        else:
            values[key] = self._text() if rng.random() < 0.7 else self._value(2)

    def _segment(self):
        rng = self.rng
        known = ["view", "grid", "infoset", "leaks", "find", "drawing", "overview", "export", "act"]
        traversal = ["..", "%2e%2e", "..%2f..%2fetc%2fpasswd", "%00", "%ff", "a/../b", "con", "*"]
        kinds = [self.runs, known, traversal, [quote(self._path(), safe="")], ["a" * 3000]]
        return rng.choice(rng.choices(kinds, [4, 4, 2, 2, 0.2])[0])

    def _query(self):
        rng = self.rng
        pairs = [(rng.choice(QUERY), self._text()) for _ in range(rng.choice([0, 1, 2, 4]))]
        if rng.random() < 0.3:
            pairs.append(("game", "kuhn_poker"))
        if rng.random() < 0.03:
            pairs.append(("game", "a" * 9000))
        text = "&".join(f"{key}={quote(value, errors='replace')}" for key, value in pairs)
        return f"?{text}" if text else ""

    def _headers(self):
        odd = [{"Content-Type": "text/plain"}, {"Idempotency-Key": "k"}, {"Range": "bytes=0-"}]
        odd += [{"Accept": "\xff"}, {"If-None-Match": "*"}, {"Content-Encoding": "gzip"}]
        return self.rng.choice(odd) if self.rng.random() < 0.1 else {}

    def _body(self):
        rng = self.rng
        if rng.random() < 0.25:
            return rng.choice(RAW_BODIES)
        value = {rng.choice(KEYS): self._value(3) for _ in range(rng.randrange(1, 5))}
        if rng.random() < 0.4:
            value["config"] = self._config()
        if rng.random() < 0.4:
            value |= {"game": self._text(), "policy": self._text()}
        if rng.random() < 0.2:
            value["spot"] = {key: self._value(2) for key in ("board", "ranges", "pot", "stacks")}
        return json.dumps(value).encode()

    def _config(self):
        rng = self.rng
        game = rng.choice(
            [
                self._text(),
                {"name": self._text(), "params": self._value(2)},
                {"name": "openspiel:efg_game", "params": {"filename": self._path()}},
                {
                    "name": "openspiel:kuhn_poker",
                    "params": {"players": f"2,file={self._path()}"},
                },
                "kuhn_poker",
            ]
        )
        config = KUHN | {"game": game}
        config[rng.choice(["name", "algorithm", "spec", "arena", "device"])] = self._value(2)
        return config

    def _value(self, depth):
        rng = self.rng
        kind = rng.randrange(6 if depth else 4)
        if kind == 4:
            return [self._value(depth - 1) for _ in range(rng.randrange(4))]
        if kind == 5:
            return {self._text()[:50]: self._value(depth - 1) for _ in range(rng.randrange(4))}
        return [rng.choice(NUMBERS), self._text(), None, rng.choice(KEYS)][kind]

    def _text(self):
        """Return a number, a word, or a spec that names a path."""
        rng = self.rng
        path, run = self._path(), rng.choice(self.runs)
        specs = [
            path,
            f"search:{path}",
            f"solve:{path}@10",
            f"run:{path}@average",
            f"run:{run}@{path}",
            f"openspiel:efg_game(filename={path})",
            f"openspiel:nfg_game(filename = {path})",
            f"openspiel:crossword(puzzles_root={path})",
            f"openspiel:misere(game=efg_game(filename={path}))",
            f"openspiel:{path}",
            f"{path}:Game",
            f"{path}.py:Game(x=1)",
            f"upload:{path}",
            f"upload:../../{path}.efg",
            f"kuhn_poker(players={path!r})",
            f"matrix_game(payoffs={path!r})",
            f"file://{path}",
            f"alpha_beta({path})",
        ]
        usual = [run, f"run:{run}@average", "uniform", "kuhn_poker", "solve:cfr@3", "best:0", "0"]
        numbers = [str(number) for number in NUMBERS]
        kinds = [specs, usual, numbers, WORDS, ["a" * 5000]]
        return rng.choice(rng.choices(kinds, [5, 4, 2, 2, 0.1])[0])

    def _path(self):
        return self.rng.choice(self.paths)
