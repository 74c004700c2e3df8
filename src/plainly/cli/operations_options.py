"""The arguments of ``plainly operations``, action by action."""

import argparse

from plainly.cli import inputs, options, streaming
from plainly.cli.show import add_formats

_SET = "annotated pairs: .aln (with its .crp), .jsonl, .tsv, .ann (with its .txt), or a data set's name"
_HELP = {
    "typology": "the labels, their classes and definitions",
    "profile": "how often each operation occurs, on how many words, with which others",
    "compare": "what systems do, beside what people do to the same sentences",
    "label": "label the operations between sources and outputs",
    "agreement": "how far annotators agree with one another, or with a gold",
    "repair": "find labels on the wrong side and put them right",
    "convert": "from one format to another",
    "correlate": "correlation of operations with a metric and its parts",
    "regress": "regression of a metric's parts on operations",
    "evaluate": "how good a labeller is, beside baselines and beside people",
    "train": "measure by cross-validation, or make, the trained labeller (needs PyTorch)",
}


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    parsers = {action: actions.add_parser(action, help=text) for action, text in _HELP.items()}
    _describing(parsers)
    _labelling(parsers)
    _annotating(parsers)
    _relating(parsers)
    for action in parsers.values():
        add_formats(action)
        action.set_defaults(force=True)  # labels are plain files, without a mark of who wrote them


def _describing(parsers: dict[str, argparse.ArgumentParser]) -> None:
    typology, profile, compare = parsers["typology"], parsers["profile"], parsers["compare"]
    typology.add_argument("label", nargs="?", help="explain one label or class")
    typology.add_argument("--mapping", metavar="NAME", help="how another typology maps onto it: salsa, ts-anno, easse")
    profile.add_argument("set", metavar="SET", help=_SET)
    profile.add_argument("--cooccurrence", action="store_true", help="print which operations occur together")
    inputs.add_texts(compare)
    _add_labeller(compare)
    compare.add_argument(
        "--people", metavar="SET", help="annotated pairs of people; default: the references, labelled alike"
    )
    options.add_sampling(compare)


def _labelling(parsers: dict[str, argparse.ArgumentParser]) -> None:
    label, evaluate, train = parsers["label"], parsers["evaluate"], parsers["train"]
    inputs.add_texts(label)
    _add_labeller(label)
    label.add_argument(
        "--workers", type=options.number("--workers"), dest="processes", metavar="N", help="the same as --processes"
    )
    label.add_argument(
        "-o", "--output", metavar="FILE", help="write them here: .jsonl, .aln, .ann or .tsv (default: stdout)"
    )
    streaming.add_streaming(label)
    evaluate.add_argument(
        "set", nargs="?", default="assetann/gold", metavar="SET", help=_SET + " (default: assetann/gold)"
    )
    _add_labeller(evaluate)
    train.add_argument("set", nargs="?", default="assetann/annotations", metavar="SET", help=_SET)
    train.add_argument("-o", "--output", metavar="FILE", help="train on everything and write the weights here (.npz)")
    train.add_argument(
        "--folds", type=options.number("--folds"), default=5, help="folds of the cross-validation, by source (5)"
    )
    train.add_argument(
        "--gold", default="assetann/gold", metavar="SET", help="some of the same pairs, to measure on as well"
    )
    train.add_argument("--spacy", metavar="MODEL", help="with a parser: the name or path of a spaCy model")
    train.add_argument("--save", metavar="FILE", help="write the cross-validated labels here (.jsonl)")


def _annotating(parsers: dict[str, argparse.ArgumentParser]) -> None:
    agreement, repair, convert = parsers["agreement"], parsers["repair"], parsers["convert"]
    agreement.add_argument(
        "sets", nargs="+", metavar="SET", help="the same pairs annotated by several; with --gold, by one"
    )
    agreement.add_argument("--gold", metavar="SET", help="compare every set with this one: kappa, precision, recall")
    agreement.add_argument(
        "--merge",
        default="labels",
        metavar="KINDS",
        help="count kinds as one before comparing: insertions-deletions, computational or changed",
    )
    repair.add_argument("set", metavar="SET", help=_SET)
    repair.add_argument("-o", "--output", metavar="FILE", help="write the repaired pairs here")
    convert.add_argument("set", metavar="SET", help=_SET)
    convert.add_argument("output", metavar="FILE", help="its ending chooses the format")


def _relating(parsers: dict[str, argparse.ArgumentParser]) -> None:
    for parser in (parsers["correlate"], parsers["regress"]):
        parser.add_argument(
            "set", metavar="SET", help=_SET + "; each output is scored against the others of its source"
        )
        parser.add_argument("-m", "--metric", default="sari", help="which metric (sari)")
        parser.add_argument("--part", action="append", metavar="NAME", help="which of its outputs; may be repeated")
    regress = parsers["regress"]
    regress.add_argument("--model", default="lasso", help="lasso (the default), ridge, linear, tree or forest")
    regress.add_argument(
        "--alpha", type=options.number("--alpha", "float"), help="penalty; default: chosen by cross-validation"
    )
    regress.add_argument("--folds", type=options.number("--folds"), default=10, help="folds, by source (10)")


def _add_labeller(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--labeller",
        default="light",
        help="light (trained on non-commercial data, no parser), rules (no trained weights), or spacy (with a parser)",
    )
