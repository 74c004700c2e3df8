"""``plainly gate``: fail a build if texts are unfit to publish."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from plainly.cli import options
from plainly.cli.show import say, say_written, show
from plainly.core.errors import BadInput
from plainly.core.files import write_whole
from plainly.core.progress import bar

if TYPE_CHECKING:
    from plainly.checks.rules import Rules
    from plainly.io.texts import Texts

HELP = """\
Fail a build if texts are not simpler, not faithful, or unfit to publish.

Every output is blocked, to be reviewed by a person, or passes.

  plainly gate --source src.txt mine.txt --preset plain
  plainly gate -t asset/test mine.jsonl --require 'sari >= 38' --not-worse-than baseline.jsonl:sari:0.5
  plainly gate -t asset/test --preset plain mine.jsonl --junit gate.xml
  plainly gate -t asset/test --preset plain mine.jsonl --report gate.html
  plainly gate init --preset plain > rules.toml
  plainly gate --rules rules.toml --source src.txt mine.txt
  my-service | plainly gate --preset plain --stream -

Exit status 0 when everything passes, 1 when it does not, 2 for bad input.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_texts(parser)
    options.add_calls(parser)
    add = parser.add_argument_group("rules").add_argument
    add("--rules", metavar="FILE", help="rules in TOML; plainly gate init writes one with comments")
    add("--preset", help="ready-made rules: %(choices)s", choices=("plain", "easy", "never-worse", "quick"))
    rule = "a rule for the whole file, decided by its interval: 'quality >= 55', 'facts.changed <= 1%%'; repeatable"
    add("--require", action="append", default=[], metavar="RULE", help=rule)
    margin = "not worse than another file (or system) by more than a margin, by a paired test"
    add("--not-worse-than", action="append", default=[], metavar="BASELINE:METRIC:MARGIN", help=margin)
    doubts = "a judge that is asked about doubtful facts: 'judge(model=NAME,rubric=doubt)'; what it finds equal passes"
    add("--doubts", metavar="METRIC", help=doubts)
    add("--undecided", choices=("fail", "pass"), default="fail", help="rules with too few items to decide (fail)")
    fail_on = "what fails: outputs that are blocked (default), or also those that are to be reviewed"
    add("--fail-on", choices=("block", "review"), default="block", help=fail_on)
    add = parser.add_argument_group("for other programs").add_argument
    add("--junit", metavar="FILE", help="write JUnit XML")
    add("--report", metavar="FILE", help="write the page of plainly report, with the result of the gate")
    add("--sarif", metavar="FILE", help="write SARIF")
    add("--github", action="store_true", help="print annotations for GitHub to stdout instead of tables")
    stream = "read JSONL (source, output, id) from stdin or a file and write one decision per line at once"
    add("--stream", action="store_true", help=stream)
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
    if args.doubts:
        all_rules = replace(all_rules, doubts=args.doubts)
    if args.stream:
        return _stream(args, all_rules)
    for margin in all_rules.not_worse:  # A baseline may be another file or published system.
        names = {name for path in args.systems for name in (path, path.partition("=")[0], stem(path))}
        if margin.baseline not in names and (args.test_set or args.demo or Path(margin.baseline).exists()):
            args.systems = [*args.systems, margin.baseline]
    texts = _read_stdin(args) if _reads_rows(args) else options.read_arguments(args)
    shared: dict[str, Any] = {"sampling": options.sampling(args), "progress": bar}
    outcome = gate(texts, rules=all_rules, undecided=args.undecided, fail_on=args.fail_on, **shared)
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


def _reads_rows(args: argparse.Namespace) -> bool:
    """Return whether stdin is the only input, so that its lines must have the sources too."""
    return args.systems == ["-"] and not (args.test_set or args.source or args.table or args.demo or args.references)


def _read_stdin(args: argparse.Namespace) -> Texts:
    from plainly.io.texts import TextArguments

    columns = options.columns(args.columns)
    reading = TextArguments(columns=columns, language=args.language, incomplete=args.incomplete, unit=args.unit)
    return reading.read(list(_rows(sys.stdin.buffer)))


def _stream(args: argparse.Namespace, rules: Rules) -> int:
    """Decide line by line, in constant memory; the exit status is 1 if any line failed."""
    from plainly.checks.check import check_lines

    if len(args.systems) != 1 or args.test_set or args.source or args.table or args.demo or args.references:
        raise BadInput("--stream takes one JSONL file with sources and outputs, or - for stdin, and no other input.")
    if args.junit or args.sarif or args.report or args.github:
        raise BadInput("--stream writes JSON lines. Leave out --junit, --sarif, --report and --github.")
    has_passed = True
    with contextlib.ExitStack() as stack:
        name = args.systems[0]
        lines = sys.stdin.buffer if name == "-" else stack.enter_context(_open(name))
        for decision in check_lines(_rows(lines), rules=rules, language=args.language, fail_on=args.fail_on):
            has_passed &= decision["passed"]
            sys.stdout.write(json.dumps(decision, ensure_ascii=False) + "\n")
            sys.stdout.flush()
    return 0 if has_passed else 1


def _open(name: str) -> BinaryIO:
    try:
        return open(name, "rb")
    except OSError as error:
        raise BadInput(f"{name} cannot be read: {error.strerror}.") from None


def _rows(lines: Iterable[bytes]) -> Iterator[Any]:
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield json.loads(line.decode("utf-8-sig"))
            except ValueError as error:
                advice = 'Each line is an object: {"source": "…", "output": "…"}. Lines of outputs need --source FILE.'
                raise BadInput(f"Line {number} is not JSON: {error}. {advice}") from None
