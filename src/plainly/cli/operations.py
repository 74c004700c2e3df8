"""``plainly operations``: what was done to the sentences, by whom, how often, and how surely."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from plainly.cli import operations_measure as measuring
from plainly.cli import operations_views as views
from plainly.cli import output, streaming
from plainly.typology.agreement import MERGES
from plainly.typology.relations import MODELS

HELP = """What was done to the sentences: splits, deletions, synonyms and 23 other operations.

  plainly operations typology
  plainly operations profile assetann/annotations
  plainly operations label -t asset/test ACCESS -o access.jsonl
  plainly operations compare -t asset/test ACCESS Dress
  plainly operations agreement assetann/gold mine.aln
  plainly operations regress assetann/annotations -m sari

A SET is a file (.aln with its .crp, .jsonl, .tsv, .ann with its .txt) or a data set (assetann/annotations).
"""
_SET = "annotated pairs: .aln (with its .crp), .jsonl, .tsv, .ann (with its .txt), or a data set's name"


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    typology = actions.add_parser("typology", help="the labels, their classes and definitions")
    typology.add_argument("label", nargs="?", help="explain one label or class")
    typology.add_argument("--mapping", metavar="NAME", help="how another typology maps onto it: salsa, ts-anno, easse")

    profile = actions.add_parser(
        "profile", help="how often each operation occurs, on how many words, with which others"
    )
    profile.add_argument("set", metavar="SET", help=_SET)
    profile.add_argument("--cooccurrence", action="store_true", help="print which operations occur together")

    compare = actions.add_parser("compare", help="what systems do, beside what people do to the same sentences")
    _add_texts(compare)
    compare.add_argument(
        "--people", metavar="SET", help="annotated pairs of people; default: the references, labelled alike"
    )
    compare.add_argument("--seed", type=int, default=12345, help="seed of the bootstrap (12345)")

    label = actions.add_parser("label", help="label the operations between sources and outputs")
    _add_texts(label)
    label.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes, for many pairs (all cores)")
    label.add_argument(
        "-o", "--output", metavar="FILE", help="write them here: .jsonl, .aln, .ann or .tsv (default: stdout)"
    )
    streaming.add_arguments(label)

    agreement = actions.add_parser("agreement", help="how far annotators agree with one another, or with a gold")
    agreement.add_argument(
        "sets", nargs="+", metavar="SET", help="the same pairs annotated by several; with --gold, by one"
    )
    agreement.add_argument("--gold", metavar="SET", help="compare every set with this one: kappa, precision, recall")
    agreement.add_argument("--merge", choices=MERGES, default="labels", help="count kinds as one before comparing")

    check = actions.add_parser("repair", help="find labels on the wrong side and put them right")
    check.add_argument("set", metavar="SET", help=_SET)
    check.add_argument("-o", "--output", metavar="FILE", help="write the repaired pairs here")

    convert = actions.add_parser("convert", help="from one format to another")
    convert.add_argument("set", metavar="SET", help=_SET)
    convert.add_argument("output", metavar="FILE", help="its ending chooses the format")

    for name, text in (
        ("correlate", "correlation of operations with a metric and its parts"),
        ("regress", "regression of a metric's parts on operations"),
    ):
        action = actions.add_parser(name, help=text)
        action.add_argument(
            "set", metavar="SET", help=_SET + "; each output is scored against the others of its source"
        )
        action.add_argument("-m", "--metric", default="sari", help="which metric (sari)")
        action.add_argument("--part", action="append", metavar="NAME", help="which of its outputs; may be repeated")
        if name == "regress":
            action.add_argument("--model", choices=MODELS, default="lasso", help="which model (lasso)")
            action.add_argument("--alpha", type=float, help="penalty; default: chosen by cross-validation")
            action.add_argument("--folds", type=int, default=10, help="folds, by source (10)")

    evaluate = actions.add_parser("evaluate", help="how good a labeller is, beside baselines and beside people")
    evaluate.add_argument(
        "set", nargs="?", default="assetann/gold", metavar="SET", help=_SET + " (default: assetann/gold)"
    )
    _add_labeller(evaluate)

    train = actions.add_parser(
        "train", help="measure by cross-validation, or make, the trained labeller (needs PyTorch)"
    )
    train.add_argument("set", nargs="?", default="assetann/annotations", metavar="SET", help=_SET)
    train.add_argument("-o", "--output", metavar="FILE", help="train on everything and write the weights here (.npz)")
    train.add_argument("--folds", type=int, default=5, help="folds of the cross-validation, by source (5)")
    train.add_argument(
        "--gold", default="assetann/gold", metavar="SET", help="some of the same pairs, to measure on as well"
    )
    train.add_argument("--spacy", metavar="MODEL", help="with a parser: the name or path of a spaCy model")
    train.add_argument("--save", metavar="FILE", help="write the cross-validated labels here (.jsonl)")

    for action in actions.choices.values():
        output.add_formats(action)


def run(args: argparse.Namespace) -> int:
    module = measuring if args.action in ("evaluate", "train") else views
    chosen: Callable[[argparse.Namespace], None] = getattr(module, args.action)
    chosen(args)
    return 0


def _add_texts(parser: argparse.ArgumentParser) -> None:
    from plainly.cli import inputs

    inputs.add_arguments(parser)
    _add_labeller(parser)


def _add_labeller(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--labeller",
        default="light",
        help="light (trained on non-commercial data, no parser), rules (no trained weights), or spacy (with a parser)",
    )
