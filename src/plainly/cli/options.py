"""Groups of options that several commands share, each defined and read in one place."""

import argparse
import contextlib
import math
from collections.abc import Callable, Sequence
from typing import Any

from plainly.core.errors import BadInput
from plainly.core.files import check_target
from plainly.core.sampling import DEFAULTS, METHODS, Sampling

# Kinds of numbers, with the least and the most that makes sense: how many of something, a seed, a port, a measure.
_NUMBERS: dict[str, tuple[type[int] | type[float], float, float]] = {
    "int": (int, 1, 10**9),
    "seed": (int, 0, 2**63 - 1),
    "port": (int, 0, 65535),
    "float": (float, -math.inf, math.inf),
}


def number(flag: str, kind: str = "int") -> Callable[[str], Any]:
    """What reads the value of an option that is a number, and refuses one that makes no sense: -1 items, nan."""
    cast, least, most = _NUMBERS[kind]

    def read(text: str) -> int | float:
        with contextlib.suppress(ValueError):
            value = cast(text)
            if math.isfinite(value) and least <= value <= most:
                return value
        wanted = "a number" if cast is float else f"a whole number of at least {least:,} and at most {most:,}"
        raise BadInput(f"{flag} is {wanted}, not {text!r}.")

    return read


def add_sampling(
    parser: argparse.ArgumentParser, *, method: bool = True, level: Callable[[str], Any] | None = None
) -> argparse._ArgumentGroup:
    """--level, --resamples, --method, --seed: how intervals and tests draw. ``level`` reads the value of --level."""
    group = parser.add_argument_group("how to draw")
    group.add_argument(
        "--level", type=level or number("--level", "float"), help=f"confidence level ({DEFAULTS['level']})"
    )
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
    """What was asked for, checked; the rest as Sampling has it."""
    asked = {name: getattr(args, name, None) for name in DEFAULTS}
    return Sampling(**{name: value for name, value in asked.items() if value is not None})


def add_force(parser: argparse.ArgumentParser) -> None:
    """--force: whoever writes files has it."""
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
    """--columns ROLE=COLUMN …, several columns with commas between; None where nothing was given."""
    chosen: dict[str, str | list[str]] = {}
    for pair in pairs:
        role, equals, column = pair.partition("=")
        if not equals or not role or not column:
            raise BadInput(f"--columns takes ROLE=COLUMN, for example source=complex; not {pair!r}.")
        listed = column.split(",")
        chosen[role] = listed if len(listed) > 1 else column
    return chosen or None
