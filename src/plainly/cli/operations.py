"""``plainly operations``: label, count and compare what was done to the sentences."""

import argparse
from collections.abc import Callable
from pathlib import Path

from plainly.cli import options
from plainly.cli.options import number
from plainly.cli.show import print_warnings, say, say_written
from plainly.core.errors import BadInput
from plainly.core.limits import cores
from plainly.core.progress import bar
from plainly.core.result import Result

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

    def action(name: str, summary: str) -> Callable[..., argparse.Action]:
        return actions.add_parser(name, help=summary).add_argument

    add = action("typology", "the labels, their classes and definitions")
    add("label", nargs="?", help="explain one label or class")
    add("--mapping", metavar="NAME", help="how another typology maps onto it: salsa, ts-anno, easse")

    add = action("profile", "how often each operation occurs, on how many words, with which others")
    add("set", metavar="SET", help=_SET)
    add("--cooccurrence", action="store_true", help="print which operations occur together")

    add = action("compare", "what systems do, compared with what people do to the same sentences")
    options.add_texts(actions.choices["compare"])
    add("--people", metavar="SET", help="pairs annotated by people; default: the references, labelled alike")
    options.add_sampling(actions.choices["compare"])

    add = action("label", "label the operations between sources and outputs")
    options.add_texts(actions.choices["label"], streaming=True)
    add("--workers", type=number("--workers"), dest="processes", metavar="N", help="the same as --processes")
    add("-o", "--output", metavar="FILE", help="file to write: .jsonl, .aln, .ann or .tsv (default: stdout)")

    add = action("agreement", "how far annotators agree with one another, or with a gold standard")
    add("sets", nargs="+", metavar="SET", help="the same pairs by several annotators; with --gold, one is enough")
    add("--gold", metavar="SET", help="compare every set with this one: kappa, precision, recall")
    add("--merge", default="labels", metavar="KINDS", help="merge insertions-deletions, computational or changed")

    add = action("repair", "find labels on the wrong side and correct them")
    add("set", metavar="SET", help=_SET)
    add("-o", "--output", metavar="FILE", help="file for the repaired pairs")

    add = action("convert", "convert one format to another")
    add("set", metavar="SET", help=_SET)
    add("output", metavar="FILE", help="file to write; its ending determines the format")

    for name, summary in (
        ("correlate", "correlation of operations with a metric and its parts"),
        ("regress", "regression of a metric's parts on operations"),
    ):
        add = action(name, summary)
        add("set", metavar="SET", help=_SET + "; each output is scored against the others of its source")
        add("-m", "--metric", default="sari", help="which metric (sari)")
        add("--part", action="append", metavar="NAME", help="outputs of the metric to use; may be repeated")
        options.add_calls(actions.choices[name])
    add("--model", default="lasso", help="lasso (the default), ridge, linear, tree or forest")
    add("--alpha", type=number("--alpha", "float"), help="penalty; default: chosen by cross-validation")
    add("--folds", type=number("--folds"), default=10, help="folds, by source (10)")

    add = action("evaluate", "how good a labeller is, compared with baselines and people")
    add("set", nargs="?", default="assetann/gold", metavar="SET", help=_SET + " (default: assetann/gold)")

    add = action("train", "train the labeller, or evaluate its training by cross-validation (needs PyTorch)")
    add("set", nargs="?", default="assetann/annotations", metavar="SET", help=_SET)
    add("-o", "--output", metavar="FILE", help="train on everything and write the weights here (.npz)")
    add("--folds", type=number("--folds"), default=5, help="folds of the cross-validation, by source (5)")
    add("--gold", default="assetann/gold", metavar="SET", help="some of the same pairs, to measure on as well")
    add("--spacy", metavar="MODEL", help="with a parser: the name or path of a spaCy model")
    add("--save", metavar="FILE", help="file for the cross-validated labels (.jsonl)")

    labeller = "light (trained on non-commercial data), rules (no trained weights), or spacy (with a parser)"
    for name in ("compare", "label", "evaluate"):
        actions.choices[name].add_argument("--labeller", default="light", help=labeller)
    for name, subparser in actions.choices.items():
        options.add_formats(subparser, force=name in ("label", "repair", "convert", "train"))


def run(args: argparse.Namespace) -> Result | int:
    result = _ACTIONS[args.action](args)
    if result is None:
        return 0
    if args.format not in (None, "json"):  # a licence is shown in every format
        for note in result.notes():
            if note.code and note.kind == "about":
                say(note.message)
    return result


