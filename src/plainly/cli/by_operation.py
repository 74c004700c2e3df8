"""The options that let a command evaluate on chosen references and items; ``score`` adds and applies them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from plainly.evalset import EvalSet

if TYPE_CHECKING:
    from plainly.typology.select import Selection

_CONDITIONS = {
    "references_with": "keep references that have one of these operations",
    "references_without": "remove references that have one of these operations",
    "items_with": "keep items of which a reference has one of these operations",
    "items_without": "remove such items",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options for choosing references and items by operation."""
    group = parser.add_argument_group(
        "by operation", "Evaluate on chosen references and items. NAMES are labels or classes: lexical, split, err, …"
    )
    for name, text in _CONDITIONS.items():
        flags = [f"--{name.replace('_', '-')}", *(["--without"] if name == "references_without" else [])]
        group.add_argument(*flags, metavar="NAMES", help=text)
    group.add_argument(
        "--items-share", type=float, metavar="SHARE", help="for items, ask for this share of references instead of one"
    )
    group.add_argument(
        "--operations",
        metavar="SET",
        help="where the operations are annotated: a file or data set (assetann/annotations), or auto to label them now",
    )


def asked(args: argparse.Namespace) -> bool:
    """Whether any condition was named."""
    return any(_conditions(args).values())


def apply(args: argparse.Namespace, evalset: EvalSet) -> Selection:
    """The part of the evaluation set that satisfies the conditions."""
    from plainly.typology.select import choose

    return choose(evalset, operations=args.operations, share=args.items_share, **_conditions(args))


def _conditions(args: argparse.Namespace) -> dict[str, str | None]:
    return {name: getattr(args, name, None) for name in _CONDITIONS}
