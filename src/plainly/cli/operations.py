"""``plainly operations``: what was done to the sentences, by whom, how often, and how surely."""

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path

from plainly.cli import options
from plainly.cli.options import number
from plainly.cli.show import print_warnings, say
from plainly.core.errors import BadInput
from plainly.core.limits import cores
from plainly.core.progress import bar
from plainly.core.result import Result
from plainly.io.units import Unit
from plainly.streaming.corpus import Corpus
from plainly.streaming.engines import engine
from plainly.typology import agreement, formats, labelling
from plainly.typology.operations import compare_with_people, operations
from plainly.typology.vocabulary import glossary, typology_mapping

HELP = """\
What was done to the sentences: splits, deletions, synonyms and 23 other operations.

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

    def action(name: str, summary: str) -> argparse.ArgumentParser:
        options_of_action = actions.add_parser(name, help=summary)
        options_of_action.set_defaults(force=True)  # annotations carry no mark of who wrote them
        return options_of_action

    typology = action("typology", "the labels, their classes and definitions")
    typology.add_argument("label", nargs="?", help="explain one label or class")
    typology.add_argument("--mapping", metavar="NAME", help="how another typology maps onto it: salsa, ts-anno, easse")

    profile = action("profile", "how often each operation occurs, on how many words, with which others")
    profile.add_argument("set", metavar="SET", help=_SET)
    profile.add_argument("--cooccurrence", action="store_true", help="print which operations occur together")

    compare = action("compare", "what systems do, compared with what people do to the same sentences")
    options.add_texts(compare)
    compare.add_argument(
        "--people", metavar="SET", help="annotated pairs of people; default: the references, labelled alike"
    )
    options.add_sampling(compare)

    label = action("label", "label the operations between sources and outputs")
    options.add_texts(label, streaming=True)
    label.add_argument(
        "--workers", type=number("--workers"), dest="processes", metavar="N", help="the same as --processes"
    )
    label.add_argument(
        "-o", "--output", metavar="FILE", help="write them here: .jsonl, .aln, .ann or .tsv (default: stdout)"
    )

    agreement = action("agreement", "how far annotators agree with one another, or with a gold")
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

    repair = action("repair", "find labels on the wrong side and correct them")
    repair.add_argument("set", metavar="SET", help=_SET)
    repair.add_argument("-o", "--output", metavar="FILE", help="write the repaired pairs here")

    convert = action("convert", "from one format to another")
    convert.add_argument("set", metavar="SET", help=_SET)
    convert.add_argument("output", metavar="FILE", help="its ending chooses the format")

    correlate = action("correlate", "correlation of operations with a metric and its parts")
    regress = action("regress", "regression of a metric's parts on operations")
    for relate in (correlate, regress):
        relate.add_argument(
            "set", metavar="SET", help=_SET + "; each output is scored against the others of its source"
        )
        relate.add_argument("-m", "--metric", default="sari", help="which metric (sari)")
        relate.add_argument("--part", action="append", metavar="NAME", help="which of its outputs; may be repeated")
    regress.add_argument("--model", default="lasso", help="lasso (the default), ridge, linear, tree or forest")
    regress.add_argument(
        "--alpha", type=number("--alpha", "float"), help="penalty; default: chosen by cross-validation"
    )
    regress.add_argument("--folds", type=number("--folds"), default=10, help="folds, by source (10)")

    evaluate = action("evaluate", "how good a labeller is, compared with baselines and people")
    evaluate.add_argument(
        "set", nargs="?", default="assetann/gold", metavar="SET", help=_SET + " (default: assetann/gold)"
    )

    train = action("train", "measure by cross-validation, or make, the trained labeller (needs PyTorch)")
    train.add_argument("set", nargs="?", default="assetann/annotations", metavar="SET", help=_SET)
    train.add_argument("-o", "--output", metavar="FILE", help="train on everything and write the weights here (.npz)")
    train.add_argument(
        "--folds", type=number("--folds"), default=5, help="folds of the cross-validation, by source (5)"
    )
    train.add_argument(
        "--gold", default="assetann/gold", metavar="SET", help="some of the same pairs, to measure on as well"
    )
    train.add_argument("--spacy", metavar="MODEL", help="with a parser: the name or path of a spaCy model")
    train.add_argument("--save", metavar="FILE", help="write the cross-validated labels here (.jsonl)")

    for labelling_action in (compare, label, evaluate):
        labelling_action.add_argument(
            "--labeller",
            default="light",
            help="light (trained on non-commercial data), rules (no trained weights), or spacy (with a parser)",
        )
    for each in actions.choices.values():
        options.add_formats(each)


def run(args: argparse.Namespace) -> Result | int:
    result = _ACTIONS[args.action](args)
    if result is None:
        return 0
    if args.format not in (None, "json"):  # a licence is shown in every format
        for note in result.notes():
            if note.code and note.kind == "about":
                say(note.message)
    return result


def _profile(args: argparse.Namespace) -> Result:
    profile = operations(args.set)
    return profile.together() if args.cooccurrence else profile


def _compare(args: argparse.Namespace) -> Result:
    return compare_with_people(
        options.read_arguments(args),
        people=args.people,
        labeller=args.labeller,
        sampling=options.sampling(args),
        processes=cores(),
        progress=bar,
    )


def _label(args: argparse.Namespace) -> Result | None:
    sentence: Unit | None = "sentence" if args.unit == "sentence" else None
    if sentence:
        args.unit = None  # whole texts, so that additions and merges are labelled too
    with options.open_arguments(args) as data:
        if isinstance(data, Corpus):
            if sentence:
                raise BadInput("--unit is for texts that are held in memory. Use it with --engine memory.")
            return _label_corpus(data, args)
        options.check_targets(args, args.output)
        processes = args.processes or cores()
        result = labelling.label(data, unit=sentence, labeller=args.labeller, processes=processes, progress=bar)
    if args.format is not None and not args.output:
        return result
    for note in labelling.note_licence(result.labeller):
        say(note.message)
    print_warnings(result.remarks)
    for system, counts in result.documents.items():
        summary_of_counts = ", ".join(f"{name} {count:,}" for name, count in counts.items())
        say(f"{system or 'outputs'}: {summary_of_counts}")
    if args.output:
        _wrote(result.save(args.output))
    else:
        print(formats.write_jsonl(result.pairs), end="")
    return None


def _label_corpus(corpus: Corpus, args: argparse.Namespace) -> Result:
    if not args.output or Path(args.output).suffix:
        raise BadInput("A corpus that is read in parts is labelled into a folder. Name one: -o FOLDER")
    return labelling.label_corpus(
        corpus,
        args.output,
        labeller=args.labeller,
        engine=engine(args.engine, processes=args.processes, address=args.address),
        on_error=args.on_error,
        restart=args.restart,
        progress=bar,
    )


def _agreement(args: argparse.Namespace) -> Result:
    sets = {name: formats.load(name) for name in args.sets}
    if args.gold:
        return agreement.gold_agreement(args.gold, sets, merge=args.merge)
    return agreement.annotator_agreement(sets, merge=args.merge)


def _repair(args: argparse.Namespace) -> Result:
    options.check_targets(args, args.output)
    result = agreement.repair(args.set)
    if args.output:
        _wrote(result.save(args.output))
    return result


def _relate(args: argparse.Namespace) -> Result:
    from plainly.typology.metric_correlations import correlate, regress

    if args.action == "correlate":
        return correlate(args.set, metric=args.metric, parts=args.part)
    return regress(args.set, metric=args.metric, parts=args.part, model=args.model, alpha=args.alpha, folds=args.folds)


def _measure(args: argparse.Namespace) -> Result | None:
    if args.action == "evaluate":
        return agreement.evaluate_labeller(args.set, name=args.labeller)
    options.check_targets(args, args.output, args.save)
    if not args.output:
        return agreement.cross_validate_labeller(
            args.set, gold=args.gold or None, folds=args.folds, spacy=args.spacy, save=args.save, progress=bar
        )
    losses = agreement.train_labeller(args.output, args.set, spacy=args.spacy, progress=bar)
    say(f"Loss by epoch: {', '.join(f'{loss:.3f}' for loss in losses)}")
    say(f"Wrote {args.output} ({Path(args.output).stat().st_size / 1e6:.2f} MB)")
    return None


def _wrote(paths: Iterable[Path]) -> None:
    for path in paths:
        say(f"Wrote {path}")


_ACTIONS: dict[str, Callable[[argparse.Namespace], Result | None]] = {
    "typology": lambda args: typology_mapping(args.mapping) if args.mapping else glossary(args.label),
    "profile": _profile,
    "compare": _compare,
    "label": _label,
    "agreement": _agreement,
    "repair": _repair,
    "convert": lambda args: _wrote(formats.save(formats.load(args.set), args.output)),
    "correlate": _relate,
    "regress": _relate,
    "evaluate": _measure,
    "train": _measure,
}
