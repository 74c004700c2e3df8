"""``plainly plan``: how many sentences and raters the next human evaluation needs."""

from __future__ import annotations

import argparse
import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from plainly.cli import output, rated
from plainly.errors import BadInput
from plainly.render.tables import delimited
from plainly.result import Table

if TYPE_CHECKING:
    from plainly.questions.plan import Plan, Point

HELP = """How many sentences and raters tell systems apart? Learnt from ratings that exist: yours, or a public set.

  plainly plan --budget 200
  plainly plan pilot.csv --budget 500 --dimension meaning
  plainly plan acl2018 --systems Identity,Moses,SBMT-SARI --difference 0.5
"""


def configure(parser: argparse.ArgumentParser) -> None:
    rated.add_arguments(parser, default="simplicity-da")
    parser.add_argument("--dimension", metavar="NAME", help="which dimension (simplicity)")
    study = parser.add_argument_group("the study")
    study.add_argument("--budget", type=int, default=200, metavar="N", help="ratings you can pay for, a system (200)")
    study.add_argument("--sentences", metavar="10,50,100", help="sizes of test set to try")
    study.add_argument("--raters", metavar="1,2,5", help="numbers of raters a sentence to try")
    study.add_argument("--difference", type=float, help="the true difference worth finding (a tenth of the scale)")
    study.add_argument("--target", type=float, default=0.9, help="agreement with the whole pilot to reach (0.9)")
    how = parser.add_argument_group("how")
    how.add_argument("--test", choices=("paired", "welch"), help="t-test (paired where items are, else Welch's)")
    how.add_argument("--alpha", type=float, default=0.01, help="significance level (0.01)")
    how.add_argument("--draws", type=int, default=1000, metavar="N", help="studies drawn for each size (1000)")
    how.add_argument("--seed", type=int, default=12345, help="seed of the draws (12345)")
    how.add_argument("--plot", metavar="FILE", help="draw the curves: .html, .svg, .png, .pdf")
    output.add_formats(parser)


def run(args: argparse.Namespace) -> int:
    from plainly.questions.plan import make_plan

    judgements = rated.read(args)
    dimension = rated.chosen_dimension(judgements, args.dimension)
    found = make_plan(
        judgements[dimension],
        total=args.budget,
        sizes=_numbers(args.sentences, "--sentences"),
        counts=_numbers(args.raters, "--raters"),
        test=args.test,
        alpha=args.alpha,
        target=args.target,
        difference=args.difference,
        draws=args.draws,
        seed=args.seed,
    )
    if args.plot:
        from plainly.questions.meta.plot import save
        from plainly.questions.plan.plot import plan_plot

        save(plan_plot(found), args.plot)
        output.note(f"Curves are in {args.plot}")
    if args.format == "json":
        output.print_json(payload(found, judgements.name, args.seed))
        return 0
    if args.format == "csv":
        records = [{"resampled": name, **_point(point)} for name, points in _curves(found).items() for point in points]
        print(delimited(list(records[0]), [list(record.values()) for record in records]))
        return 0
    for name, points in _curves(found).items():
        output.print_grid(_grid(name, points), form=args.format)
        print()
    output.print_grid(_power_grid(found), form=args.format)
    print()
    for line in found.advice:
        print(line)
    output.note(
        f"Pilot: {judgements.name}, {dimension}, {len(found.reference.systems)} systems, about "
        f"{found.reference.sentences} sentences and {found.reference.raters:.1f} raters each; {found.reference.test} "
        f"t-test at p < {args.alpha:g}, {args.draws} draws, seed {args.seed}. tau: Kendall's tau-b of the significance "
        "patterns, each pair both ways; power: of the pairs that the pilot tells apart, how many the study does."
    )
    return 0


def payload(found: Plan, name: str, seed: int) -> dict[str, Any]:
    """The JSON of ``plainly plan``: schema plainly.plan/1."""
    return {
        "schema": "plainly.plan/1",
        "ratings": name,
        "dimension": found.dimension,
        "systems": list(found.reference.systems),
        "test": found.reference.test,
        "alpha": found.alpha,
        "seed": seed,
        "answer": found.answer,
        "advice": found.advice,
        "pilot_pattern": [
            {"first": one, "second": other, "decided": int(decided)}
            for (one, other), decided in zip(found.reference.pairs, found.reference.pattern, strict=True)
        ],
        **{key: [_point(point) for point in points] for key, points in _curves(found).items()},
        "variance": dataclasses.asdict(found.components),
        "power": {
            "difference": found.difference,
            "power": 0.8,
            "sentences_needed_by_raters": found.needed,
            "smallest_difference_by_sentences": found.smallest,
            "curves": [
                {"raters": count, "sentences": size, "power": value}
                for count, curve in found.curves.items()
                for size, value in curve
            ],
        },
    }


def _curves(found: Plan) -> dict[str, list[Point]]:
    return {"sentences": found.by_sentences, "raters": found.by_raters, "budget": found.by_budget}


def _point(point: Point) -> dict[str, Any]:
    return {**dataclasses.asdict(point), "ratings": point.ratings}


def _grid(name: str, points: Sequence[Point]) -> Table:
    titles = {
        "sentences": "More or fewer sentences, all raters",
        "raters": "All sentences, more or fewer raters",
        "budget": "The same number of ratings, spent in different ways",
    }
    return Table(
        ("sentences", "raters", "ratings", "tau", "power", "wrong", "tells nothing apart"),
        tuple(
            (
                str(point.sentences),
                str(point.raters),
                str(point.ratings),
                f"{point.tau:.2f} [{point.low:.2f}, {point.high:.2f}]",
                "undefined" if math.isnan(point.power) else f"{point.power:.0%}",
                f"{point.wrong:.1%}",
                f"{point.nothing_found:.0%}",
            )
            for point in points
        ),
        caption=titles[name],
        text_columns=frozenset(),
    )


def _power_grid(found: Plan) -> Table:
    rows = tuple(
        (str(raters), str(needed) if needed else "too many", str(needed * raters) if needed else "too many")
        for raters, needed in found.needed.items()
    )
    return Table(
        ("raters a sentence", "sentences needed", "ratings a system"),
        rows,
        caption=f"To find a true difference of {found.difference:g} with 80 % power",
        text_columns=frozenset(),
    )


def _numbers(text: str | None, option: str) -> list[int] | None:
    if text is None:
        return None
    try:
        found = sorted({int(part) for part in text.split(",") if part.strip()})
    except ValueError:
        raise BadInput(f"{option} takes whole numbers with commas between them; not {text!r}.") from None
    if not found or found[0] < 1:
        raise BadInput(f"{option} takes numbers of at least 1; not {text!r}.")
    return found
