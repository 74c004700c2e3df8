"""``plainly audit``: attack what systems wrote, and see which metrics are fooled."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from plainly import registry
from plainly.cli import inputs, output
from plainly.engines import engine
from plainly.errors import BadInput, UnknownName
from plainly.files import write_whole
from plainly.inputs.texts import Inputs
from plainly.questions.audit import Audit, grids
from plainly.questions.audit.catalogue import ATTACKS, chosen
from plainly.questions.audit.sweep import LEVELS, sweep
from plainly.render import tables
from plainly.result import Table
from plainly.scoring.evaluate import evaluate

HELP = """Find out whether metrics can be fooled: attack a share of the outputs and watch every metric.

  plainly audit --demo
  plainly audit -t asset/test -m sari,bleu,fkgl ACCESS Dress-Ls Hybrid
  plainly audit -t asset/test -m 'command(run=./my_metric.py)' --attacks paper ACCESS Dress-Ls
  plainly audit --list
"""

TABLES = {
    "gameability": "how far each attack moves each metric, in units of the spread between the systems",
    "flips": "how much of which attack changes who wins",
    "overview": "a few levels of all systems side by side",
    "levels": "every level, a table a system",
    "parts": "what each metric is made of, unharmed and attacked, a table a system",
    "form": "length of sentences and words, and splits, of what was written",
}
_DEFAULT_TABLES = ("gameability", "flips")


def configure(parser: argparse.ArgumentParser) -> None:
    inputs.add_arguments(parser)
    inputs.add_metrics(parser)
    attacks = parser.add_argument_group("attacks")
    attacks.add_argument("--list", action="store_true", help="the attacks, and what a sound metric makes of them")
    attacks.add_argument(
        "--attacks",
        default="all",
        metavar="NAMES",
        help="all, paper (the six of Tanprasert & Kauchak 2021), or names between commas (all)",
    )
    attacks.add_argument(
        "--levels",
        type=_levels,
        default=LEVELS,
        metavar="PERCENT,…",
        help="shares of outputs to attack (10,20,…,100)",
    )
    attacks.add_argument("--trials", type=int, default=100, metavar="N", help="repetitions of each attack (100)")
    attacks.add_argument("--seed", type=int, default=12345, help="seed of the trials (12345), kept in the results")
    attacks.add_argument(
        "--processes", type=int, default=os.cpu_count() or 1, metavar="N", help="how many to use; results are the same"
    )
    attacks.add_argument("--engine", choices=("local", "ray"), default="local", help="where trials are done (local)")
    attacks.add_argument("--address", metavar="HOST:PORT", help="the Ray cluster; without it, Ray is started here")
    shown = parser.add_argument_group("what to show")
    shown.add_argument(
        "--tables",
        default=",".join(_DEFAULT_TABLES),
        metavar="NAMES",
        help=f"all, or names between commas: {', '.join(TABLES)} ({','.join(_DEFAULT_TABLES)})",
    )
    shown.add_argument("--intervals", action="store_true", help="show where 95 %% of the trials lie, in levels")
    shown.add_argument(
        "--plots", type=Path, metavar="DIR", help="draw every metric of every system there, as SVG and PNG"
    )
    shown.add_argument("--out", type=Path, metavar="DIR", help="write all tables there, as CSV and Markdown")
    output.add_formats(parser)


def run(args: argparse.Namespace) -> int:
    if args.list:
        _list(args.format)
        return 0
    wanted = _wanted(args.tables)
    for directory in (args.plots, args.out):
        if directory is not None and not directory.is_dir():
            raise BadInput(f"There is no directory {directory}. Make it first: mkdir {directory}")
    given = inputs.read(args)
    specs = inputs.chosen_metrics(args, references=bool(given.evalset.references))
    attacks = chosen(registry.split_specs(args.attacks), given.evalset)
    from plainly.cli.progress import working

    with working("trials") as tell:
        found = Audit(
            sweep(
                given.evalset,
                given.outputs,
                specs,
                attacks,
                levels=args.levels,
                trials=args.trials,
                seed=args.seed,
                processes=args.processes,
                engine=None if args.engine == "local" else engine(args.engine, address=args.address),
                progress=tell,
            )
        )
    if args.plots is not None:
        _draw(found, args.plots)
    if args.out is not None:
        _write(found, given, args.out)
    _print(found, given, wanted, args)
    return 0


def _print(found: Audit, given: Inputs, wanted: tuple[str, ...], args: argparse.Namespace) -> None:
    if args.format == "json":
        output.print_json(found.to_dict())
        return
    if args.format == "csv":
        print(tables.delimited(*_records(found)))
        return
    for grid in (grid for name in wanted for grid in _grids(name, found, given, intervals=args.intervals)):
        output.print_grid(grid, form=args.format)
        print()
    for paragraph in found.paragraphs.values():
        print(f"{paragraph}\n")
    plan = found.sweep.plan
    output.note(f"{len(plan.evalset)} items, {plan.trials} trials of each attack, seed {plan.seed}.")


def _grids(name: str, found: Audit, given: Inputs, *, intervals: bool) -> list[Table]:
    swept, verdicts = found.sweep, list(found.verdicts.values())
    if name == "gameability":
        return [grids.gameability(swept, verdicts)]
    if name == "flips":
        return [grids.flips(verdicts)] if len(swept.systems) > 1 else []
    if name == "overview":
        return [grids.overview(swept)]
    if name == "levels":
        return [grids.levels(swept, system, intervals=intervals) for system in swept.systems]
    if name == "parts":
        return [grids.parts(swept, system) for system in swept.systems]
    return [_form(given)]


def _form(given: Inputs) -> Table:
    """What the paper's Table 3 shows, as plainly counts it: source, first references and systems."""
    evalset, texts = given.evalset, dict(given.outputs)
    specs = ["length", "splits"] if evalset.has_sources else ["length"]
    if evalset.references and evalset.reference_counts.all():
        texts = {"first references": tuple(each[0] for each in evalset.references)} | texts
    if evalset.has_sources:
        texts = {"sources": evalset.sources} | texts
    found = evaluate(evalset, texts, specs, sampling=None)
    parts = ("words_per_sentence", "syllables_per_word"), ("full_stops",)
    rows = tuple(
        (
            system,
            *(
                grids.number((100 if part == "full_stops" else 1) * scores[spec].corpus[part], 3)
                for spec, names in zip(specs, parts, strict=False)
                for part in names
            ),
        )
        for system, scores in found.systems.items()
    )
    header = (
        "text",
        "words per sentence",
        "syllables per word",
        *(("% split (full stops)",) if len(specs) > 1 else ()),
    )
    return Table(header, rows, caption="The form of what was written")


