"""The options that let a command evaluate on chosen references and items; ``score`` adds and applies them.

options.add_arguments(parser)
selection = options.apply(args, evalset)      # None when no such option was given
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from plainly.errors import BadInput
from plainly.evalset import EvalSet

if TYPE_CHECKING:
    from plainly.typology.select import Selection

DEFAULT = "assetann/annotations"
_CONDITIONS = ("references_with", "references_without", "items_with", "items_without")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options for choosing references and items by operation."""
    group = parser.add_argument_group(
        "by operation", "Evaluate on chosen references and items. NAMES are labels or classes: lexical, split, err, …"
    )
    group.add_argument("--references-with", metavar="NAMES", help="keep references that have one of these operations")
    group.add_argument(
        "--references-without", "--without", metavar="NAMES", help="remove references that have one of these operations"
    )
    group.add_argument(
        "--items-with", metavar="NAMES", help="keep items of which a reference has one of these operations"
    )
    group.add_argument("--items-without", metavar="NAMES", help="remove such items")
    group.add_argument(
        "--items-share", type=float, metavar="SHARE", help="for items, ask for this share of references instead of one"
    )
    group.add_argument(
        "--operations",
        metavar="SET",
        help=f"where the operations are annotated: a file or data set (default: {DEFAULT}), or auto to label them now",
    )


def asked(args: argparse.Namespace) -> bool:
    """Whether any of the conditions was given."""
    return any(getattr(args, name, None) for name in _CONDITIONS)


def apply(args: argparse.Namespace, evalset: EvalSet) -> Selection | None:
    """The chosen part of the evaluation set, or None when no condition was given."""
    if not asked(args):
        return None
    if not evalset.references:
        raise BadInput("References and items are chosen by the operations in references, and there are none.")
    from plainly.typology.select import reference_labels, select

    annotated = _annotated(getattr(args, "operations", None) or DEFAULT, evalset)
    labels = reference_labels(evalset, annotated)
    total = int(evalset.reference_counts.sum())
    unlabelled = sum(found is None for row in labels for found in row)
    if unlabelled == total:
        raise BadInput(
            "None of the references is annotated with operations. Name their annotations (--operations FILE), or let "
            "plainly label them (--operations auto)."
        )
    conditions: dict[str, Any] = {name: getattr(args, name) for name in _CONDITIONS}
    selection = select(evalset, labels, **conditions, share=args.items_share)
    if not len(selection.kept):
        raise BadInput("No item is left that has what was asked for. See: plainly operations profile")
    said = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in conditions.items() if value)
    return replace(selection, evalset=replace(selection.evalset, name=f"{evalset.name or 'the items'} ({said})"))


def _annotated(place: str, evalset: EvalSet) -> Any:
    if place == "auto":
        from plainly.typology.label import label_evalset

        return label_evalset(evalset)
    from plainly.typology.formats import load

    return load(place)
