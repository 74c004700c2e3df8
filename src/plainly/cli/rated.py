"""The arguments with which commands take ratings: a public set by name, or a table of one's own."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from plainly.errors import BadInput
from plainly.ratings.types import Judgements, Scale


def add_arguments(parser: argparse.ArgumentParser, *, default: str | None = None) -> None:
    """RATINGS and how to read it."""
    shown = f" ({default})" if default else ""
    parser.add_argument(
        "ratings",
        nargs="?" if default else None,
        default=default,
        metavar="RATINGS",
        help="a public set (simplicity-da, acl2018, structural-simplicity, or a card of ratings: plainly data list) or "
        f"a table of ratings: CSV, TSV, JSONL, Parquet, .ods, .xlsx{shown}",
    )
    how = parser.add_argument_group("how to read the ratings")
    how.add_argument(
        "--columns",
        nargs="+",
        default=[],
        metavar="ROLE=COLUMN",
        help="which columns to take: system, item, rater, dimension, rating, source, output, type",
    )
    how.add_argument("--scale", metavar="LOW..HIGH", help="the scale, checked: 1..5, -2..2, 0..100")
    how.add_argument("--z-scores", action="store_true", help="standardise each rater's ratings first")
    how.add_argument("--systems", metavar="A,B,…", help="only these systems, in this order")


def read(args: argparse.Namespace) -> Judgements:
    """The ratings that the arguments name."""
    from plainly.cli.progress import bar
    from plainly.ratings import load, read_ratings

    if Path(args.ratings).suffix and Path(args.ratings).exists():
        found = read_ratings(args.ratings, columns=_columns(args.columns), scale=_scale(args.scale))
    elif Path(args.ratings).suffix:
        raise BadInput(f"There is no file {args.ratings}. Check the name; public sets: plainly data list")
    else:
        found = load(args.ratings, progress=bar)
    if args.systems:
        found = found.of_systems([name.strip() for name in args.systems.split(",") if name.strip()])
    if args.z_scores:
        found = replace(found, ratings={name: found[name].standardised() for name in found})
    return found


def chosen_dimension(judgements: Judgements, wanted: str | None) -> str:
    """The dimension asked for, or simplicity, or the only one there is."""
    if wanted:
        return judgements[wanted].dimension
    for name in ("simplicity", "structural_simplicity", "rating"):
        if name in judgements:
            return name
    return judgements.dimensions[0]


def _columns(given: list[str]) -> dict[str, str]:
    found = {}
    for pair in given:
        role, equals, column = pair.partition("=")
        if not equals or not role or not column:
            raise BadInput(f"--columns takes ROLE=COLUMN, for example rater=worker; not {pair!r}.")
        found[role] = column
    return found


def _scale(text: str | None) -> Scale | None:
    if text is None:
        return None
    low, dots, high = text.partition("..")
    try:
        if not dots:
            raise ValueError
        return float(low), float(high)
    except ValueError:
        raise BadInput(f"--scale takes LOW..HIGH, for example 1..5 or -2..2; not {text!r}.") from None
