"""``plainly grid``: systems × test sets × metrics × seeds from one file."""

import argparse

from plainly.cli.options import add_calls, add_formats, number
from plainly.core.progress import bar
from plainly.core.result import Result

SUMMARY = "evaluate systems × test sets × metrics × seeds from one file"
HELP = """\
Evaluate systems × test sets × metrics × seeds; only what is new is measured.

  plainly grid grid.toml

A grid is a TOML file; its paths are relative to it:

  out = "results"                       # directory of the scores
  metrics = ["sari", "bleu", "fkgl"]
  seeds = [1, 2, 3]

  [test_sets]
  asset = "asset/test"                  # a named set
  [test_sets.own]                       # or files
  source = "own/source.txt"
  references = ["own/ref.*.txt"]

  [systems]
  mine = "runs/mine/{test_set}.{seed}.txt"
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", metavar="FILE", help="the grid, a TOML file")
    parser.add_argument("--engine", choices=("local", "ray"), default="local", help="where cells are measured (local)")
    parser.add_argument("--processes", type=number("--processes"), metavar="N", help="number of workers (all cores)")
    parser.add_argument("--address", metavar="HOST:PORT", help="the Ray cluster; without it, Ray is started here")
    parser.add_argument("--restart", action="store_true", help="measure everything again")
    add_calls(parser)
    add_formats(parser)


def run(args: argparse.Namespace) -> Result:
    from plainly_lab.grids import grid

    engine = {"engine": args.engine, "processes": args.processes, "address": args.address}
    return grid(args.config, **engine, restart=args.restart, progress=bar)