def _write(found: Audit, given: Inputs, directory: Path) -> None:
    header, rows = _records(found)
    write_whole(directory / "curves.csv", tables.delimited(header, rows) + "\n")
    for name in TABLES:
        made = _grids(name, found, given, intervals=True)
        page = "\n\n".join(f"{grid.caption}\n\n{tables.markdown(grid)}" for grid in made)
        write_whole(directory / f"{name}.md", f"{page}\n")
        for place, grid in enumerate(made):
            stem = name if len(made) == 1 else f"{name}-{_safe(found.sweep.systems[place])}"
            write_whole(directory / f"{stem}.csv", tables.delimited(grid.header, grid.rows) + "\n")
    write_whole(directory / "verdicts.md", "\n\n".join(found.paragraphs.values()) + "\n")


def _draw(found: Audit, directory: Path) -> None:
    from plainly.questions.audit import plots

    for system in found.sweep.systems:
        for spec in found.sweep.plan.metrics:
            chart = plots.figure(found.sweep, system, spec)
            plots.save(chart, directory / f"{_safe(system)}-{_safe(spec)}")


def _records(found: Audit) -> tuple[list[str], list[list[object]]]:
    """Every number of every curve, a row each."""
    rows: list[list[object]] = []
    for (system, attack, spec), curve in found.sweep.curves.items():
        for place, name in enumerate(found.sweep.plan.metrics[spec].outputs):
            rows += [
                [system, attack, spec, name, level, *map(float, values)]
                for level, *values in zip(
                    curve.levels, curve.mean[:, place], curve.low[:, place], curve.high[:, place], strict=True
                )
            ]
    return ["system", "attack", "metric", "output", "level", "mean", "low", "high"], rows


def _list(form: str | None) -> None:
    if form == "json":
        attacks = [
            {"attack": each.name, "expected": each.expected, "what": each.what, "paper": each.paper}
            for each in ATTACKS.values()
        ]
        output.print_json({"schema": "plainly.audit/1", "attacks": attacks})
        return
    rows = tuple((each.name, each.expected, each.what) for each in ATTACKS.values())
    header = ("attack", "should be", "what stands in for an output")
    output.print_grid(Table(header, rows, text_columns=frozenset({0, 1, 2})), form=form)


def _wanted(names: str) -> tuple[str, ...]:
    if names == "all":
        return tuple(TABLES)
    wanted = tuple(name.strip() for name in names.split(",") if name.strip())
    for name in wanted:
        if name not in TABLES:
            raise UnknownName("table", name, TABLES, see="plainly audit --help")
    return wanted


def _levels(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part.strip().rstrip("%")) / 100 for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"percentages between commas, such as 10,50,100; not {text!r}") from None


def _safe(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_.+" else "-" for c in name).strip("-")
