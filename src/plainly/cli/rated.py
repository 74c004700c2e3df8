"""The arguments with which commands take ratings: a public set by name, or a table of one's own."""

import argparse
from dataclasses import replace

from plainly.cli import options
from plainly.cli.progress import bar
from plainly.core.errors import BadInput
from plainly.people.preferences import Choice, read_rankings
from plainly.people.ratings import Judgements, Scale
from plainly.text.languages import detection


def add_ratings(parser: argparse.ArgumentParser, *, default: str | None = None) -> None:
    """The arguments that name human ratings; with a ``default`` they may be left out."""
    parser.add_argument(
        "ratings",
        metavar="RATINGS",
        nargs=None if default is None else "?",
        default=default,
        help="a public set (simplicity-da, acl2018, structural-simplicity, or a card of ratings: "
        "plainly data list) or a table of ratings: CSV, TSV, JSONL, Parquet, .ods, .xlsx; or a "
        "study: its project's .toml",
    )
    group = parser.add_argument_group("how to read the ratings")
    group.add_argument(
        "--columns",
        nargs="+",
        default=[],
        metavar="ROLE=COLUMN",
        help="which columns of a table to take: system, item, rater, dimension, rating, source, output, type",
    )
    group.add_argument("--scale", metavar="LOW..HIGH", help="the scale, checked: 1..5, -2..2, 0..100")
    group.add_argument(
        "--language",
        metavar="CODE",
        help="language of what was rated: en, de, fr, es, it, pt, nl and others; a public set says its own",
    )
    group.add_argument("--z-scores", action="store_true", help="standardise each rater's ratings first")
    group.add_argument("--systems", metavar="A,B,…", help="only these systems, in this order")


def read(args: argparse.Namespace) -> Judgements:
    """The ratings that the arguments name."""
    from plainly.people import read_ratings

    columns = (options.columns(args.columns) or {}).items()
    judgements = read_ratings(
        args.ratings,
        columns={role: column if isinstance(column, str) else ",".join(column) for role, column in columns},
        scale=_scale(args.scale),
        systems=names(args.systems),
        z_scores=args.z_scores,
        progress=bar,
    )
    return replace(judgements, language=detection.check(args.language)) if args.language else judgements


def rankings(args: argparse.Namespace) -> tuple[Choice, ...] | None:
    """The rankings that the arguments name, where they name rankings."""
    return read_rankings(args.ratings) if args.ratings else None


def names(text: str | None) -> list[str]:
    """Names with commas between them."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


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
