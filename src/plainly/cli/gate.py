"""``plainly gate``: fail a build if texts are unfit to publish."""

import argparse
import sys
from pathlib import Path
from typing import Any

from plainly.cli import options
from plainly.cli.show import say, say_written, show
from plainly.core.files import write_whole
from plainly.core.progress import bar

HELP = """\
Fail a build if texts are not simpler, not faithful, or unfit to publish.

  plainly gate --source src.txt mine.txt --preset plain
  plainly gate -t asset/test mine.jsonl --require 'sari >= 38' --not-worse-than baseline.jsonl:sari:0.5
  plainly gate -t asset/test --preset plain mine.jsonl --junit gate.xml
  plainly gate -t asset/test --preset plain mine.jsonl --report gate.html
  plainly gate init --preset plain > rules.toml
  plainly gate --rules rules.toml --source src.txt mine.txt

Exit status 0 when everything passes, 1 when it does not, 2 for bad input.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_texts(parser)
    add = parser.add_argument_group("rules").add_argument
    add("--rules", metavar="FILE", help="rules in TOML; plainly gate init writes one with comments")
    add("--preset", help="ready-made rules: %(choices)s", choices=("plain", "easy", "never-worse", "quick"))
    rule = "a rule for the whole file, decided by its interval: 'quality >= 55', 'facts.changed <= 1%%'; repeatable"
    add("--require", action="append", default=[], metavar="RULE", help=rule)
    margin = "not worse than another file (or system) by more than a margin, by a paired test"
    add("--not-worse-than", action="append", default=[], metavar="BASELINE:METRIC:MARGIN", help=margin)
    add("--undecided", choices=("fail", "pass"), default="fail", help="rules with too few items to decide (fail)")
    add = parser.add_argument_group("for other programs").add_argument
    add("--junit", metavar="FILE", help="write JUnit XML")
    add("--report", metavar="FILE", help="write the page of plainly report, with the result of the gate")
    add("--sarif", metavar="FILE", help="write SARIF")
    add("--github", action="store_true", help="print annotations for GitHub to stdout instead of tables")
    options.add_sampling(parser)
    options.add_formats(parser, force=True)


def run(args: argparse.Namespace) -> int:
    from plainly.checks import formats, rules
    from plainly.checks.gate import gate, preset_text
    from plainly.io.files import stem

    if args.systems == ["init"] and not Path("init").exists():
        sys.stdout.write(preset_text(args.preset or "plain"))
        return 0
    options.check_targets(args, args.junit, args.sarif, args.report)
    all_rules = rules.resolve_rules(args.rules, args.preset).with_more(args.require, args.not_worse_than)
    for margin in all_rules.not_worse:  # A baseline may be another file or published system.
        names = {name for path in args.systems for name in (path, path.partition("=")[0], stem(path))}
        if margin.baseline not in names and (args.test_set or args.demo or Path(margin.baseline).exists()):
            args.systems = [*args.systems, margin.baseline]
    texts = options.read_arguments(args)
    shared: dict[str, Any] = {"sampling": options.sampling(args), "progress": bar}
    outcome = gate(texts, rules=all_rules, undecided=args.undecided, **shared)
    files = {system: path for path in args.systems for system in (path.partition("=")[0], stem(path))}
    page = None
    if args.report:
        from plainly.reporting.report import report

        page = report(
            texts, metrics=list(outcome.rules.specs) or None, gate=outcome, command=args.command_line, **shared
        )
    if args.junit:
        write_whole(args.junit, formats.junit(outcome))
    if args.sarif:
        write_whole(args.sarif, formats.sarif(outcome, files))
    if page is not None:
        page.write(args.report)
    say_written(args.junit, args.sarif, args.report)
    if args.github:
        sys.stdout.write(formats.github(outcome, files))
        for note in outcome.notes():
            say(note.message)
    else:
        show(outcome, args.format)
    return 0 if outcome.passed else 1
