"""``plainly operations evaluate`` and ``train``: how good labellers are, and how the trained one is made."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from plainly import tables
from plainly.cli import output
from plainly.operations import formats, measure
from plainly.operations.agreement import AgainstGold
from plainly.operations.annotation import Pair
from plainly.operations.label import labeller
from plainly.tables import Grid

SCHEMA = "plainly.operations/1"


def evaluate(args: argparse.Namespace) -> None:
    gold = formats.load(args.set)
    chosen = labeller(args.labeller)
    if chosen.notice:
        output.note(chosen.notice)
        output.note(
            "These weights were trained on all of ASSETann, the sources of its gold among them: on either, the figures "
            "are too good. For honest ones: plainly operations train"
        )
    _report(args, gold, {chosen.name: measure.labelled_again(gold, chosen)})


def train(args: argparse.Namespace) -> None:
    from plainly.operations import training
    from plainly.operations.model import save
    from plainly.operations.parse import Parser

    pairs = formats.load(args.set)
    parser = Parser(args.spacy) if args.spacy else None
    settings = training.Settings()
    if args.output:
        labels = training.label_sets(pairs)
        ready = training.examples(pairs, labels, buckets=settings.buckets, parser=parser)
        kept = [example for example, pair in zip(ready, pairs, strict=True) if "err" not in pair.labels]
        weights = training.train(kept, labels, settings, tell=output.note)
        card = {
            "data": args.set,
            "licence": "CC-BY-NC-4.0",
            "pairs": len(kept),
            "settings": asdict(settings),
            "parser": bool(args.spacy),
        }
        save(Path(args.output), replace(weights, card=card))
        output.note(f"Wrote {args.output} ({Path(args.output).stat().st_size / 1e6:.2f} MB)")
        return
    labelled = training.cross_validate(pairs, settings, folds=args.folds, parser=parser, tell=output.note)
    if args.save:
        formats.save(labelled, args.save)
    name = f"trained{' with a parser' if args.spacy else ''}, {args.folds} folds by source"
    _report(args, pairs, {name: labelled})


def _report(args: argparse.Namespace, gold: Sequence[Pair], systems: Mapping[str, Sequence[Pair]]) -> None:
    everything = {
        "nothing changed": measure.baseline_none(gold),
        "EASSE-style words": measure.baseline_words(gold),
        **({"rules": measure.labelled_again(gold, labeller("rules"))} if "rules" not in systems else {}),
        **systems,
    }
    results = measure.table(gold, everything)
    clean = [
        each
        for name, pairs in everything.items()
        for each in measure.table(
            measure.without_errors(gold, pairs)[0], {name: measure.without_errors(gold, pairs)[1]}
        )
    ]
    if args.format == "json":
        output.print_json(
            {
                "schema": SCHEMA,
                "gold": args.set,
                "labellers": [each.data() for each in results],
                "without_erroneous_pairs": [each.data() for each in clean],
                "people": {
                    side: {"kappa": found.kappa, "labels": found.labels} for side, found in measure.people().items()
                },
            }
        )
        return
    rows = [
        [
            each.annotator,
            each.side,
            *(_number(value) for value in (each.kappa, each.micro_f1, each.macro_f1)),
            _number(other.kappa),
        ]
        for each, other in zip(results, clean, strict=True)
    ]
    rows += [
        ["nine people, the paper's gold", side, _number(found.kappa), "–", "–", "–"]
        for side, found in measure.people().items()
    ]
    _print(
        args,
        ["labeller", "side", "kappa", "micro F1", "macro F1", "kappa without err pairs"],
        rows,
        text=frozenset({0, 1}),
    )
    for name in systems:
        for each in results:
            if each.annotator == name:
                _labels(args, each)


def _labels(args: argparse.Namespace, each: AgainstGold) -> None:
    people = measure.people()[each.side].labels
    rows = [
        [
            score.label,
            str(score.gold),
            str(score.marked),
            *(_number(value) for value in (score.precision, score.recall, score.f1)),
            *(f"{people[score.label][at]:.2f}" if score.label in people else "–" for at in (1, 0)),
        ]
        for score in each.labels
    ]
    if args.format is None:
        print(f"\n{each.annotator}: {each.side}")
    _print(
        args, ["label", "gold", "marked", "precision", "recall", "F1", "people's precision", "people's recall"], rows
    )


def _print(
    args: argparse.Namespace, header: list[str], rows: list[list[str]], *, text: frozenset[int] = frozenset({0})
) -> None:
    if args.format == "csv":
        print(tables.delimited(header, rows))
        return
    output.print_grid(Grid(tuple(header), tuple(map(tuple, rows)), text_columns=text), form=args.format)


def _number(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.3f}"
