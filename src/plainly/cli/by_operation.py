"""The options that let a command evaluate on chosen references and items; ``score`` adds and applies them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from plainly.cli import options
from plainly.evalset import EvalSet

if TYPE_CHECKING:
    from plainly.typology.select import Selection

_CONDITIONS = ("references_with", "references_without", "items_with", "items_without")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options for choosing references and items by operation; NAMES are labels or classes: lexical, split, err."""
    options.add(parser, "by_operation")


def asked(args: argparse.Namespace) -> bool:
    """Whether any condition was named."""
    return any(_conditions(args).values())


def apply(args: argparse.Namespace, evalset: EvalSet) -> Selection:
    """The part of the evaluation set that satisfies the conditions."""
    from plainly.typology.select import choose

    return choose(evalset, operations=args.operations, share=args.items_share, **_conditions(args))


def _conditions(args: argparse.Namespace) -> dict[str, str | None]:
    return {name: getattr(args, name, None) for name in _CONDITIONS}
