"""Signatures of queued configs: only entries that this user has queued start by themselves.

A folder of runs may come from another person and contain a queue. An entry `TICKET.json` that this
user's studio wrote has a file `TICKET.hmac` beside it: an HMAC-SHA256 over the folder, the ticket
and the config, with a key that only this user can read. Any other entry is shown with the code
that it would run, and waits until the user approves it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from pathlib import Path

from counterplay.core.trust import Reference, code_reference, load_secret
from counterplay.studio.server.run_index import algorithm_from_config, game_spec_from_config

KEY_NAME = "queue-key"  # in the user's state folder
MAX_ENTRY_BYTES = 1 << 20
TICKET = re.compile(r"\w[\w.-]{0,79}")


def sign(root: Path, ticket: str, content: bytes) -> str:
    """Return the signature of a queued config, in hexadecimal."""
    parts = (str(root.resolve()).encode(), ticket.encode(), content)
    text = b"".join(hashlib.sha256(part).digest() for part in parts)
    return hmac.new(bytes.fromhex(load_secret(KEY_NAME)), text, "sha256").hexdigest()


def is_signed(root: Path, entry: Path) -> bool:
    """Return True if this user has queued or approved the entry."""
    signature = entry.with_suffix(".hmac")
    if not signature.is_file():  # a pipe would block
        return False
    try:
        stored, content = signature.read_bytes()[:64], read_entry(entry)
    except OSError:
        return False
    return hmac.compare_digest(stored, sign(root, entry.stem, content).encode())


def read_entry(entry: Path) -> bytes:
    """Return the content of a queued config."""
    with open(entry, "rb") as file:
        return file.read(MAX_ENTRY_BYTES)


def parse_entry(content: bytes) -> dict[str, object]:
    """Return the config in an entry; empty if it is not a JSON object."""
    try:
        config = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return config if isinstance(config, dict) else {}


def config_code(config: Mapping[str, object]) -> list[Reference]:
    """Return the code of users that a run of this config imports: its game's, its algorithm's."""
    specs = (game_spec_from_config(config), algorithm_from_config(config))
    found = [reference for spec in specs if (reference := code_reference(spec)) is not None]
    return list(dict.fromkeys(found))


def entry_digest(content: bytes) -> str:
    """Return a digest of a config and its code, which identifies what a user approves."""
    code = [[one.path, one.digest] for one in config_code(parse_entry(content))]
    text = json.dumps([hashlib.sha256(content).hexdigest(), code])
    return hashlib.sha256(text.encode()).hexdigest()
