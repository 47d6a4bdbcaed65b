"""Writes the options of pip, conda and azcopy, version by version, into schemas/programs.json, from the programs.

    python scripts/parser_options.py pip FOLDER...       # unpacked packages, each with the folder `pip`
    python scripts/parser_options.py conda FOLDER...     # source trees, each with the folder `conda`, oldest first
    python scripts/parser_options.py azcopy REPOSITORY TAG...

The parsers of pip and conda are made by their own code, in a Python that has what they import, and then read; of
azcopy, the calls that register flags are read from its source. Rows with the same names are replaced: all options of
all versions, and `only`, those that the first or the last version does not have.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

TABLE = Path(__file__).parent.parent / "schemas/programs.json"
# Prints {command: {"--name -n": number of values}} for the package in the working folder.
PIP = """
import collections, collections.abc, json, sys
vars(collections).update({name: getattr(collections.abc, name) for name in collections.abc.__all__})
sys.path.insert(0, ".")
try:
    from pip._internal import commands
except ImportError:
    from pip import commands
found = {}
for name in commands.commands_dict:
    made = commands.commands_dict[name]
    try:
        parser = (commands.create_command(name) if hasattr(commands, "create_command") else made()).parser
    except Exception:
        continue
    options = [one for group in (parser, *parser.option_groups) for one in group.option_list]
    names = [" ".join(one._short_opts + one._long_opts) for one in options]
    found[f"pip {name}"] = dict(zip(names, (one.nargs if one.takes_value() else 0 for one in options)))
print(json.dumps(found))
"""
CONDA = """
import argparse, json, sys
sys.path.insert(0, ".")
try:
    from conda.cli.conda_argparse import generate_parser
except ImportError:
    from conda.cli.main import generate_parser
found = {}
def read(parser, name):
    found[name] = {}
    for one in parser._actions:
        if isinstance(one, argparse._SubParsersAction):
            for word, below in one.choices.items():
                read(below, f"{name} {word}")
        elif one.option_strings:
            takes = 1 if one.nargs is None else "*" if one.nargs == "+" else one.nargs
            found[name][" ".join(one.option_strings)] = takes
