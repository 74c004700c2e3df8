"""The parser of a command: argparse's, but what is wrong is one sentence, with the nearest option that there is."""

import argparse
import re
from types import ModuleType
from typing import NoReturn

from plainly.cli import load_command
from plainly.core.errors import PlainlyError, did_you_mean

_UNKNOWN = re.compile(r"unrecognized arguments: (.*)", re.DOTALL)
_CHOICE = re.compile(r"argument ([^:]+): invalid choice: '?([^']*?)'? \(choose from (.*)\)")


class CommandParser(argparse.ArgumentParser):
    """Raises a sentence instead of printing how the command is used, which takes a screen and hides what is wrong."""

    def error(self, message: str) -> NoReturn:
        see = f"See: {self.prog} --help"
        if unknown := _UNKNOWN.fullmatch(message):
            name = (unknown[1].split() or [unknown[1]])[0].partition("=")[0]
            suggestion = did_you_mean(name, self._option_string_actions) if name.startswith("-") else ""
            kind = "option" if name.startswith("-") else "argument"
            raise PlainlyError(f"{self.prog} has no {kind} {name!r}.{suggestion} {see}")
        if choice := _CHOICE.fullmatch(message):
            allowed = re.findall(r"[^\s,']+", choice[3])
            suggestion = did_you_mean(choice[2], allowed)
            raise PlainlyError(f"{choice[1]} may be {', '.join(allowed)}; not {choice[2]!r}.{suggestion} {see}")
        raise PlainlyError(f"{message[:1].upper()}{message[1:]}. {see}")


def command_parser(name: str, command: ModuleType | None = None) -> CommandParser:
    """The parser of a command with all its options."""
    command = command or load_command(name)
    parser = CommandParser(
        prog=f"plainly {name}",
        description=command.HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.configure(parser)
    return parser
