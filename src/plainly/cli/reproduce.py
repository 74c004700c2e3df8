"""``plainly reproduce``: a paper's tables computed again, cell by cell, beside the published ones."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from plainly.cli import output
from plainly.errors import BadInput
from plainly.questions.reproduce import RECIPES, recipe
from plainly.questions.reproduce.cells import Options, grid, tally
from plainly.result import Table

HELP = """Compute the tables of a paper again and show them beside the published ones.

  plainly reproduce --list
  plainly reproduce assetann
  plainly reproduce assetann --table 4 --json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="PAPER", help="which paper (see --list)")
    parser.add_argument("--list", action="store_true", help="the papers that can be reproduced")
    parser.add_argument("--table", action="append", metavar="N", help="only this table; may be repeated")
    parser.add_argument("--outputs", type=Path, metavar="DIR", help="licensed system outputs, where a paper needs them")
    parser.add_argument("--seed", type=int, default=12345, help="seed of whatever is drawn (12345)")
    parser.add_argument("--figures", type=Path, metavar="DIR", help="draw the figures there, where a paper has any")
    parser.add_argument("--trials", type=int, default=100, metavar="N", help="repetitions, where a paper has any (100)")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, metavar="N", help="how many to use")
    parser.add_argument("--summary", action="store_true", help="verdicts by table, without the cells")
    output.add_formats(parser)


def run(args: argparse.Namespace) -> int:
    if args.list or args.name is None:
        _list(args)
        return 0
    from plainly.cli.progress import bar

    module = recipe(args.name)
    options = Options(
        tables=frozenset(args.table) if args.table else None,
        outputs=args.outputs,
        seed=args.seed,
        trials=args.trials,
        processes=args.processes,
        figures=args.figures,
        progress=bar,
    )
    cells = module.run(options)
    if not cells:
        raise BadInput(f"{args.name} has no table {', '.join(args.table or ())}. Leave out --table to see all of them.")
    conclusions = list(getattr(module, "conclusions", lambda _: [])(cells))
    counts = tally(cells)
    if args.format == "json":
        output.print_json(
            {
                "schema": "plainly.reproduce/1",
                "recipe": args.name,
                "cells": [cell.data() for cell in cells],
                "tables": {table: dict(found) for table, found in counts.items()},
                "conclusions": conclusions,
            }
        )
        return 0
    if args.format == "csv":
        from plainly.render.tables import delimited

        records = [{"note": "", **cell.data()} for cell in cells]
        print(delimited(list(records[0]), [list(record.values()) for record in records]))
        return 0
    if not args.summary:
        for table in counts:
            output.print_grid(grid(cells, table), form=args.format)
            print()
    rows = tuple(
        (table, str(sum(found.values())), *(str(found[verdict]) for verdict in ("exact", "close", "differs")))
        for table, found in counts.items()
    )
    output.print_grid(Table(("table", "cells", "exact", "close", "differs"), rows), form=args.format)
    for line in conclusions:
        print(f"- {line}")
    return 0


def _list(args: argparse.Namespace) -> None:
    if args.format == "json":
        recipes = [{"name": name, "title": title} for name, (_, title) in RECIPES.items()]
        output.print_json({"schema": "plainly.reproduce/1", "recipes": recipes})
        return
    rows = tuple((name, title) for name, (_, title) in RECIPES.items())
    output.print_grid(Table(("name", "paper"), rows, text_columns=frozenset({0, 1})), form=args.format)
