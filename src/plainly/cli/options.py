"""Groups of options that several commands share, each defined and read in one place."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from plainly.errors import BadInput
from plainly.files import check_target
from plainly.sampling import DEFAULTS, METHODS, Sampling


def add_sampling(
    parser: argparse.ArgumentParser, *, method: bool = True, level: Callable[[str], Any] = float
) -> argparse._ArgumentGroup:
    """--level, --resamples, --method, --seed: how intervals and tests draw. ``level`` reads the value of --level."""
    group = parser.add_argument_group("how to draw")
    group.add_argument("--level", type=level, help=f"confidence level ({DEFAULTS['level']})")
    group.add_argument("--resamples", type=int, metavar="N", help=f"bootstrap draws ({DEFAULTS['resamples']})")
    if method:
        group.add_argument("--method", choices=METHODS, help=f"kind of interval ({DEFAULTS['method']})")
    group.add_argument("--seed", type=int, help=f"seed of the draws ({DEFAULTS['seed']}), kept in the results")
    return group


def sampling(args: argparse.Namespace) -> Sampling:
    """What was asked for, checked; the rest as Sampling has it."""
    asked = {name: getattr(args, name, None) for name in DEFAULTS}
    return Sampling(**{name: value for name, value in asked.items() if value is not None})


def add_force(parser: argparse.ArgumentParser) -> None:
    """--force: whoever writes files has it."""
    parser.add_argument("--force", action="store_true", help="overwrite files that plainly did not write")


def check_targets(args: argparse.Namespace, *paths: str | None) -> None:
    """Raise unless all these files may be written, before anything is computed; none may be one that is read."""
    read = [getattr(args, name, None) for name in ("source", "table", "groups", "ratings", "config", "scores", "saved")]
    read += [*getattr(args, "references", []), *getattr(args, "systems", [])]
    inputs = [path for path in read if isinstance(path, str)]
    inputs += [path.partition("=")[2] for path in inputs if "=" in path]
    for path in paths:
        if path is not None:
            check_target(path, inputs=[name for name in inputs if name], force=args.force)


def add_columns(group: argparse._ArgumentGroup, roles: str) -> None:
    """--columns ROLE=COLUMN …, read by ``columns``."""
    what = f"which columns of a table to take: {roles}"
    group.add_argument("--columns", nargs="+", default=[], metavar="ROLE=COLUMN", help=what)


def columns(pairs: Sequence[str]) -> dict[str, str | list[str]] | None:
    """--columns ROLE=COLUMN …, several columns with commas between; None where nothing was given."""
    chosen: dict[str, str | list[str]] = {}
    for pair in pairs:
        role, equals, column = pair.partition("=")
        if not equals or not role or not column:
            raise BadInput(f"--columns takes ROLE=COLUMN, for example source=complex; not {pair!r}.")
        listed = column.split(",")
        chosen[role] = listed if len(listed) > 1 else column
    return chosen or None
