"""What ``plainly operations`` does for each of its actions: call the library, print what it found."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from plainly import registry
from plainly.cli import inputs, output, streaming
from plainly.errors import BadInput
from plainly.render import tables
from plainly.result import Table
from plainly.typology import agreement as agreeing
from plainly.typology import formats, relations
from plainly.typology import profile as profiles
from plainly.typology import typology as vocabulary
from plainly.typology.annotation import SIDES, Pair, findings
from plainly.typology.annotation import repair as repaired

SCHEMA = "plainly.operations/1"


def typology(args: argparse.Namespace) -> None:
    if args.mapping:
        _mapping(args)
        return
    chosen = vocabulary.operations()
    if args.label:
        wanted = vocabulary.resolve(args.label)
        chosen = tuple(each for each in chosen if each.label in wanted)
    if args.format == "json":
        fields = ("label", "guide", "paper", "title", "side", "computational", "linguistic", "definition")
        records = [
            {field: getattr(each, field) for field in fields}
            | {"example": {"source": each.example_source, "output": each.example_output, "groups": each.example_groups}}
            for each in chosen
        ]
        output.print_json({"schema": SCHEMA, "operations": records})
        return
    header = ["label", "guide", "side", "class", "kind", "what it is"]
    rows = [
        [
            each.label,
            each.guide,
            each.side,
            each.computational,
            each.linguistic,
            each.title if len(chosen) > 3 else each.definition,
        ]
        for each in chosen
    ]
    _print(args, header, rows, text=frozenset(range(6)))
    if args.format is None and len(chosen) <= 3:
        for each in chosen:
            print(f"{each.label}: {each.example_source} → {each.example_output}  ({each.example_groups})")


def profile(args: argparse.Namespace) -> None:
    found = profiles.profile(formats.load(args.set), name=args.set)
    if args.format == "json":
        output.print_json({"schema": SCHEMA, "profile": found.data()})
        return
    if args.cooccurrence:
        present = [at for at, label in enumerate(found.labels) if found[label].pairs]
        header = ["pairs with both", *(found.labels[at] for at in present)]
        rows = [[found.labels[at], *(str(found.cooccurrence[at, other]) for other in present)] for at in present]
        _print(args, header, rows)
        return
    header = ["operation", "pairs", "share", "annotations", "source words", "output words"]
    rows = [
        [
            each.label,
            str(each.pairs),
            f"{found.share(each.label):.1%}",
            str(each.annotations),
            _number(each.source_tokens, 2),
            _number(each.output_tokens, 2),
        ]
        for each in sorted(found.operations, key=lambda each: -each.pairs)
        if each.annotations
    ]
    _print(args, header, rows)
    if args.format is None:
        spread = ", ".join(f"{number}: {count}" for number, count in found.per_pair.items())
        output.note(
            f"{found.pairs} pairs, {found.unchanged} without any operation. Pairs by number of operations: {spread}"
        )


def compare(args: argparse.Namespace) -> None:
    from plainly.typology.label import labeller

    given = inputs.read(args)
    if not given.evalset.has_sources:
        raise BadInput(
            "Operations are what was done to the source, and no sources were given. Add them (--source FILE)."
        )
    label = labeller(args.labeller)
    _licence(label)
    if args.people:
        people: Sequence[Pair] = formats.load(args.people)
    elif given.evalset.references:
        people = label.label_evalset(given.evalset)
    else:
        raise BadInput("There is nobody to compare with: give references (--references FILE…) or --people SET.")
    results = {
        system: profiles.compare(
            label.label(given.evalset.sources, texts, part=system), people, rng=np.random.default_rng(args.seed)
        )
        for system, texts in given.outputs.items()
    }
    if args.format == "json":
        output.print_json(
            {
                "schema": SCHEMA,
                "labeller": label.name,
                "systems": [
                    {
                        "system": system,
                        "operations": {
                            each.label: {
                                "share": each.share,
                                "people": each.people,
                                "difference": each.difference.value,
                                "low": each.difference.low,
                                "high": each.difference.high,
                            }
                            for each in found
                        },
                        "in_words": profiles.sentences(found),
                    }
                    for system, found in results.items()
                ],
            }
        )
        return
    header = ["operation", "people", *results]
    rows = [
        [
            first.label,
            f"{first.people:.0%}",
            *(f"{found[at].share:.0%}{'*' if found[at].certain else ' '}" for found in results.values()),
        ]
        for at, first in enumerate(next(iter(results.values())))
        if first.people or any(found[at].share for found in results.values())
    ]
    _print(args, header, rows)
    if args.format is None:
        output.note("Share of sentences with each operation. * differs from people's (95 % bootstrap over sources).")
        for system, found in results.items():
            print(f"{system}: " + ("; ".join(profiles.sentences(found)) or "does what people do"))


def label(args: argparse.Namespace) -> None:
    from plainly.typology.label import labeller

    chosen = labeller(args.labeller)
    _licence(chosen)
    if streaming.wanted(args):
        streaming.label(args)
        return
    given = inputs.read(args)
    pairs = [
        pair
        for system, texts in given.outputs.items()
        for pair in chosen.label(
            given.evalset.sources,
            texts,
            ids=given.evalset.ids,
            part=system if len(given.outputs) > 1 else "",
            workers=args.workers,
        )
    ]
    if args.output:
        for path in formats.save(pairs, args.output):
            output.note(f"Wrote {path}")
    elif args.format == "json":
        output.print_json(
            {"schema": SCHEMA, "labeller": chosen.name, "pairs": [formats.record(pair) for pair in pairs]}
        )
    else:
        print(formats.write_jsonl(pairs), end="")


def agreement(args: argparse.Namespace) -> None:
    sets = {name: formats.load(name) for name in args.sets}
    if args.gold:
        _against_gold(args, sets)
        return
    if len(sets) < 2:
        raise BadInput("Agreement needs two annotators or more, or a --gold to compare one with.")
    sides: dict[str, Any] = {}
    rows = []
    for side in SIDES:
        labels = agreeing.aligned_labels(sets, side, merge=args.merge)
        overall = agreeing.davies_fleiss(labels)
        by_label = agreeing.label_agreement(labels)
        sides[side] = {"tokens": len(next(iter(labels.values()))), "davies_fleiss": overall, "labels": by_label}
        rows += [
            [side, "all", _number(overall, 3)],
            *([side, name, _number(value, 3)] for name, value in by_label.items()),
        ]
    if args.format == "json":
        output.print_json({"schema": SCHEMA, "annotators": list(sets), "merge": args.merge, "agreement": sides})
        return
    _print(args, ["side", "label", "Davies–Fleiss kappa"], rows, text=frozenset({0, 1}))


def repair(args: argparse.Namespace) -> None:
    pairs = formats.load(args.set)
    found = findings(pairs)
    fixed, changed = repaired(pairs)
    if args.output:
        for path in formats.save(fixed, args.output):
            output.note(f"Wrote {path}")
    if args.format == "json":
        output.print_json(
            {
                "schema": SCHEMA,
                "findings": [{"where": f.where, "what": f.what, "label": f.label, "detail": f.detail} for f in found],
                "repaired": [{"where": f.where, "label": f.label, "detail": f.detail} for f in changed],
            }
        )
        return
    _print(
        args,
        ["where", "what", "label", "detail"],
        [[f.where, f.what, f.label, f.detail] for f in found],
        text=frozenset(range(4)),
    )
    output.note(f"{len(found)} findings; {len(changed)} labels on the wrong side repaired.")


def convert(args: argparse.Namespace) -> None:
    for path in formats.save(formats.load(args.set), args.output):
        output.note(f"Wrote {path}")


def correlate(args: argparse.Namespace) -> None:
    pairs, labels, table, scores = _scored(args)
    found = {part: relations.correlate(table, labels, values) for part, values in scores.items()}
    if args.format == "json":
        parts = {
            part: {c.label: {"rho": c.rho, "p_value": c.p_value, "n": c.n} for c in row} for part, row in found.items()
        }
        output.print_json({"schema": SCHEMA, "metric": args.metric, "pairs": len(pairs), "parts": parts})
        return
    header = ["operation", *(f"{part} {what}" for part in found for what in ("rho", "p"))]
    rows = [
        [name, *(cell for row in found.values() for cell in (_number(row[at].rho, 3), _number(row[at].p_value, 4)))]
        for at, name in enumerate(labels)
    ]
    _print(args, header, rows)


def regress(args: argparse.Namespace) -> None:
    pairs, labels, table, scores = _scored(args)
    sources = [pair.source for pair in pairs]
    found = {
        part: relations.regress(
            table, labels, values, groups=sources, model=args.model, alpha=args.alpha, folds=args.folds
        )
        for part, values in scores.items()
    }
    if args.format == "json":
        parts = {
            part: {
                "alpha": r.alpha,
                "intercept": r.intercept,
                "coefficients": r.coefficients,
                "r2": r.r2,
                "r2_held_out": r.r2_held_out,
                "n": r.n,
            }
            for part, r in found.items()
        }
        output.print_json(
            {"schema": SCHEMA, "metric": args.metric, "model": args.model, "folds": args.folds, "parts": parts}
        )
        return
    rows = [
        [name, *(_number(r.coefficients.get(name, float("nan")), 2) for r in found.values())]
        for name in labels
        if any(abs(r.coefficients.get(name, 0)) > 0.005 for r in found.values())
    ]
    rows += [["R², fitted", *(_number(r.r2, 3) for r in found.values())]]
    rows += [[f"R², {args.folds} folds by source", *(_number(r.r2_held_out, 3) for r in found.values())]]
    rows += [["penalty", *("–" if r.alpha is None else f"{r.alpha:.3g}" for r in found.values())]]
    _print(args, [args.model, *found], rows)


def _scored(args: argparse.Namespace) -> tuple[list[Pair], list[str], Any, dict[str, Any]]:
    pairs = [pair for pair in formats.load(args.set) if "err" not in pair.labels]
    metric = registry.metric(args.metric)
    parts = args.part or [*metric.outputs[:4]]
    unknown = next((part for part in parts if part not in metric.outputs), None)
    if unknown:
        raise BadInput(f"{args.metric} has no output {unknown!r}. It has: {', '.join(metric.outputs)}")
    scores = relations.leave_one_out(pairs, metric)
    table = profiles.counts(pairs)
    labels = profiles.labels_in(pairs)
    present = [at for at, name in enumerate(labels) if table[:, at].any()]
    return pairs, [labels[at] for at in present], table[:, present], {part: scores[part] for part in parts}


def _against_gold(args: argparse.Namespace, sets: Mapping[str, Sequence[Pair]]) -> None:
    gold = formats.load(args.gold)
    found = [
        each for name, pairs in sets.items() for each in agreeing.against_gold(gold, pairs, name=name, merge=args.merge)
    ]
    if args.format == "json":
        output.print_json(
            {"schema": SCHEMA, "gold": args.gold, "merge": args.merge, "annotators": [f.data() for f in found]}
        )
        return
    for each in found:
        rows = [
            [
                score.label,
                str(score.gold),
                str(score.marked),
                *(_number(v, 2) for v in (score.precision, score.recall, score.f1)),
            ]
            for score in each.labels
        ]
        grid = Table(
            ("label", "gold", "marked", "precision", "recall", "F1"),
            tuple(map(tuple, rows)),
            caption=f"{each.annotator}, {each.side}: kappa {each.kappa:.3f}, micro F1 {each.micro_f1:.3f}, "
            f"macro F1 {each.macro_f1:.3f}, {each.tokens} tokens",
        )
        output.print_grid(grid, form=args.format if args.format != "csv" else None)


def _mapping(args: argparse.Namespace) -> None:
    other = vocabulary.mapping(args.mapping)
    if args.format == "json":
        output.print_json(
            {
                "schema": SCHEMA,
                "mapping": other.name,
                "source": other.source,
                "types": dict(other.types),
                "back": dict(other.back),
            }
        )
        return
    rows = [[theirs, ", ".join(ours) or "–"] for theirs, ours in other.types.items()]
    _print(args, [other.name, "ours, the likeliest first"], rows, text=frozenset({0, 1}))
    if args.format is None:
        output.note(f"{other.title}. {other.source} {other.lossy}")


def _licence(chosen: Any) -> None:
    if chosen.notice:
        output.note(chosen.notice)


def _print(
    args: argparse.Namespace, header: list[str], rows: list[list[str]], *, text: frozenset[int] = frozenset({0})
) -> None:
    if args.format == "csv":
        print(tables.delimited(header, rows))
        return
    output.print_grid(Table(tuple(header), tuple(map(tuple, rows)), text_columns=text), form=args.format)


def _number(value: float, decimals: int) -> str:
    return "–" if np.isnan(value) else f"{value:.{decimals}f}"
