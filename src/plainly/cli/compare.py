"""``plainly compare``: which differences between systems are real."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from plainly.cli import advice, inputs, output, streaming
from plainly.cli.score import systems_payload
from plainly.errors import BadInput
from plainly.evalset import EvalSet
from plainly.inputs.files import stem
from plainly.inputs.tables import table_format
from plainly.questions import doctor
from plainly.questions.claims import claims, p_text
from plainly.questions.compare import TESTS, Comparisons, compare, corrected_together
from plainly.render import tables
from plainly.result import Table
from plainly.scoring import subsets
from plainly.scoring.evaluate import Evaluation, SystemScores, evaluate

HELP = """Say which differences between systems are real.

  plainly compare --demo
  plainly compare -t asset/test -m sari,bleu ACCESS Dress Dress-Ls
  plainly compare -t asset/test all --baseline ACCESS
  plainly compare --by length A.txt B.txt --source src.txt --references 'ref.*.txt'
  plainly compare saved.npz
"""
# A matrix of more systems than this fits no screen; the JSON has it for any number.
_MATRIX = 15
_SHORT = {"bootstrap": "paired-bootstrap", "ar": "approximate-randomisation"}


def configure(parser: argparse.ArgumentParser) -> None:
    inputs.add_arguments(parser)
    inputs.add_metrics(parser)
    how = parser.add_argument_group("how to compare")
    how.add_argument("--baseline", metavar="SYSTEM", help="compare each system with this one; without it, all pairs")
    how.add_argument(
        "--test",
        action="append",
        choices=(*_SHORT, *TESTS),
        help="paired bootstrap or approximate randomisation (ar); both unless one is named",
    )
    how.add_argument("--by", metavar="FIELD", help=f"compare on subsets: {', '.join(subsets.FIELDS)} or a column")
    how.add_argument("--level", type=float, default=0.95, help="confidence level (0.95)")
    how.add_argument("--resamples", type=int, default=1000, metavar="N", help="bootstrap draws (1000)")
    how.add_argument("--trials", type=int, default=10_000, metavar="N", help="trials of randomisation (10000)")
    how.add_argument("--seed", type=int, default=12345, help="seed of the draws (12345), kept in the results")
    how.add_argument(
        "--over",
        choices=("items", "references", "both"),
        default="items",
        help="what the bootstrap draws: other items (default), other references for the same items, or both",
    )
    streaming.add_arguments(parser)
    output.add_formats(parser)
    parser.add_argument(
        "--no-advice", action="store_true", help="leave out warnings and what a metric cannot be used for"
    )


def run(args: argparse.Namespace) -> int:
    if streaming.wanted(args):
        return _streamed(args)
    evaluation, evalset, outputs = _evaluated(args)
    if args.baseline is not None and args.baseline not in evaluation.systems:
        raise BadInput(f"The baseline {args.baseline!r} is not among the systems: {', '.join(evaluation)}.")
    drawn = None
    if args.over != "items":
        from plainly.scoring import references

        if not outputs:
            raise BadInput("Saved rows were measured against all references; to draw others, give the texts again.")
        drawn = references.draw(evalset, outputs, evaluation, over=args.over, resamples=args.resamples, seed=args.seed)
        evaluation = references.with_intervals(evaluation, drawn, over=args.over, level=args.level, seed=args.seed)
    options: dict[str, Any] = {
        "baseline": args.baseline,
        "tests": tuple(dict.fromkeys(_SHORT.get(test, test) for test in args.test or TESTS)),
        "level": args.level,
        "resamples": args.resamples,
        "trials": args.trials,
        "seed": args.seed,
    }
    warned = [] if args.no_advice else doctor.quick(evalset, outputs, evaluation.specs)
    if args.by is None:
        parts = {"": compare(evaluation, evalset, drawn=drawn, **options)}
    else:
        if drawn is not None:
            raise BadInput("--by and --over go one at a time.")
        parts, small = _divided(evaluation, evalset, outputs, args.by, options)
        warned += small
    warned += _too_few_draws(parts)
    _print(parts, evalset, warned, args)
    return 0


def _streamed(args: argparse.Namespace) -> int:
    """A corpus that is never held: the tests draw and swap bins of items, which were added up as they were measured."""
    from plainly.questions.comparestream import compare_stream

    streaming.refuse(args, "by", "groups")
    found = streaming.evaluated(args, paired=True)
    compared = compare_stream(
        found,
        baseline=args.baseline,
        tests=tuple(dict.fromkeys(_SHORT.get(test, test) for test in args.test or TESTS)),
        level=args.level,
        resamples=args.resamples,
        trials=args.trials,
        seed=args.seed,
    )
    parts = {"": compared}
    _print(parts, EvalSet.of(items=found.items, name=found.name), _too_few_draws(parts), args)
    for line in streaming.incomplete(found):
        output.note(f"plainly: {line}")
    return 0 if found.complete else 130


def _evaluated(args: argparse.Namespace) -> tuple[Evaluation, EvalSet, Mapping[str, Sequence[str]]]:
    """What to compare: measured now, or saved before (then there are no texts)."""
    if len(args.systems) == 1 and args.systems[0].endswith(".npz"):
        from plainly.scoring.scorefile import open_saved

        evaluation, evalset = open_saved(args.systems[0])
        if args.metrics:
            raise BadInput("Saved scores hold the metrics they hold; leave -m out.")
        return evaluation, evalset, {}
    added = _add_baseline(args)
    given = inputs.read(args)
    if added:
        args.baseline = next(iter(given.outputs))
    elif args.baseline is not None and args.baseline not in given.outputs and stem(args.baseline) in given.outputs:
        args.baseline = stem(args.baseline)
    specs = inputs.chosen_metrics(args, references=bool(given.evalset.references))
    evaluation = evaluate(
        given.evalset, given.outputs, specs, level=args.level, resamples=args.resamples, seed=args.seed
    )
    return evaluation, given.evalset, given.outputs


def _add_baseline(args: argparse.Namespace) -> bool:
    """Put a baseline that is no system yet (another published system, another file) before the systems."""
    if args.baseline is None or not args.systems or "all" in args.systems or any(map(table_format, args.systems)):
        return False
    if args.baseline in {name for system in args.systems for name in (system, system.partition("=")[0], stem(system))}:
        return False
    if args.test_set is None and not Path(args.baseline).exists():
        return False
    args.systems = [args.baseline, *args.systems]
    return True


def _divided(
    evaluation: Evaluation,
    evalset: EvalSet,
    outputs: Mapping[str, Sequence[str]],
    by: str,
    options: Mapping[str, Any],
) -> tuple[dict[str, Comparisons], list[doctor.Finding]]:
    found = subsets.divide(evalset, outputs or dict.fromkeys(evaluation, ()), by, together=True)
    parts = {}
    for subset in found:
        mask = next(iter(subset.masks.values()))
        if int(mask.sum()) < 2:
            continue
        chosen = Evaluation(
            evaluation.test_set,
            {
                system: SystemScores(system, {spec: scores.subset(mask) for spec, scores in of_system.items()})
                for system, of_system in evaluation.systems.items()
            },
            seed=evaluation.seed,
        )
        parts[subset.label] = compare(chosen, evalset[np.flatnonzero(mask)], **options)
    return corrected_together(parts), [doctor.Finding(code, message) for code, message in subsets.warnings(found)]


def _too_few_draws(parts: Mapping[str, Comparisons]) -> list[doctor.Finding]:
    """Many comparisons need many draws: the smallest p-value that is possible, corrected, may not be small enough."""
    for found in parts.values():
        family = sum(each.test == found.deciding for part in parts.values() for each in part.pairs)
        draws = found.resamples if found.deciding == "paired-bootstrap" else found.trials
        if family / (draws + 1) > 1 - found.level:
            option = "--resamples" if found.deciding == "paired-bootstrap" else "--trials"
            needed = math.ceil(2 * family / (1 - found.level))
            return [
                doctor.Finding(
                    "few-draws",
                    f"With {draws} draws no pair can be told apart after correction for {family} pairs and metrics. "
                    f"Use {option} {needed} or more.",
                )
            ]
    return []


def payload(
    parts: Mapping[str, Comparisons], evalset: EvalSet, warned: Sequence[doctor.Finding], by: str | None
) -> dict[str, Any]:
    """The JSON of ``plainly compare``: schema plainly.compare/1."""
    first = next(iter(parts.values()))
    head: dict[str, Any] = {
        "schema": "plainly.compare/1",
        "test_set": evalset.name or None,
        "items": len(evalset),
        "seed": first.seed,
        "level": first.level,
        "resamples": first.resamples,
        "trials": first.trials,
        "unit": first.unit,
        "baseline": first.baseline,
        "deciding_test": first.deciding,
    }
    if by is None:
        head |= _part_payload(first)
    else:
        head["subsets"] = [
            {"field": by, "label": label, "items": part.evaluation.items, **_part_payload(part)}
            for label, part in parts.items()
        ]
    return {**head, "warnings": [warning.payload() for warning in warned]}


def _part_payload(found: Comparisons) -> dict[str, Any]:
    return {
        "systems": systems_payload(found.evaluation),
        "comparisons": found.records(),
        "rankings": {
            spec: {
                "order": found.ranking(spec),
                "clusters": found.clusters(spec),
                "ties": found.ties(spec),
                "beats": found.matrix(spec),
            }
            for spec in found.evaluation.specs
        },
        "claims": claims(found),
    }


def _print(
    parts: Mapping[str, Comparisons], evalset: EvalSet, warned: Sequence[doctor.Finding], args: argparse.Namespace
) -> None:
    advice.print_warnings(warned)
    if args.format == "json":
        output.print_json(payload(parts, evalset, warned, args.by))
        return
    if args.format == "csv":
        records = [
            ({args.by: label} if args.by else {}) | record
            for label, found in parts.items()
            for record in found.records()
        ]
        print(tables.delimited(list(records[0]), [list(record.values()) for record in records]))
        return
    for label, found in parts.items():
        title = f"{args.by}: {label}, {found.evaluation.items} items" if args.by else ""
        grids = [comparison_grid(found, caption=title)] if _few(found) else []
        if 2 < len(found.evaluation) <= _MATRIX:
            grids += [matrix_grid(found, spec) for spec in found.evaluation.specs]
        for grid in grids:
            output.print_grid(grid, form=args.format)
            print()
        for sentence in claims(found):
            print(sentence)
        if args.by:
            print()
    if args.format is None:
        _footnotes(next(iter(parts.values())), evalset, args)


def _few(found: Comparisons) -> bool:
    """Whether the comparisons are few enough to be read one by one; the matrix says the rest."""
    return found.baseline is not None or len(found.evaluation) <= 4 or len(found.evaluation) > _MATRIX


def comparison_grid(found: Comparisons, *, caption: str = "") -> Table:
    """A row for each comparison, with the p-values of the tests that were run."""
    by_pair: dict[tuple[str, str, str], list[Any]] = {}
    for each in found.comparisons:
        by_pair.setdefault((each.metric, each.system, each.baseline), []).append(each)
    columns = {"paired-bootstrap": "p bootstrap", "approximate-randomisation": "p random."}
    header: tuple[str, ...] = (
        "metric",
        "system",
        "baseline",
        "score",
        "difference",
        *(columns[test] for test in found.tests),
    )
    rows = []
    for (metric, system, baseline), tests in by_pair.items():
        decided = next(each for each in tests if each.test == found.deciding)
        verdict = "=" if not decided.significant else "≠" if decided.winner is None else ">"
        if decided.winner == baseline:
            verdict = "<"
        rows.append(
            (
                metric,
                system,
                baseline,
                _number(decided.score),
                f"{_number(decided.difference, sign=True)} [{_number(decided.low)}, {_number(decided.high)}]",
                *(p_text(each.p_value) for each in tests),
                p_text(decided.p_claim),
                _number(decided.effect_size, sign=True),
                _number(decided.smallest_detectable),
                verdict,
            )
        )
    return Table(
        (*header, "p Holm", "effect", "detectable", ""), tuple(rows), caption, text_columns=frozenset({0, 1, 2})
    )


def matrix_grid(found: Comparisons, spec: str) -> Table:
    """Who beats whom: > where the row beats the column, < where it is beaten, · where they cannot be told apart."""
    ranked = found.ranking(spec)
    signs = {True: ">", False: "<", None: "·"}
    beats = found.matrix(spec)
    rows = tuple(
        (
            f"{place}. {row}",
            _number(float(found.evaluation[row][spec])),
            *("" if row == column else signs[beats[row][column]] for column in ranked),
        )
        for place, row in enumerate(ranked, 1)
    )
    ties = [tie for tie in found.ties(spec) if len(tie) > 1]
    notes = ["Cannot be told apart: " + "; ".join(" ".join(tie) for tie in ties)] if ties else []
    clusters = found.clusters(spec)
    if len(clusters) > 1:
        notes.append("Clusters: " + " > ".join("{" + " ".join(cluster) + "}" for cluster in clusters))
    return Table(("", spec, *(f"{place}." for place in range(1, len(ranked) + 1))), rows, notes=tuple(notes))


def _footnotes(found: Comparisons, evalset: EvalSet, args: argparse.Namespace) -> None:
    draws = []
    if "paired-bootstrap" in found.tests:
        draws.append(
            f"paired bootstrap over {found.unit if args.over == 'items' else args.over}, {found.resamples} draws"
        )
    if "approximate-randomisation" in found.tests:
        draws.append(f"approximate randomisation, {found.trials} trials")
    named = f" of {evalset.name}" if evalset.name else ""
    output.note(f"{len(evalset)} items{named}. {'; '.join(draws)}; seed {found.seed}. Claims rest on {found.deciding}.")
    if not args.no_advice:
        for spec, scores in next(iter(found.evaluation.values())).items():
            if evidence := getattr(scores.metric, "evidence", ""):
                output.note(f"{spec}: {evidence}")


def _number(value: float, *, sign: bool = False) -> str:
    if math.isnan(value):
        return "undefined"
    return f"{value:+.2f}" if sign else f"{value:.2f}"
