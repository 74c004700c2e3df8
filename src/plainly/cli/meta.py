"""``plainly meta``: does a metric agree with people, and do people agree with each other?"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plainly import registry
from plainly.cli import meta_views as views
from plainly.cli import output, rated
from plainly.errors import BadInput
from plainly.ratings.types import Judgements
from plainly.result import Table

if TYPE_CHECKING:
    from plainly.questions.meta import Filter, MetricScores

HELP = """Does a metric agree with people? And do people agree with each other?

  plainly meta simplicity-da -m sari,bleu,fkgl
  plainly meta simplicity-da -m sari --dimension simplicity_zscore --filter --without-sources simpeval/past
  plainly meta ratings.csv -m sari --test-set asset/test
  plainly meta ratings.xlsx --agreement
  plainly meta acl2018 --tradeoff --plot dimensions.html
"""


def configure(parser: argparse.ArgumentParser) -> None:
    rated.add_arguments(parser)
    what = parser.add_argument_group("what to ask")
    what.add_argument("-m", "--metrics", action="append", metavar="METRIC", help="correlate these metrics with people")
    what.add_argument("--agreement", action="store_true", help="how far raters agree, and who stands apart")
    what.add_argument(
        "--tradeoff", action="store_true", help="dimensions against each other, and systems on all of them"
    )
    what.add_argument("--dimension", action="append", metavar="NAME", help="which dimension (simplicity); repeatable")
    scores = parser.add_argument_group("where scores come from")
    scores.add_argument("-t", "--test-set", metavar="SET", help="texts of a named set whose ids are the rated items")
    scores.add_argument("--scores", metavar="FILE", help="scores that exist: a table with system, item and metrics")
    scores.add_argument(
        "--references", action="append", metavar="SET", help="which references, where there are several; 'each' for all"
    )
    slices = parser.add_argument_group("which outputs")
    slices.add_argument("--filter", action="store_true", help="also on outputs that are fluent and keep the meaning")
    slices.add_argument("--filter-by", metavar="A,B", help="the filter's dimensions (fluency and meaning)")
    slices.add_argument("--threshold", type=float, default=0.3, help="the filter's threshold (0.3)")
    slices.add_argument(
        "--filter-unit", choices=("sd", "points"), default="sd", help="of the threshold: sd above the mean, or points"
    )
    slices.add_argument(
        "--without-sources", metavar="FILE", help="filter out these sources: a file of lines, or a card"
    )
    slices.add_argument("--by", action="append", choices=("type", "simplicity"), help="slices; repeatable")
    slices.add_argument("--control", metavar="A,B", help="held fixed in partial correlations; 'none' for no such")
    slices.add_argument("--level", choices=("item", "system", "both"), default="both", help="of correlation (both)")
    how = parser.add_argument_group("how")
    how.add_argument("--no-tests", action="store_true", help="leave out tests between metrics")
    how.add_argument("--resamples", type=int, default=1000, metavar="N", help="bootstrap draws (1000)")
    how.add_argument("--confidence", type=float, default=0.95, help="confidence level (0.95)")
    how.add_argument("--seed", type=int, default=12345, help="seed of the draws (12345)")
    how.add_argument("--plot", metavar="FILE", help="scatter plots with the fitted line: .html, .svg, .png, .pdf")
    output.add_formats(parser)


@dataclass
class Answer:
    """What is printed: tables for people, and the same as plain data."""

    payload: dict[str, Any]
    grids: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def run(args: argparse.Namespace) -> int:
    judgements = rated.read(args)
    dimensions = [rated.chosen_dimension(judgements, name) for name in args.dimension or [None]]
    answer = Answer(views.header(judgements, args.seed))
    wants_metrics = bool(args.metrics or args.scores)
    if wants_metrics:
        _correlate(args, judgements, dimensions, answer)
    if args.agreement or not (wants_metrics or args.tradeoff):
        _agreement(args, judgements, args.dimension, answer)
    if args.tradeoff or not (wants_metrics or args.agreement):
        _tradeoff(args, judgements, answer, plot=bool(args.plot) and not wants_metrics)
    if args.format == "json":
        output.print_json(answer.payload)
        return 0
    if args.format == "csv":
        views.print_csv(answer.payload)
        return 0
    for at, grid in enumerate(answer.grids):
        if at:
            print()
        output.print_grid(grid, form=args.format)
    for line in answer.notes:
        output.note(line)
    return 0


def _correlate(args: argparse.Namespace, judgements: Judgements, dimensions: list[str], answer: Answer) -> None:
    from plainly.questions.meta import meta_evaluate

    if args.test_set:
        judgements = _with_texts(judgements, args.test_set)
    scores = _scores(args, judgements, dimensions)
    control = None if args.control is None else [] if args.control == "none" else args.control.split(",")
    found = meta_evaluate(
        judgements,
        scores,
        dimensions=dimensions,
        levels=("item", "system") if args.level == "both" else (args.level,),
        control=control,
        subset=_filter(args, judgements, dimensions[0]) if args.filter else None,
        slices=tuple(args.by or ()),
        compare=not args.no_tests,
        level=args.confidence,
        resamples=args.resamples,
        seed=args.seed,
    )
    answer.payload |= views.correlations(found)
    answer.grids += views.correlation_grids(found)
    answer.notes += views.correlation_notes(found)
    if args.plot:
        from plainly.questions.meta import plot

        plot.save(plot.metric_plot(judgements, scores[0], dimensions[0]), args.plot)
        answer.notes.append(f"Plots are in {args.plot}")


def _scores(args: argparse.Namespace, judgements: Judgements, dimensions: list[str]) -> list[MetricScores]:
    from plainly.questions.meta import given_scores, score_units

    specs = [spec for given in args.metrics or () for spec in registry.split_specs(given)]
    units = judgements[dimensions[0]].units()
    if args.scores:
        return [given_scores(judgements, units, args.scores, metrics=specs)]
    for spec in specs:
        registry.metric(spec)
    wanted = list(args.references or [None])
    if "each" in wanted:
        wanted = list(judgements.references) or [None]
    return [score_units(judgements, units, specs, references=name) for name in wanted]


def _with_texts(judgements: Judgements, name: str) -> Judgements:
    from plainly import data
    from plainly.cli.progress import bar
    from plainly.questions.meta import with_texts

    published = set(data.systems(name))
    missing = [
        system
        for system in judgements.systems
        if system in published and not any(known == system for known, _ in judgements.outputs)
    ]
    outputs = data.outputs_of(name, missing, progress=bar)
    return with_texts(judgements, data.load(name, progress=bar), outputs)


def _filter(args: argparse.Namespace, judgements: Judgements, dimension: str) -> Filter:
    from plainly.questions.meta import Filter
    from plainly.questions.meta.correlations import ADEQUACY, FLUENCY

    if args.filter_by:
        names = tuple(name.strip() for name in args.filter_by.split(","))
    else:
        found = []
        for candidates in (FLUENCY, ADEQUACY):
            found += [name for each in candidates for name in (f"{each}_zscore", each) if name in judgements][:1]
        names = tuple(found)
    if not names:
        raise BadInput(f"{judgements.name} has no dimension like fluency or meaning. Name some: --filter-by A,B")
    return Filter(
        dimensions=names,
        threshold=args.threshold,
        unit=args.filter_unit,
        without_sources=_sources(args.without_sources) if args.without_sources else (),
    )


def _sources(name: str) -> frozenset[str]:
    """Sources from a file with one a line, or from a card of ratings that has a column of them."""
    from plainly import data
    from plainly.inputs.lines import read_lines
    from plainly.ratings.read import ROLES

    if Path(name).exists():
        return frozenset(read_lines(name))
    table = data.table(name)
    for column in ROLES["source"]:
        if column in table.columns:
            return frozenset(map(str, table[column]))
    raise BadInput(f"{name} has no column of sources.")


def _agreement(args: argparse.Namespace, judgements: Judgements, wanted: list[str] | None, answer: Answer) -> None:
    from plainly.questions.meta import agreement

    names = wanted or [name for name in judgements if len(judgements[name].raters) > 1]
    if not names:
        if args.agreement:
            raise BadInput(f"{judgements.name} holds means, not each rater's ratings: agreement cannot be measured.")
        return
    found = [
        agreement(judgements[name], level=args.confidence, resamples=args.resamples, seed=args.seed) for name in names
    ]
    answer.payload["agreement"] = [views.agreement_data(each) for each in found]
    answer.grids += views.agreement_grids(found)
    answer.notes += views.agreement_notes(found)


def _tradeoff(args: argparse.Namespace, judgements: Judgements, answer: Answer, *, plot: bool) -> None:
    from plainly.questions.meta import pareto, tradeoff

    names = args.dimension or [name for name in judgements if not name.endswith("_zscore")]
    if len(names) < 2:
        if args.tradeoff:
            raise BadInput(f"A trade-off needs two dimensions; there is {', '.join(names)}. Name two: --dimension …")
        return
    relations = [
        tradeoff(judgements, x, y, level=args.confidence, resamples=args.resamples, seed=args.seed)
        for x, y in combinations(names, 2)
    ]
    frontier = pareto(judgements, names)
    answer.payload["relations"] = [views.relation_data(each) for each in relations]
    answer.payload["systems"] = [
        {"system": system, "means": dict(zip(names, means, strict=True)), "beaten_by": list(beaten)}
        for system, means, beaten in frontier
    ]
    answer.grids += [views.relation_grid(relations), views.pareto_grid(names, frontier)]
    answer.notes += [each.warning for each in relations if each.warning]
    if plot:
        from plainly.questions.meta import plot as drawing

        drawing.save(drawing.dimension_plot(judgements, list(combinations(names, 2))), args.plot)
        answer.notes.append(f"Plots are in {args.plot}")
