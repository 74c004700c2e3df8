"""``plainly operations``: what was done to the sentences, by whom, how often, and how surely."""

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path

from plainly.cli import inputs, options, streaming
from plainly.cli.operations_options import configure as configure
from plainly.cli.progress import bar
from plainly.cli.show import print_warnings, say
from plainly.core.errors import BadInput
from plainly.core.machine import cores
from plainly.core.result import Result
from plainly.streaming.corpus import Corpus
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


def run(args: argparse.Namespace) -> Result | int:
    result = _ACTIONS[args.action](args)
    if result is None:
        return 0
    if args.format not in (None, "json"):  # a licence is said in every format
        for note in result.notes():
            if note.code and note.kind == "about":
                say(note.message)
    return result


def _profile(args: argparse.Namespace) -> Result:
    profile = operations(args.set)
    return profile.together() if args.cooccurrence else profile


def _compare(args: argparse.Namespace) -> Result:
    asked = {"people": args.people, "labeller": args.labeller, "sampling": options.sampling(args)}
    return compare_with_people(inputs.read(args), processes=cores(), progress=bar, **asked)


def _label(args: argparse.Namespace) -> Result | None:
    sentence = "sentence" if args.unit == "sentence" else None
    if sentence:
        args.unit = None  # texts come whole, so that what was added and what was merged is labelled too
    with inputs.opened(args) as data:
        if isinstance(data, Corpus):
            if sentence:
                raise BadInput("--unit is for texts that are held in memory. Use it with --engine memory.")
            return _label_corpus(data, args)
        options.check_targets(args, args.output)
        processes = args.processes or cores()
        asked = {"labeller": args.labeller, "processes": processes, "progress": bar, "unit": sentence}
        labelled = labelling.label(data, **asked)
    if args.format is not None and not args.output:
        return labelled
    if labelled.notice:
        say(labelled.notice)
    print_warnings(labelled.remarks)
    for system, counts in labelled.documents.items():
        happened = ", ".join(f"{name} {count:,}" for name, count in counts.items())
        say(f"{system or 'outputs'}: {happened}")
    if args.output:
        _wrote(labelled.save(args.output))
    else:
        print(formats.write_jsonl(labelled.pairs), end="")
    return None


def _label_corpus(corpus: Corpus, args: argparse.Namespace) -> Result:
    if not args.output or Path(args.output).suffix:
        raise BadInput("A corpus that is read in parts is labelled into a folder. Name one: -o FOLDER")
    engine = streaming.chosen_engine(args)
    asked = {"labeller": args.labeller, "on_error": args.on_error, "restart": args.restart}
    return labelling.label_corpus(corpus, args.output, engine=engine, progress=bar, **asked)


def _agreement(args: argparse.Namespace) -> Result:
    sets = {name: formats.load(name) for name in args.sets}
    if args.gold:
        return agreement.gold_agreement(args.gold, sets, merge=args.merge)
    return agreement.annotator_agreement(sets, merge=args.merge)


def _repair(args: argparse.Namespace) -> Result:
    options.check_targets(args, args.output)
    repaired = agreement.repair(args.set)
    if args.output:
        _wrote(repaired.save(args.output))
    return repaired


def _relate(args: argparse.Namespace) -> Result:
    from plainly.typology.metric_correlations import correlate, regress

    asked = {"metric": args.metric, "parts": args.part}
    if args.action == "correlate":
        return correlate(args.set, **asked)
    return regress(args.set, **asked, model=args.model, alpha=args.alpha, folds=args.folds)


def _measure(args: argparse.Namespace) -> Result | None:
    if args.action == "evaluate":
        return agreement.evaluate_labeller(args.set, name=args.labeller)
    options.check_targets(args, args.output, args.save)
    asked = {"spacy": args.spacy, "progress": bar}
    if not args.output:
        gold = args.gold or None
        return agreement.cross_validate_labeller(
            args.set, gold=gold, folds=args.folds, save=args.save, **asked
        )
    losses = agreement.train_labeller(args.output, args.set, **asked)
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