def _show_typology(args: argparse.Namespace) -> Result:
    from plainly.typology.vocabulary import glossary, typology_mapping

    return typology_mapping(args.mapping) if args.mapping else glossary(args.label)


def _profile(args: argparse.Namespace) -> Result:
    from plainly.typology.operations import operations

    profile = operations(args.set)
    return profile.together() if args.cooccurrence else profile


def _compare(args: argparse.Namespace) -> Result:
    from plainly.typology.operations import compare_with_people

    settings = {"people": args.people, "labeller": args.labeller, "sampling": options.sampling(args)}
    return compare_with_people(options.read_arguments(args), **settings, processes=cores(), progress=bar)


def _label(args: argparse.Namespace) -> Result | None:
    from plainly.streaming.corpus import Corpus
    from plainly.streaming.engines import engine
    from plainly.typology import formats, labelling

    is_by_sentence = args.unit == "sentence"
    if is_by_sentence:
        args.unit = None  # whole texts, so that additions and merges are labelled too
    with options.open_arguments(args) as data:
        if isinstance(data, Corpus):
            if is_by_sentence:
                raise BadInput("--unit is for texts that are held in memory. Use it with --engine memory.")
            if not args.output or Path(args.output).suffix:
                raise BadInput("A corpus that is read in parts is labelled into a folder. Name one: -o FOLDER")
            workers = engine(args.engine, processes=args.processes, address=args.address)
            settings = {"labeller": args.labeller, "on_error": args.on_error, "restart": args.restart}
            return labelling.label_corpus(data, args.output, engine=workers, **settings, progress=bar)
        options.check_targets(args, args.output)
        settings = {"labeller": args.labeller, "processes": args.processes or cores()}
        result = labelling.label(data, unit="sentence" if is_by_sentence else None, **settings, progress=bar)
    if args.format is not None and not args.output:
        return result
    for note in labelling.note_licence(result.labeller):
        say(note.message)
    print_warnings(result.remarks)
    for system, counts in result.documents.items():
        say(f"{system or 'outputs'}: {', '.join(f'{name} {count:,}' for name, count in counts.items())}")
    if args.output:
        say_written(*result.save(args.output))
    else:
        print(formats.write_jsonl(result.pairs), end="")
    return None


def _measure_agreement(args: argparse.Namespace) -> Result:
    from plainly.typology import agreement, formats

    sets = {name: formats.load(name) for name in args.sets}
    if args.gold:
        return agreement.gold_agreement(args.gold, sets, merge=args.merge)
    return agreement.annotator_agreement(sets, merge=args.merge)


def _repair(args: argparse.Namespace) -> Result:
    from plainly.typology.agreement import repair

    options.check_targets(args, args.output)
    result = repair(args.set)
    if args.output:
        say_written(*result.save(args.output))
    return result


def _convert(args: argparse.Namespace) -> None:
    from plainly.typology import formats

    options.check_targets(args, args.output)
    say_written(*formats.save(formats.load(args.set), args.output))


def _relate(args: argparse.Namespace) -> Result:
    from plainly.typology.metric_correlations import correlate, regress

    if args.action == "correlate":
        return correlate(args.set, metric=args.metric, parts=args.part)
    return regress(args.set, metric=args.metric, parts=args.part, model=args.model, alpha=args.alpha, folds=args.folds)


def _measure_labeller(args: argparse.Namespace) -> Result | None:
    from plainly.typology import agreement

    if args.action == "evaluate":
        return agreement.evaluate_labeller(args.set, name=args.labeller)
    options.check_targets(args, args.output, args.save)
    if not args.output:
        result = agreement.cross_validate_labeller(
            args.set, gold=args.gold or None, folds=args.folds, spacy=args.spacy, save=args.save, progress=bar
        )
        say_written(args.save)
        return result
    losses = agreement.train_labeller(args.output, args.set, spacy=args.spacy, progress=bar)
    say(f"Loss by epoch: {', '.join(f'{loss:.3f}' for loss in losses)}")
    say(f"Wrote {args.output} ({Path(args.output).stat().st_size / 1e6:.2f} MB)")
    return None


_ACTIONS: dict[str, Callable[[argparse.Namespace], Result | None]] = {
    "typology": _show_typology,
    "profile": _profile,
    "compare": _compare,
    "label": _label,
    "agreement": _measure_agreement,
    "repair": _repair,
    "convert": _convert,
    "correlate": _relate,
    "regress": _relate,
    "evaluate": _measure_labeller,
    "train": _measure_labeller,
}