read(generate_parser(), "conda")
print(json.dumps(found))
"""
# What a row needs beside the options.
STYLES = {"pip": "optparse", "conda": "argparse", "azcopy": "pflag"}
ROWS = {
    "pip": ("install", "uninstall", "download", "list", "freeze", "wheel", "config", "cache", "show", "check"),
    "conda": (
        "create",
        "install",
        "update",
        "remove",
        "clean",
        "run",
        "config",
        "env create",
        "env update",
        "env remove",
    ),
    "azcopy": ("copy", "cp", "sync", "remove", "rm", "list", "ls", "login", "make"),
}
SHORT = {"cp": "copy", "rm": "remove", "ls": "list"}
FLAG = re.compile(
    r'(\w+)\.(?:Persistent)?Flags\(\)\.((?:Bool|String|Float64|Uint32|Int\w*|Uint\w*|Float\w*)\w*)\(\s*(?:&[\w.]+,\s*)?"([\w-]+)"'
)
ALIASES = re.compile(r'Use:\s*"[\w-]+[^"]*",\s*(?:SuggestFor[^\n]*\n\s*)?Aliases:\s*\[\]string\{([^}]*)\}')
COMMAND = re.compile(r'(\w+)\s*:?=\s*&cobra\.Command\{\s*(?://[^\n]*\n\s*)*Use:\s*"([\w-]+)')


def main(name: str, *places: str) -> None:
    """Write the rows of a program."""
    if name == "azcopy":
        repository, *tags = places
        versions = {tag.lstrip("v"): of_azcopy(repository, tag) for tag in tags}
    else:
        code = PIP if name == "pip" else CONDA
        versions = {Path(one).name.removeprefix(f"{name}-"): of_package(code, one) for one in places}
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    for command in ROWS[name]:
        if any(one.get(f"{name} {command}") for one in versions.values()):
            table["programs"][f"{name} {command}"] = row_of(name, f"{name} {command}", versions)
    if name != "pip":  # the names of pip's commands are there, with those of old versions
        table["commands"][name] = {
            "source": f"{name} {', '.join(versions)}, read by scripts/parser_options.py",
            "names": sorted({command.split()[1] for one in versions.values() for command in one if " " in command}),
        }
    written = json.dumps(table, indent=2, ensure_ascii=False)
    TABLE.write_text(f"{written}\n", encoding="utf-8")


def of_package(code: str, folder: str) -> dict[str, dict[str, int | str]]:
    """The options of all commands of a package, made by its own code."""
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, capture_output=True, text=True)
    found: dict[str, dict[str, int | str]] = json.loads(done.stdout)
    return found


def of_azcopy(repository: str, tag: str) -> dict[str, dict[str, int | str]]:
    """The flags that a tag registers; those of the root belong to every command."""
    names = git(repository, "ls-tree", "--name-only", tag, "cmd/").split()
    found: dict[str, dict[str, int | str]] = {}
    for path in names:
        if path.endswith(".go") and not path.endswith("_test.go"):
            source = git(repository, "show", f"{tag}:{path}")
            for command in COMMAND.findall(source):
                found.setdefault(f"azcopy {command[1]}", {})
            for alias in re.findall(r'"([\w-]+)"', " ".join(ALIASES.findall(source))):
                found.setdefault(f"azcopy {alias}", {})
            commands = {"rootCmd": "", **dict(COMMAND.findall(source))}
            for variable, kind, flag in FLAG.findall(source):
                if variable in commands:
                    takes = 0 if kind.startswith("Bool") else 1
                    found.setdefault(f"azcopy {commands[variable]}".strip(), {})[f"--{flag}"] = takes
    shared = found.pop("azcopy", {})
    found = {command: {**shared, **flags} for command, flags in found.items()}
    return {**found, **{f"azcopy {short}": found.get(f"azcopy {long}", {}) for short, long in SHORT.items()}}


def git(repository: str, *arguments: str) -> str:
    """What git prints."""
    return subprocess.run(["git", "-C", repository, *arguments], check=True, capture_output=True, text=True).stdout


def row_of(name: str, command: str, versions: dict[str, dict[str, dict[str, int | str]]]) -> dict[str, object]:
    """One row of the table."""
    numbers = [number for number, commands in versions.items() if commands.get(command)]
    names: dict[str, dict[str, None]] = {}  # by option, its other names
    takes: dict[str, set[int | str]] = {}
    where: dict[str, set[str]] = {}
    for number in numbers:
        for written, count in versions[number][command].items():
            for one in written.split():
                names.setdefault(one, {}).update(dict.fromkeys(written.split()))
                takes.setdefault(one, set()).add(count)
                where.setdefault(one, set()).add(number)
    options: dict[str, int | str] = {}
    for one, others in names.items():
        # A letter that was another option once stands alone, with or without a value.
        same = [other for other in others if takes[other] == takes[one] and set(names[other]) == set(others)]
        count = next(iter(takes[one])) if len(takes[one]) == 1 else "?"
        options[" ".join(sorted(same or [one], key=lambda text: (text.startswith("--"), text)))] = count
    only = {
        f"{name} after {numbers[0]}": [one for one in where if numbers[0] not in where[one]],
        f"{name} before {numbers[-1]}": [
            one for one in where if {*numbers[:1]} <= where[one] and numbers[-1] not in where[one]
        ],
    }
    only = {version: found for version, found in only.items() if found}
    source = {
        "pip": "packages of PyPI, the parsers of pip/_internal/commands",
        "conda": "conda/conda, the parser of conda/cli",
        "azcopy": "Azure/azure-storage-azcopy, cmd/*.go",
    }[name]
    row: dict[str, object] = {"style": STYLES[name], "rest": command == "conda run"}
    row["source"] = f"{name} {', '.join(numbers)} ({source}), read by scripts/parser_options.py"
    row |= {"partial": True} if name != "pip" else {}
    return row | ({"only": only} if only else {}) | {"options": options}


if __name__ == "__main__":
    main(*sys.argv[1:])
