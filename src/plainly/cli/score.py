"""``plainly score``: what systems wrote in, a table of scores out."""

from __future__ import annotations

import argparse
from typing import Any

from plainly.cli import advice, extras, inputs, output, streaming
from plainly.evalset import EvalSet
from plainly.scoring.evaluate import Evaluation, Scores, evaluate
from plainly.stats.estimate import Estimate
from plainly.typology import options as by_operation

HELP = """Score what systems wrote.

  plainly score --demo
  plainly score -t asset/test -m sari,bleu,fkgl ACCESS mine.txt
  plainly score --source src.txt --references 'ref.*.txt' -- A.txt B.txt
  plainly score data.csv
  plainly score shards/ --on-error set-aside
  plainly score --engine ray --address HOST:6379 s3://bucket/pairs
"""


def configure(parser: argparse.ArgumentParser) -> None:
    inputs.add_arguments(parser)
    inputs.add_metrics(parser)
    by_operation.add_arguments(parser)
    intervals = parser.add_argument_group("confidence intervals")
    intervals.add_argument("--no-intervals", action="store_true", help="scores only")
    intervals.add_argument("--level", type=float, default=0.95, help="confidence level (0.95)")
    intervals.add_argument("--resamples", type=int, default=1000, metavar="N", help="bootstrap draws (1000)")
    intervals.add_argument("--method", choices=("percentile", "bca"), default="percentile", help="kind of interval")
    intervals.add_argument("--seed", type=int, default=12345, help="seed of the draws (12345), kept in the results")
    extras.add_arguments(parser)
    streaming.add_arguments(parser)
    keep = parser.add_argument_group("what to keep")
    keep.add_argument(
        "--segments",
        metavar="FILE",
        help="write every item's scores: .csv, .tsv, .jsonl or .parquet; for large corpora, a folder",
    )
    keep.add_argument("--save", metavar="FILE", help="keep the measured rows (.npz), for every later analysis")
    output.add_formats(parser)
    parser.add_argument("--signature", action="store_true", help="show how each number was made")
    parser.add_argument("--no-advice", action="store_true", help="leave out warnings and what a metric cannot do")


def run(args: argparse.Namespace) -> int:
    if streaming.wanted(args):
        return streaming.run(args)
    given = inputs.read(args)
    selection = by_operation.apply(args, given.evalset)
    if selection is not None:
        output.note(f"Chosen by operation: {selection}.")
        chosen = {system: selection.outputs(texts) for system, texts in given.outputs.items()}
        given = inputs.Inputs(selection.evalset, chosen)
    specs = inputs.chosen_metrics(args, references=bool(given.evalset.references))
    outputs = given.outputs
    if args.sanity:
        from plainly.scoring import sanity

        outputs = {**outputs, **sanity.rows(given.evalset, seed=args.seed)}
    settings: dict[str, Any] = {
        "intervals": not args.no_intervals,
        "level": args.level,
        "resamples": args.resamples,
        "method": args.method,
        "seed": args.seed,
    }
    found = evaluate(given.evalset, outputs, specs, **settings)
    if args.over != "items" and not args.no_intervals:
        from plainly.scoring import references

        drawn = references.draw(given.evalset, outputs, found, over=args.over, resamples=args.resamples, seed=args.seed)
        found = references.with_intervals(found, drawn, over=args.over, level=args.level, seed=args.seed)
    more = extras.gather(args, given, outputs, found, settings)
    if args.segments:
        from plainly.scoring.scorefile import write_segments

        write_segments(args.segments, found, given.evalset)
    if args.save:
        from plainly.scoring.scorefile import save

        save(args.save, found, given.evalset)
    _print(found, given.evalset, args, more)
    return 0


def _print(found: Evaluation, evalset: EvalSet, args: argparse.Namespace, more: extras.Extras) -> None:
    if args.format == "json":
        output.print_json(payload(found, evalset, more))
        advice.print_warnings(more.warnings)
        return
    if args.format == "csv":
        more.print_csv(found)
        return
    output.print_grid(found.table(), form=args.format)
    if args.format is None:
        for line in footnotes(found, evalset, args):
            output.note(line)
    more.print(form=args.format)
    if args.signature:
        for spec in found.specs:
            print(next(iter(found.values()))[spec].signature)


def footnotes(found: Evaluation, evalset: EvalSet, args: argparse.Namespace) -> list[str]:
    """What stands below the table: how many items, which intervals, and what a metric must not be used for."""
    counts = evalset.reference_counts
    references = f", {_range(int(counts.min()), int(counts.max()), 'reference')}" if evalset.references else ""
    items = f"{found.items} item{'' if found.items == 1 else 's'}"
    lines = [f"{items}{references}{f' of {evalset.name}' if evalset.name else ''}."]
    estimates = [estimate for scores in next(iter(found.values())).values() for estimate in scores.intervals.values()]
    if estimates:
        estimate = estimates[0]
        lines[0] += f" In brackets: {estimate.level:.0%} {estimate.method}, seed {args.seed}."
    if not args.no_advice:
        lines += [
            f"{spec}: {evidence}"
            for spec, scores in next(iter(found.values())).items()
            if (evidence := getattr(scores.metric, "evidence", ""))
        ]
    return lines


def payload(found: Evaluation, evalset: EvalSet, more: extras.Extras) -> dict[str, Any]:
    """The JSON of ``plainly score``: schema plainly.score/1."""
    return {
        "schema": "plainly.score/1",
        "test_set": evalset.name or None,
        "items": found.items,
        "seed": found.seed,
        "systems": systems_payload(found),
        **more.payload(systems_payload),
    }


def systems_payload(found: Evaluation) -> list[dict[str, Any]]:
    """Every system with its scores."""
    return [
        {"system": system, "scores": {spec: score_payload(scores) for spec, scores in of_system.items()}}
        for system, of_system in found.systems.items()
    ]


def score_payload(scores: Scores) -> dict[str, Any]:
    """One score as JSON: value, interval, parts, signature."""
    headline = scores.metric.outputs[0]
    shown: dict[str, Any] = {"value": scores.corpus[headline]}
    estimate: Estimate | None = scores.intervals.get(headline)
    if estimate is not None:
        shown |= {"low": estimate.low, "high": estimate.high, "level": estimate.level, "method": estimate.method}
    shown |= {"n": len(scores.ids), "parts": scores.parts, "signature": scores.signature}
    return shown


def _range(fewest: int, most: int, what: str) -> str:
    if fewest == most:
        return f"{most} {what}{'' if most == 1 else 's'} each"
    return f"{fewest} to {most} {what}s each"
