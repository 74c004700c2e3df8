"""The parser of a command, and the options that several commands share, each declared and read in one place."""

import argparse
import contextlib
import math
import re
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NoReturn

from plainly.cli import load_command
from plainly.core.errors import BadInput, PlainlyError, did_you_mean
from plainly.core.files import check_target
from plainly.core.sampling import DEFAULTS, METHODS, Sampling

_UNKNOWN = re.compile(r"unrecognized arguments: (.*)", re.DOTALL)
_CHOICE = re.compile(r"argument ([^:]+): invalid choice: '?([^']*?)'? \(choose from (.*)\)")
# Kinds of numbers with the smallest and largest allowed value: a count, a seed, a port, a measurement.
_NUMBERS: dict[str, tuple[type[int] | type[float], float, float]] = {
    "int": (int, 1, 10**9),
    "seed": (int, 0, 2**63 - 1),
    "port": (int, 0, 65535),
    "float": (float, -math.inf, math.inf),
}


class CommandParser(argparse.ArgumentParser):
    """Raises one sentence, with the nearest option that exists, instead of printing a screen of usage."""

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


def number(flag: str, kind: str = "int") -> Callable[[str], Any]:
    """A reader for an option whose value is a number; values that make no sense (-1 items, nan) are refused."""
    cast, least, most = _NUMBERS[kind]

    def read(text: str) -> int | float:
        with contextlib.suppress(ValueError):
            value = cast(text)
            if math.isfinite(value) and least <= value <= most:
                return value
        wanted = "a number" if cast is float else f"a whole number of at least {least:,} and at most {most:,}"
        raise BadInput(f"{flag} is {wanted}, not {text!r}.")

    return read


def add_sampling(parser: argparse.ArgumentParser, *, method: bool = True) -> argparse._ArgumentGroup:
    """--level, --resamples, --method, --seed: how intervals and tests are drawn."""
    group = parser.add_argument_group("how to draw")
    group.add_argument("--level", type=number("--level", "float"), help=f"confidence level ({DEFAULTS['level']})")
    group.add_argument(
        "--resamples", type=number("--resamples"), metavar="N", help=f"bootstrap draws ({DEFAULTS['resamples']})"
    )
    if method:
        group.add_argument("--method", choices=METHODS, help=f"kind of interval ({DEFAULTS['method']})")
    group.add_argument(
        "--seed", type=number("--seed", "seed"), help=f"seed of the draws ({DEFAULTS['seed']}), kept in the results"
    )
    return group


def sampling(args: argparse.Namespace) -> Sampling:
    """The sampling that the arguments describe, with the defaults of ``Sampling`` for the rest."""
    values = {name: getattr(args, name, None) for name in DEFAULTS}
    return Sampling(**{name: value for name, value in values.items() if value is not None})


def add_force(parser: argparse.ArgumentParser) -> None:
    """--force, for every command that writes files."""
    parser.add_argument("--force", action="store_true", help="overwrite files that plainly did not write")


def check_targets(args: argparse.Namespace, *paths: str | None) -> None:
    """Raise unless all these files may be written, before anything is computed; none may be one that is read."""
    read = [
        getattr(args, name, None)
        for name in ("source", "table", "groups", "ratings", "config", "scores", "saved", "set")
    ]
    read += [*(getattr(args, "references", None) or ()), *(getattr(args, "systems", None) or ())]
    inputs = [path for path in read if isinstance(path, str)]
    inputs += [path.partition("=")[2] for path in inputs if "=" in path]
    for path in paths:
        if path is not None:
            check_target(path, inputs=[name for name in inputs if name], force=args.force)


def columns(pairs: Sequence[str]) -> dict[str, str | list[str]] | None:
    """--columns ROLE=COLUMN …, several columns separated by commas; None if there are none."""
    roles: dict[str, str | list[str]] = {}
    for pair in pairs:
        role, equals, column = pair.partition("=")
        if not equals or not role or not column:
            raise BadInput(f"--columns takes ROLE=COLUMN, for example source=complex; not {pair!r}.")
        listed = column.split(",")
        roles[role] = listed if len(listed) > 1 else column
    return roles or None


def split_names(text: str | None) -> list[str]:
    """Names separated by commas."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]
