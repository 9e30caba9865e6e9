"""Write docs/reference/api.md, commands.md and config.md from the code, for `make docs`.

python tools/reference.py [FOLDER]
"""

from __future__ import annotations

import dataclasses
import inspect
import operator
import re
import sys
from pathlib import Path
from typing import Any

import typer.main

import counterplay as cp
from counterplay.cli.main import app
from counterplay.experiment import config
from counterplay.registry import ALGORITHMS, GAMES, import_registered

GROUPS = {  # title -> modules of names in `counterplay` itself, the first that fits
    "Games and trees": (
        *("counterplay.core.game", "counterplay.registry", "counterplay.arenas.tree"),
        *("counterplay.arenas.build", "counterplay.interop"),
    ),
    "Solving and judging": (
        *("counterplay.core.solve", "counterplay.core.evaluation", "counterplay.core.policy"),
        *("counterplay.play", "counterplay.arenas.rules", "counterplay.kernels"),
        "counterplay.algorithms",
    ),
    "Looking at solutions": ("counterplay.display",),
    "Experiments": ("counterplay.experiment", "counterplay.distributed"),
    "Errors": ("counterplay.errors",),
    "More": ("counterplay",),
}


def api() -> str:
    """Every public name, group by group, with its signature and what its docstring says."""
    text = "# API\n\nEvery name is found in `counterplay`, which is imported as `cp`.\n"
    left = dict(cp._get_export.module_by_name)  # type: ignore[attr-defined]
    for title, modules in GROUPS.items():
        names = [
            name
            for name, module in left.items()
            if any(module == one or module.startswith(f"{one}.") for one in modules)
        ]
        for name in names:
            del left[name]
        if names:
            text += f"\n## {title}\n\n" + "\n".join(_entry(name) for name in sorted(names))
    for space in cp._NAMESPACES:
        module = getattr(cp, space)
        text += f"\n## cp.{space}\n\n### {space}\n\n{_prose(inspect.getdoc(module) or '')}"
        text += "\n".join(_entry(f"{space}.{name}") for name in module.__all__)
    return text


def _entry(name: str) -> str:
    thing = operator.attrgetter(name)(cp)
    head, short = f"### {name}\n\n", name.rpartition(".")[2]
    if short != name and short in cp.__all__ and getattr(cp, short) is thing:
        return f"{head}The same as `cp.{short}`.\n"
    if not callable(thing):
        return f"{head}`cp.{name} = {thing!r}`\n"
    body = (
        f"{head}```python\n{_signature(name, thing)}\n```\n\n{_prose(inspect.getdoc(thing) or '')}"
    )
    if inspect.isclass(thing):
        body += _members(thing)
    return body


def _signature(name: str, thing: Any) -> str:
    try:
        plain = inspect.signature(thing)
    except (ValueError, TypeError):
        return f"cp.{name}"
    found = [str(p) for p in plain.parameters.values() if p.name != "self"]
    parts = [re.sub(r": '([^']*)'", r": \1", part) for part in found]
    parts = [re.sub(r"<(?:function|class) '?(?:\w+\.)*(\w+).*?>", r"\1", part) for part in parts]
    if getattr(thing, "_is_protocol", False):
        return f"cp.{name}"
    line = f"cp.{name}({', '.join(parts)})"
    if len(line) > 90:
        line = f"cp.{name}(\n    " + ",\n    ".join(parts) + ",\n)"
    given = plain.return_annotation
    if given is not inspect.Signature.empty and not inspect.isclass(thing):
        line += f" -> {given}".replace("'", "")
    return line


def _prose(text: str) -> str:
    """A docstring as Markdown: paragraphs as they are, what is indented kept as it stands."""
    parts: list[str] = []
    for block in text.split("\n\n"):
        lines = block.split("\n")
        if lines[0].startswith(">>>"):
            parts.append(f"```pycon\n{block}\n```")
        elif any(line.startswith(" ") for line in lines):
            lead = [line for line in lines if not line.startswith(" ")]
            if lines[0].startswith(("Args:", "Raises:")):
                parts.append(_arguments(lines))
            else:
                parts.append(f"```text\n{block}\n```" if not lead or len(lines) > 1 else block)
        else:
            parts.append(block)
    return "\n\n".join(parts) + "\n\n"


def _arguments(lines: list[str]) -> str:
    """A Google section as a list."""
    text = "\n".join(lines[1:])
    found = re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", text, re.MULTILINE)
    items = [f"- `{name}`: {' '.join(what.split())}" for name, what in found]
    return f"{lines[0]}\n\n" + "\n".join(items)


