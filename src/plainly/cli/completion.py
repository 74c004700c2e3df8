"""``plainly completion``: what a shell needs to complete commands, options, metrics and sets.

The answers are written into the script, so that pressing Tab starts no Python.
"""

import argparse
import sys

from plainly.cli import commands
from plainly.cli.options import command_parser

HELP = """\
Print a script that completes commands, options, metrics and sets in your shell.

  plainly completion bash > ~/.local/share/bash-completion/completions/plainly
  plainly completion zsh > ~/.zfunc/_plainly      # with fpath+=~/.zfunc and compinit in ~/.zshrc
  plainly completion fish > ~/.config/fish/completions/plainly.fish
"""


_BASH = """\
# Completion of plainly for bash.
_plainly() {
    local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" words=""
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "@COMMANDS@" -- "$current"))
        return
    fi
    case "${COMP_WORDS[1]}" in
@CASES@
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    if [ "${#COMPREPLY[@]}" -eq 0 ]; then
        COMPREPLY=($(compgen -f -- "$current"))
    fi
}
complete -o filenames -F _plainly plainly
"""
_ZSH = """\
#compdef plainly
# Completion of plainly for zsh.
_plainly() {
    local current="${words[CURRENT]}" previous="${words[CURRENT-1]}" command="${words[2]}"
    if (( CURRENT == 2 )); then
        compadd -- @COMMANDS@
        return
    fi
    local words=""
    case "$command" in
@CASES@
    esac
    compadd -- ${=words}
    [[ "$current" == -* ]] || _files
}
compdef _plainly plainly
"""
_FISH = """\
# Completion of plainly for fish.
complete -c plainly -n '__fish_use_subcommand' -f -a '@COMMANDS@'
@CASES@
"""
_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=tuple(_SCRIPTS), help="bash, zsh or fish")


def run(args: argparse.Namespace) -> int:
    sys.stdout.write(script(args.shell))
    return 0


def script(shell: str) -> str:
    """The script for a shell."""
    return _SCRIPTS[shell].replace("@COMMANDS@", " ".join(commands())).replace("@CASES@", _CASES[shell]())


def words(command: str) -> tuple[list[str], dict[str, list[str]]]:
    """A command's options and sub-commands, and what may follow an option."""
    from plainly import data
    from plainly.core import registry

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
    for command in commands():
        listed, values = words(command)
        follows = [f'        {flag}) words="{" ".join(allowed)}" ;;' for flag, allowed in values.items()]
        begin = [f"    {command})", f'        words="{" ".join(listed)}"', '        case "$previous" in']
        cases.append("\n".join([*begin, *follows, "        esac ;;"]))
    return "\n".join(cases)


def _fish() -> str:
    lines = []
    for command in commands():
        listed, values = words(command)
        for word in listed:
            flag = f"-l {word[2:]}" if word.startswith("--") else f"-s {word[1:]}"
            name = flag if word.startswith("-") else f"-a {word}"
            allowed = f" -x -a '{' '.join(values[word])}'" if word in values else ""
            lines.append(f"complete -c plainly -n '__fish_seen_subcommand_from {command}' {name}{allowed}")
    return "\n".join(lines)


_CASES = {"bash": _bash, "zsh": _bash, "fish": _fish}
