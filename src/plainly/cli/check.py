"""``plainly check``: is this text plain?"""

from __future__ import annotations

import argparse
import sys

from plainly.cli import options
from plainly.cli.show import say, say_written, show
from plainly.core.files import write_whole
from plainly.core.progress import bar

HELP = """\
Say whether a text is plain: a verdict, the hardest sentences and why, and what rules find.

  plainly check letter.txt
  plainly check README.md docs --preset plain
  plainly check letter.docx --preset easy --page letter.html
  plainly check page.html --target A2 --json
  plainly check new.md --source old.md
  plainly check docs --diff main --github
  pandoc notes.odt -t markdown | plainly check - --as markdown

Exit status 0 when everything passes, 1 when it does not, 2 for input that cannot be read.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="text, Markdown, HTML or Word files, folders, patterns; - is stdin")
    add("--source", metavar="FILE", help="the text that the one FILE was made from: facts are compared, too")
    kinds = ("text", "markdown", "html", "docx")
    add("--as", dest="kind", choices=kinds, help="read the files as this, whatever their names: %(choices)s")
    add("--language", metavar="CODE", help="language of the texts (en, de, …); detected without it")
    add = parser.add_argument_group("audience and rules").add_argument
    add("--preset", choices=("plain", "easy"), default="plain", help="for whom: plain is B1, easy is A2 (plain)")
    add("--target", choices=("A1", "A2", "B1", "B2", "C1"), help="a level instead of the preset's (English)")
    add("--pack", action="append", default=[], metavar="PACK", help="more rules: a folder of a Vale style; repeatable")
    add("--on", action="append", default=[], metavar="RULE", help="apply a rule that is off by default; repeatable")
    add("--off", action="append", default=[], metavar="RULE", help="do not apply a rule; repeatable")
    add("--quick", action="store_true", help="rules and formulas alone, without learned metrics")
    fail_on = "what fails: errors (default), or also what a person should review"
    add("--fail-on", choices=("block", "review"), default="block", help=fail_on)
    add = parser.add_argument_group("old texts").add_argument
    add("--diff", metavar="BRANCH", help="judge only lines that differ from a branch or commit of git")
    add("--baseline", metavar="FILE", help="leave out the findings that this file lists")
    add("--write-baseline", metavar="FILE", help="write the findings of today to a file for --baseline")
    add = parser.add_argument_group("for other programs").add_argument
    add("--page", metavar="FILE", help="write a page with the marked text")
    add("--junit", metavar="FILE", help="write JUnit XML")
    add("--sarif", metavar="FILE", help="write SARIF")
    add("--github", action="store_true", help="print annotations for GitHub to stdout instead of text")
    add("--suggestions", action="store_true", help="print suggestions too, not only errors and warnings")
    options.add_formats(parser, force=True)


def run(args: argparse.Namespace) -> int:
    from plainly.checks import formats
    from plainly.checks.document_checks import check_documents, format_baseline, format_text

    args.systems = args.files  # so that no input is overwritten
    options.check_targets(args, args.junit, args.sarif, args.page, args.write_baseline)
    checks = check_documents(
        args.files,
        kind=args.kind,
        source=args.source,
        language=args.language,
        preset=args.preset,
        target=args.target,
        packs=args.pack,
        on=args.on,
        off=args.off,
        learned=not args.quick,
        baseline=args.baseline,
        diff=args.diff,
        fail_on=args.fail_on,
        progress=bar,
    )
    if args.junit:
        write_whole(args.junit, formats.junit_documents(checks))
    if args.sarif:
        write_whole(args.sarif, formats.sarif_documents(checks))
    if args.page:
        from plainly.reporting.check_page import check_page

        write_whole(args.page, check_page(checks))
    if args.write_baseline:
        write_whole(args.write_baseline, format_baseline(checks))
    say_written(args.junit, args.sarif, args.page, args.write_baseline)
    if args.github:
        sys.stdout.write(formats.github_documents(checks))
    elif args.format is None:
        sys.stdout.write(format_text(checks, is_terminal=sys.stdout.isatty(), suggestions=args.suggestions))
    if args.github or args.format is None:
        for problem in dict.fromkeys(checks.problems):
            say(f"plainly: {problem}")
        if not checks.documents:
            say("plainly: no file has changed lines")
    else:
        show(checks, args.format)
    return 0 if checks.passed else 1