def _members(cls: Any) -> str:
    rows = []
    for name, member in vars(cls).items():
        if name.startswith("_") or name in ("capabilities", "runs_on", "required_extra"):
            continue
        own = member.fget if isinstance(member, property) else getattr(member, "func", member)
        own = getattr(own, "__func__", own)
        text = inspect.getdoc(own) if callable(own) else ""
        if text and inspect.isfunction(own):
            call = "" if isinstance(member, property) or member is not own else "()"
            call = "()" if isinstance(member, classmethod) else call
            rows.append(f"| `{name}{call}` | {' '.join(text.split(chr(10) * 2)[0].split())} |")
    if dataclasses.is_dataclass(cls) and not rows:
        return ""
    if not rows:
        return ""
    return "| member | what it is |\n|---|---|\n" + "\n".join(rows).replace("||", "| |") + "\n\n"


def commands() -> str:
    """Every command with its arguments and options."""
    text = "# Commands\n\nGames, algorithms and policies are written the same way everywhere.\n"
    group: Any = typer.main.get_command(app)
    for name, command in all_commands(group):
        context = command.make_context(name, [], resilient_parsing=True)
        usage = " ".join(command.collect_usage_pieces(context))
        text += f"\n## {name}\n\n```text\ncounterplay {name} {usage}\n```\n\n"
        text += (command.help or "").replace("\f", "").strip() + "\n\n"
        rows = []
        for parameter in command.params:
            record = parameter.get_help_record(context)
            if record is None and getattr(parameter, "help", None):
                record = (parameter.human_readable_name, parameter.help)
            if record:
                rows.append(f"| `{record[0].strip()}` | {' '.join(record[1].split())} |")
        if rows:
            text += "| argument or option | what it does |\n|---|---|\n" + "\n".join(rows) + "\n"
    return text


def all_commands(group: Any, before: str = "") -> list[tuple[str, Any]]:
    """Every command with its name, those of groups such as `spot solve` too."""
    found = []
    for name, command in group.commands.items():
        inner = all_commands(command, f"{before}{name} ") if hasattr(command, "commands") else []
        found += inner or [(f"{before}{name}", command)]
    return found


def config_keys() -> str:
    """Every key of a config."""
    text = """# Config keys

A config is one JSON object. `counterplay run` refuses unknown keys, wrong types and values out of
range, by name. Short forms: `"game": "kuhn_poker(players=3)"` and `"algorithm": "dcfr(gamma=3)"`.

```json
{"name": "kuhn", "game": "kuhn_poker", "algorithm": "dcfr(gamma=3)",
 "spec": {"max_steps": 1000, "seed": 1, "evaluate_every": 100}}
```

| key | what it is | default |
|---|---|---|
| `name` | names the folder of the run | the file's name |
| `game` | any game: a name, `openspiel:...`, a file, `file.py:Class` | must be given |
| `game.name`, `game.params` | the same in two parts | |
| `algorithm` | its name, parameters in brackets or in `spec` | must be given |
| `arena` | `tree`; `rules` or `generated` for games that are never unrolled | `tree` |
| `abstraction` | a rule that merges infosets, such as `by_equity(num_buckets=50)` | none |
| `device` | `cpu`, `gpu` or `tpu`, for algorithms with networks | `cpu` |
| `networks` | sizes of layers, for algorithms with networks | see below |
"""
    meanings = {
        "max_steps": "iterations to do",
        "seed": "of all randomness",
        "evaluate_every": "steps between two records",
        "checkpoint_every": "steps between two checkpoints; at the end there is always one",
    }
    for name, field in config.RunSection.model_fields.items():
        default = "must be given" if field.is_required() else f"`{field.default}`"
        text += f"| `spec.{name}` | {meanings[name]} | {default} |\n"
    text += "\n## Keys of the algorithms\n\n"
    text += "All in `spec`, but those that end in `_units`, in `networks`.\n\n"
    text += "| algorithm | keys and defaults |\n|---|---|\n"
    for name in ALGORITHMS:
        text += f"| `{name}` | {_fields(import_registered(ALGORITHMS, name))} |\n"
    text += "\n## Parameters of the games\n\n| game | parameters and defaults |\n|---|---|\n"
    for name in GAMES:
        text += f"| `{name}` | {_fields(import_registered(GAMES, name))} |\n"
    return text


def _fields(cls: Any) -> str:
    parts = []
    for one in dataclasses.fields(cls):
        value = "" if one.default is dataclasses.MISSING else f"={one.default!r}"
        parts.append(f"`{one.name}{value if len(value) < 40 else '=...'}`")
    return ", ".join(parts) or "none"


def write(folder: Path) -> None:
    """Write the three pages."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in (("api", api), ("commands", commands), ("config", config_keys)):
        (folder / f"{name}.md").write_text(make())


if __name__ == "__main__":
    write(
        Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent / "docs/reference"
    )
