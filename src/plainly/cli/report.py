"""``plainly report``: one page to look at and pass on, and figures and tables for a paper."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from plainly.cli import inputs, options
from plainly.cli.progress import bar
from plainly.errors import BadInput
from plainly.inputs.texts import Inputs
from plainly.questions.score import asked
from plainly.render.show import print_json, say
from plainly.scoring.scorefile import open_saved
from plainly.scoring.scores import Evaluation

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
    options.add_sampling(parser, method=False)
    parser.add_argument("--json", action="store_true", help="print what was written, and the summary, as JSON")


def run(args: argparse.Namespace) -> int:
    from plainly.pages import report

    target = args.out or (None if args.figures else "report.html")
    if target is not None and not Path(target).resolve().parent.is_dir():
        raise BadInput(f"Cannot write {target}: there is no directory {Path(target).parent}. Make it first.")
    ratings = _ratings(args.ratings)
    with _stages() as tell:
        tell("scoring")
        made = report(
            _scored(args),
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
        print_json(
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
        say(f"Wrote {page} ({page.stat().st_size / 1e6:.1f} MB).")
    if figures:
        say(f"Wrote {len(figures)} files to {args.figures}.")
    for reason in made.material.absent:
        say(f"Left out: {reason}")
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


def _scored(args: argparse.Namespace) -> Evaluation:
    saved = [name for name in args.systems if name.endswith(".npz")]
    if args.saved is None and saved:  # as compare takes them
        args.saved = saved[0]
        args.systems = [name for name in args.systems if name != args.saved]
    named = args.test_set or args.demo or args.source or args.references or args.table or args.systems
    if args.saved is None:
        texts = inputs.read(args)
        specs = inputs.chosen_metrics(args, references=texts.has_references)
        return asked(texts, metrics=specs, sampling=options.sampling(args), progress=bar)
    if args.metrics:
        raise BadInput("Saved scores have their metrics; leave out -m, or leave out --saved to score again.")
    evaluation = asked(open_saved(args.saved), sampling=options.sampling(args))
    if not named:
        return evaluation
    texts = inputs.read(args)
    _check_same(args.saved, evaluation, texts)
    outputs = {name: texts.outputs[name] for name in evaluation}
    return replace(evaluation, evalset=texts.evalset, outputs=outputs)


def _check_same(path: str, evaluation: Evaluation, texts: Inputs) -> None:
    signature = next(iter(next(iter(evaluation.values())).values())).signature
    if signature.data != texts.evalset.fingerprint:
        raise BadInput(
            f"{path} holds scores of other texts ({signature}). Name the set that was scored, or score again."
        )
    missing = [name for name in evaluation if name not in texts.outputs]
    if missing:
        raise BadInput(f"{path} holds scores of {missing[0]!r}, whose outputs were not given. Name them too.")


def _ratings(named: str | None) -> Any:
    if named is None:
        return None
    from plainly import ratings

    return ratings.read_ratings(named) if Path(named).exists() else ratings.load(named)
