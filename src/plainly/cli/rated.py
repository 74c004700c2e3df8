"""The arguments with which commands take ratings: a public set by name, or a table of one's own."""

import argparse
from dataclasses import replace

from plainly.cli import options
from plainly.cli.progress import bar
from plainly.errors import BadInput
from plainly.ratings.rankings import Choice, read_rankings
from plainly.ratings.types import Judgements, Scale
from plainly.text.languages import detection


def read(args: argparse.Namespace) -> Judgements:
    """The ratings that the arguments name."""
    from plainly.ratings import take

    columns = (options.columns(args.columns) or {}).items()
    judgements = take(
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
