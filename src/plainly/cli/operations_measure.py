"""``plainly operations evaluate`` and ``train``: how good labellers are, and how the trained one is made."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from plainly.cli import output
from plainly.render import tables
from plainly.result import Table
from plainly.typology import formats, measure
from plainly.typology.agreement import AgainstGold
from plainly.typology.annotation import Pair
from plainly.typology.label import labeller

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
    _print_reports(args, [_measured(args.set, gold, {chosen.name: measure.labelled_again(gold, chosen)})])


def train(args: argparse.Namespace) -> None:
    from plainly.typology import training
    from plainly.typology.model import save
    from plainly.typology.parse import Parser

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
    reports = [_measured(args.set, pairs, {name: labelled})]
    if args.gold:
        gold = formats.load(args.gold)
        reports.append(_measured(args.gold, gold, {name: measure.same_texts(gold, labelled)}))
    _print_reports(args, reports)


@dataclass(frozen=True)
class _Report:
    """Labellers on one annotated set; ``shown`` are those whose labels are shown one by one."""

    gold: str
    shown: tuple[str, ...]
    results: list[AgainstGold]
    clean: list[AgainstGold]


def _measured(gold_name: str, gold: Sequence[Pair], systems: Mapping[str, Sequence[Pair]]) -> _Report:
    everything = {
        "nothing changed": measure.baseline_none(gold),
        "EASSE-style words": measure.baseline_words(gold),
        **({"rules": measure.labelled_again(gold, labeller("rules"))} if "rules" not in systems else {}),
        **systems,
    }
    clean = [
        each
        for name, pairs in everything.items()
        for each in measure.table(
            measure.without_errors(gold, pairs)[0], {name: measure.without_errors(gold, pairs)[1]}
        )
    ]
    return _Report(gold_name, tuple(systems), measure.table(gold, everything), clean)


def _print_reports(args: argparse.Namespace, reports: Sequence[_Report]) -> None:
    people = measure.people()
    if args.format == "json":
        output.print_json(
            {
                "schema": SCHEMA,
                "sets": [
                    {
                        "gold": report.gold,
                        "labellers": [each.data() for each in report.results],
                        "without_erroneous_pairs": [each.data() for each in report.clean],
                    }
                    for report in reports
                ],
                "people": {side: {"kappa": found.kappa, "labels": found.labels} for side, found in people.items()},
            }
        )
        return
    for report in reports:
        rows = [
            [
                each.annotator,
                each.side,
                *(_number(value) for value in (each.kappa, each.micro_f1, each.macro_f1, other.kappa)),
            ]
            for each, other in zip(report.results, report.clean, strict=True)
        ]
        rows += [
            ["nine people, the paper's gold", side, _number(found.kappa), "–", "–", "–"]
            for side, found in people.items()
        ]
        if args.format is None:
            print(f"{report.gold}:")
        header = ["labeller", "side", "kappa", "micro F1", "macro F1", "kappa without err pairs"]
        _print(args, header, rows, text=frozenset({0, 1}))
        for each in report.results:
            if each.annotator in report.shown:
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
    output.print_grid(Table(tuple(header), tuple(map(tuple, rows)), text_columns=text), form=args.format)


def _number(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.3f}"
