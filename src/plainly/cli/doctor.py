"""``plainly doctor``: what is wrong with the input."""

from __future__ import annotations

import argparse

from plainly.cli import inputs, output
from plainly.evalset import EvalSet
from plainly.inputs.texts import Inputs
from plainly.questions import doctor
from plainly.questions.doctor.language import LANGUAGES

HELP = """Look for what is wrong with a test set and with what systems wrote.

  plainly doctor -t turkcorpus/test-legacy Dress
  plainly doctor --source src.txt --references 'ref.*.txt' -- A.txt
  plainly doctor --explain misaligned

Exit status 0 when nothing was found, 1 when something was.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    inputs.add_arguments(parser)
    inputs.add_metrics(parser)
    parser.add_argument(
        "--language", metavar="CODE", choices=LANGUAGES, help=f"expected language: {', '.join(LANGUAGES)}"
    )
    parser.add_argument("--explain", metavar="CODE", help="say what a code means and what to do about it")
    parser.add_argument("--list", action="store_true", help="list all codes")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    if args.explain is not None or args.list:
        codes = doctor.codes() if args.list else (args.explain,)
        explained = {code: doctor.explain(code) for code in codes}
        if args.json:
            output.print_json(explained)
        else:
            print("\n\n".join(f"{code}\n  {text}" for code, text in explained.items()))
        return 0
    given = _read(args)
    specs = inputs.chosen_metrics(args, references=bool(given.evalset.references)) if args.metrics else ()
    found = doctor.diagnose(given.evalset, given.outputs, specs, language=args.language)
    if args.json:
        output.print_json(
            {
                "schema": "plainly.doctor/1",
                "test_set": given.evalset.name or None,
                "items": len(given.evalset),
                "checks": list(doctor.CHECKS),
                "warnings": [finding.payload() for finding in found],
            }
        )
    else:
        for finding in found:
            print(f"[{finding.code}] {finding.message}")
        checked = f"{len(doctor.CHECKS)} checks on {_size(given.evalset, len(given.outputs))}"
        codes_found = len({finding.code for finding in found})
        output.note(f"{checked}: {f'{codes_found} found something' if found else 'nothing found'}.")
        if found:
            output.note(f"What a code means: plainly doctor --explain {found[0].code}")
    return 1 if found else 0


def _read(args: argparse.Namespace) -> Inputs:
    """As every command reads, but a set can be looked at without outputs."""
    if args.test_set is not None and not args.systems:
        from plainly import data
        from plainly.cli.progress import bar

        return Inputs(data.load(args.test_set, progress=bar), {})
    if not args.systems and args.source and args.references:
        from plainly.inputs import read_evalset

        return Inputs(read_evalset(source=args.source, references=args.references, groups=args.groups), {})
    return inputs.read(args)


def _size(evalset: EvalSet, systems: int) -> str:
    return f"{len(evalset)} items" + (f" and {systems} system{'' if systems == 1 else 's'}" if systems else "")
