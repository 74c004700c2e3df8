"""``plainly grid``: systems × test sets × metrics × seeds from one file."""

from __future__ import annotations

import argparse

from plainly.cli import output
from plainly.cli.progress import bar
from plainly.engines import engine
from plainly.machine import cores
from plainly.questions.grid import read_config, run_grid

HELP = """Evaluate systems × test sets × metrics × seeds; only what is not yet done is measured.

  plainly grid grid.toml

A grid is a TOML file; its paths are relative to it:

  out = "results"                       # where scores are kept
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
    parser.add_argument("--processes", type=int, metavar="N", help="how many workers; results are the same")
    parser.add_argument("--address", metavar="HOST:PORT", help="the Ray cluster; without it, Ray is started here")
    parser.add_argument("--restart", action="store_true", help="measure everything again")
    output.add_formats(parser)


def run(args: argparse.Namespace) -> int:
    config = read_config(args.config)
    workers = args.processes or (min(cores(), len(config.cells)) if args.engine == "local" else None)
    with bar("measuring", total=len(config.cells), unit="cells") as tell:
        results = run_grid(
            config,
            engine=engine(args.engine, processes=workers, address=args.address),
            restart=args.restart,
            progress=lambda done, total: tell(1),
        )
    if args.format == "json":
        output.print_json(results.payload())
    elif args.format == "csv":
        print("test_set,system,seed,metric,value")
        for cell in config.cells:
            for spec, value in results.cells[cell.test_set.name, cell.name].scores.items():
                seed = "" if cell.seed is None else cell.seed
                print(f'{cell.test_set.name},{cell.system},{seed},"{spec}",{"" if value != value else value}')
    else:
        for name in results.saved:
            output.print_grid(results.table(name), form=args.format)
            print()
    total = len(config.cells) * len(config.metrics)
    output.note(f"{results.measured} of {total} scores were measured now, the others were there. Go on with:")
    for path in results.saved.values():
        output.note(f"  plainly compare {path}")
        output.note(f"  plainly report {path}")
    return 0
