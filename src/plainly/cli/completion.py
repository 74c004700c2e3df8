"""``plainly completion``: what a shell needs to complete commands, options, metrics and sets.

The answers are written into the script, so that pressing Tab starts no Python.
"""

import argparse
import sys

from plainly.cli import COMMANDS
from plainly.cli.parser import command_parser
from plainly.files import read_shipped

_SCRIPTS = read_shipped(__file__, "completion.toml")["scripts"]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=tuple(_SCRIPTS), help="bash, zsh or fish")


def run(args: argparse.Namespace) -> int:
    sys.stdout.write(script(args.shell))
    return 0


def script(shell: str) -> str:
    """The script for a shell."""
    return str(_SCRIPTS[shell]).replace("@COMMANDS@", " ".join(COMMANDS)).replace("@CASES@", _CASES[shell]())


def words(command: str) -> tuple[list[str], dict[str, list[str]]]:
    """A command's options and sub-commands, and what may follow an option."""
    from plainly import data, registry

    parser = command_parser(command)
    listed: list[str] = []
    values: dict[str, list[str]] = {}
    known = {"metrics": list(registry.names()), "test_set": list(data.names())}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            listed += list(action.choices)
        listed += [flag for flag in action.option_strings if flag.startswith("--") or len(action.option_strings) == 1]
        allowed = [str(choice) for choice in action.choices or ()] or known.get(action.dest, [])
        if action.option_strings and allowed and action.nargs != 0:
            values |= dict.fromkeys(action.option_strings, allowed)
    return listed, values


def _bash() -> str:
    cases = []
    for command in COMMANDS:
        listed, values = words(command)
        follows = [f'        {flag}) words="{" ".join(allowed)}" ;;' for flag, allowed in values.items()]
        begin = [f"    {command})", f'        words="{" ".join(listed)}"', '        case "$previous" in']
        cases.append("\n".join([*begin, *follows, "        esac ;;"]))
    return "\n".join(cases)


def _fish() -> str:
    lines = []
    for command in COMMANDS:
        listed, values = words(command)
        for word in listed:
            flag = f"-l {word[2:]}" if word.startswith("--") else f"-s {word[1:]}"
            name = flag if word.startswith("-") else f"-a {word}"
            allowed = f" -x -a '{' '.join(values[word])}'" if word in values else ""
            lines.append(f"complete -c plainly -n '__fish_seen_subcommand_from {command}' {name}{allowed}")
    return "\n".join(lines)


_CASES = {"bash": _bash, "zsh": _bash, "fish": _fish}
