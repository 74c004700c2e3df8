"""``plainly report``: one page to look at and pass on, and figures and tables for a paper."""

import argparse
from typing import Any

from plainly.cli import inputs, options
from plainly.cli.progress import bar
from plainly.errors import BadInput
from plainly.render.show import add_formats
from plainly.result import Result
from plainly.scoring.scorefile import open_saved


def configure(parser: argparse.ArgumentParser) -> None:
    options.add(parser, "inputs")
    inputs.add_metrics(parser)
    options.add(parser, "report")
    options.add_sampling(parser, method=False)
    options.add_force(parser)
    add_formats(parser)


def run(args: argparse.Namespace) -> Result:
    from plainly.pages import report

    page = args.out or (None if args.figures else "report.html")
    options.check_targets(args, page)
    return report(
        **_data(args),
        title=args.title,
        labeller=None if args.labeller == "none" else args.labeller,
        audit=not args.no_audit,
        ratings=args.ratings,
        out=page,
        figures=args.figures,
        command=args.command_line,
        sampling=options.sampling(args),
        progress=bar,
    )


def _data(args: argparse.Namespace) -> dict[str, Any]:
    """Texts to score, or scores that were saved, with their texts where these are named too."""
    saved = [name for name in args.systems if name.endswith(".npz")]
    if args.saved is None and saved:  # as compare takes them
        args.saved = saved[0]
        args.systems = [name for name in args.systems if name != args.saved]
    if args.saved is None:
        texts = inputs.read(args)
        return {"data": texts, "metrics": inputs.chosen_metrics(args, texts)}
    if args.metrics:
        raise BadInput("Saved scores have their metrics; leave out -m, or leave out --saved to score again.")
    if not (args.test_set or args.demo or args.source or args.references or args.table or args.systems):
        return {"data": open_saved(args.saved)}
    texts = inputs.read(args)
    return {"data": open_saved(args.saved), "evalset": texts.evalset, "outputs": texts.outputs}
