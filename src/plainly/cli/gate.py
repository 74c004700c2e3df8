"""``plainly gate``: stop a build when the texts are not fit to show."""

import argparse
import sys
from pathlib import Path

from plainly.checks import formats, rules
from plainly.checks.gate import PRESETS, Gate, gate, preset_text
from plainly.cli import inputs, options
from plainly.cli.progress import bar
from plainly.cli.show import add_formats, say, show
from plainly.core.files import write_whole
from plainly.io.files import stem
from plainly.io.texts import Texts

HELP = """\
Stop a build when texts are not simpler, not faithful, or not fit to show.

  plainly gate --source src.txt mine.txt --preset plain
  plainly gate -t asset/test mine.jsonl --require 'sari >= 38' --not-worse-than baseline.jsonl:sari:0.5
  plainly gate -t asset/test --preset plain mine.jsonl --junit gate.xml
  plainly gate -t asset/test --preset plain mine.jsonl --report gate.html
  plainly gate init --preset plain > rules.toml
  plainly gate --rules rules.toml --source src.txt mine.txt

Exit status 0 when everything passes, 1 when it does not, 2 for bad input.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    inputs.add_texts(parser)
    group = parser.add_argument_group("rules")
    group.add_argument("--rules", metavar="FILE", help="rules in TOML; plainly gate init writes one with comments")
    group.add_argument("--preset", help="ready-made rules: %(choices)s", choices=PRESETS)
    group.add_argument(
        "--require",
        action="append",
        default=[],
        metavar="RULE",
        help="a rule for the whole file, decided by its interval: 'quality >= 55', 'facts.changed <= "
        "1%%'; may be repeated",
    )
    group.add_argument(
        "--not-worse-than",
        action="append",
        default=[],
        metavar="BASELINE:METRIC:MARGIN",
        help="not worse than another file (or system) by more than a margin, by a paired test",
    )
    group.add_argument(
        "--undecided",
        choices=("fail", "pass"),
        default="fail",
        help="what becomes of a rule that so few items cannot decide (fail)",
    )
    group = parser.add_argument_group("for other programs")
    group.add_argument("--junit", metavar="FILE", help="write JUnit XML")
    group.add_argument("--report", metavar="FILE", help="write the page of plainly report, with what the gate found")
    group.add_argument("--sarif", metavar="FILE", help="write SARIF")
    group.add_argument("--github", action="store_true", help="print annotations for GitHub to stdout instead of tables")
    options.add_sampling(parser)
    options.add_force(parser)
    add_formats(parser)


def run(args: argparse.Namespace) -> int:
    if args.systems == ["init"] and not Path("init").exists():
        sys.stdout.write(preset_text(args.preset or "plain"))
        return 0
    options.check_targets(args, args.junit, args.sarif, args.report)
    asked = rules.chosen(args.rules, args.preset).with_more(args.require, args.not_worse_than)
    _add_baselines(args, asked)
    texts = inputs.read(args)
    outcome = gate(texts, rules=asked, undecided=args.undecided, sampling=options.sampling(args), progress=bar)
    files = {system: path for path in args.systems for system in (path.partition("=")[0], stem(path))}
    if args.junit:
        write_whole(args.junit, formats.junit(outcome))
    if args.sarif:
        write_whole(args.sarif, formats.sarif(outcome, files))
    if args.report:
        _write_page(args, texts, outcome)
    if args.github:
        sys.stdout.write(formats.github(outcome, files))
        for note in outcome.notes():
            say(note.message)
    else:
        show(outcome, args.format)
    return 0 if outcome.passed else 1


def _write_page(args: argparse.Namespace, texts: Texts, outcome: Gate) -> None:
    """The report of the same texts, by the metrics of the rules, or by those that a report has anyway."""
    from plainly.reporting.report import report

    report(
        texts,
        metrics=list(outcome.rules.specs) or None,
        gate=outcome,
        out=args.report,
        command=args.command_line,
        sampling=options.sampling(args),
        progress=bar,
    )
    say(f"Wrote {args.report}.")


def _add_baselines(args: argparse.Namespace, asked: rules.Rules) -> None:
    """Baselines that are files or published systems and were not named as outputs are read with them."""
    for margin in asked.not_worse:
        named = {name for path in args.systems for name in (path, path.partition("=")[0], stem(path))}
        if margin.baseline not in named and (args.test_set or args.demo or Path(margin.baseline).exists()):
            args.systems = [*args.systems, margin.baseline]
