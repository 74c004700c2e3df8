"""``plainly completion``: a script with which a shell completes commands, options, metrics and sets.

The script contains all completions, so that pressing Tab does not start Python.
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
    """Return the script for a shell."""
    return _SCRIPTS[shell].replace("@COMMANDS@", " ".join(commands())).replace("@CASES@", _CASES[shell]())


def words(command: str) -> tuple[list[str], dict[str, list[str]]]:
    """Return a command's options and sub-commands, and what may follow an option."""
    from plainly import data
    from plainly.core import registry

    parser = command_parser(command)
    flags: list[str] = []
    values: dict[str, list[str]] = {}
    by_destination = {"metrics": list(registry.names()), "test_set": list(data.names())}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            flags += list(action.choices)
        flags += [flag for flag in action.option_strings if flag.startswith("--") or len(action.option_strings) == 1]
        values_of = [str(choice) for choice in action.choices or ()] or by_destination.get(action.dest, [])
        if action.option_strings and values_of and action.nargs != 0:
            values |= dict.fromkeys(action.option_strings, values_of)
    return flags, values


def _bash() -> str:
    cases = []
    for command in commands():
        flags, values = words(command)
        follows = [f'        {flag}) words="{" ".join(values_of)}" ;;' for flag, values_of in values.items()]
        begin = [f"    {command})", f'        words="{" ".join(flags)}"', '        case "$previous" in']
        cases.append("\n".join([*begin, *follows, "        esac ;;"]))
    return "\n".join(cases)


def _fish() -> str:
    lines = []
    for command in commands():
        flags, values = words(command)
        for word in flags:
            flag = f"-l {word[2:]}" if word.startswith("--") else f"-s {word[1:]}"
            name = flag if word.startswith("-") else f"-a {word}"
            values_of = f" -x -a '{' '.join(values[word])}'" if word in values else ""
            lines.append(f"complete -c plainly -n '__fish_seen_subcommand_from {command}' {name}{values_of}")
    return "\n".join(lines)


_CASES = {"bash": _bash, "zsh": _bash, "fish": _fish}
