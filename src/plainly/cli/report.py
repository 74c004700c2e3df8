"""``plainly report``: one page to look at and pass on, and figures and tables for a paper."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from plainly.cli import inputs, output
from plainly.errors import BadInput
from plainly.evalset import EvalSet
from plainly.scoring.evaluate import Evaluation, SystemScores, evaluate, with_intervals

HELP = """Make a report: one HTML file that needs no network, with scores, plots and every item.

  plainly report --demo -o demo.html
  plainly report -t asset/test ACCESS Dress mine.txt -o asset.html
  plainly report --source src.txt --references 'ref.*.txt' -o mine.html -- A.txt B.txt
  plainly report scores.npz -o scores.html
  plainly report --demo --figures figures/
"""


def configure(parser: argparse.ArgumentParser) -> None:
    inputs.add_arguments(parser)
    inputs.add_metrics(parser)
    parser.add_argument(
        "--saved", metavar="FILE", help="scores saved by plainly score --save; with the texts or without"
    )
    where = parser.add_argument_group("what to write")
    where.add_argument("-o", "--out", metavar="FILE", help="the page (report.html, unless only figures are asked for)")
    where.add_argument("--figures", metavar="DIR", help="plots as SVG, PDF, PNG; tables, methods paragraph and BibTeX")
    where.add_argument("--title", default="", help="the title of the page")
    what = parser.add_argument_group("what to say")
    what.add_argument(
        "--ratings", metavar="FILE", help="human ratings of these outputs: a table, or a public set's name"
    )
    what.add_argument("--labeller", default="rules", metavar="NAME", help="who labels operations (rules); none: nobody")
    what.add_argument("--no-audit", action="store_true", help="do not try tricks on the metrics")
    what.add_argument("--level", type=float, default=0.95, help="confidence level (0.95)")
    what.add_argument("--resamples", type=int, default=1000, metavar="N", help="bootstrap draws (1000)")
    what.add_argument("--seed", type=int, default=12345, help="seed of draws and trials (12345)")
    parser.add_argument("--json", action="store_true", help="print what was written, and the summary, as JSON")


def run(args: argparse.Namespace) -> int:
    from plainly.pages import make_report

    target = args.out or (None if args.figures else "report.html")
    if target is not None and not Path(target).resolve().parent.is_dir():
        raise BadInput(f"Cannot write {target}: there is no directory {Path(target).parent}. Make it first.")
    ratings = _ratings(args.ratings)
    with _stages() as tell:
        tell("scoring")
        evaluation, evalset, outputs = _scored(args)
        made = make_report(
            evaluation,
            evalset=evalset,
            outputs=outputs or None,
            title=args.title,
            labeller=None if args.labeller == "none" else args.labeller,
            audit=not args.no_audit,
            ratings=ratings,
            tell=tell,
        )
        tell("drawing")
        page = None if target is None else made.write(target)
        figures = made.write_figures(args.figures) if args.figures else []
    if args.json:
        output.print_json(
            {
                "schema": "plainly.report/1",
                "page": None if page is None else str(page),
                "figures": [str(path) for path in figures],
                "summary": [each.text for each in made.summary],
                "left_out": list(made.material.absent),
            }
        )
        return 0
    for each in made.summary:
        print(each.text)
    if page is not None:
        output.note(f"Wrote {page} ({page.stat().st_size / 1e6:.1f} MB).")
    if figures:
        output.note(f"Wrote {len(figures)} files to {args.figures}.")
    for reason in made.material.absent:
        output.note(f"Left out: {reason}")
    return 0


@contextmanager
def _stages() -> Iterator[Callable[[str], None]]:
    """Something to tell what is being done: a line that changes on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda what: None
        return
    from rich.console import Console

    with Console(stderr=True).status("reading") as status:
        yield lambda what: status.update(what)


def _scored(args: argparse.Namespace) -> tuple[Evaluation, EvalSet, inputs.Outputs]:
    saved = [name for name in args.systems if name.endswith(".npz")]
    if args.saved is None and saved:  # as compare takes them
        args.saved = saved[0]
        args.systems = [name for name in args.systems if name != args.saved]
    named = args.test_set or args.demo or args.source or args.references or args.table or args.systems
    if args.saved is None:
        given = inputs.read(args)
        specs = inputs.chosen_metrics(args, references=bool(given.evalset.references))
        options: dict[str, Any] = {"level": args.level, "resamples": args.resamples, "seed": args.seed}
        return evaluate(given.evalset, given.outputs, specs, **options), given.evalset, given.outputs
    if args.metrics:
        raise BadInput("Saved scores have their metrics; leave out -m, or leave out --saved to score again.")
    from plainly.scoring.scorefile import open_saved
    from plainly.stats.resample import Resampler

    found, evalset = open_saved(args.saved)
    resampler = Resampler(n=len(evalset), resamples=args.resamples, seed=args.seed, groups=evalset.groups)
    systems = {
        name: SystemScores(name, with_intervals(dict(of), resampler, level=args.level, method="percentile"))
        for name, of in found.systems.items()
    }
    outputs: inputs.Outputs = {}
    if named:
        given = inputs.read(args)
        _check_same(args.saved, found, given)
        evalset, outputs = given.evalset, {name: given.outputs[name] for name in systems}
    return Evaluation(found.test_set, systems, args.seed), evalset, outputs


def _check_same(path: str, found: Evaluation, given: inputs.Inputs) -> None:
    signature = next(iter(next(iter(found.values())).values())).signature
    if f"data:{given.evalset.fingerprint}" not in signature.split("|"):
        raise BadInput(
            f"{path} holds scores of other texts ({signature}). Name the set that was scored, or score again."
        )
    missing = [name for name in found if name not in given.outputs]
    if missing:
        raise BadInput(f"{path} holds scores of {missing[0]!r}, whose outputs were not given. Name them too.")


def _ratings(named: str | None) -> Any:
    if named is None:
        return None
    from plainly import ratings

    return ratings.read_ratings(named) if Path(named).exists() else ratings.load(named)
