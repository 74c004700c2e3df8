"""``plainly gate``: stop a build when the texts are not fit to show."""

import argparse
import sys
from pathlib import Path

from plainly.cli import inputs, options
from plainly.cli.progress import bar
from plainly.files import write_whole
from plainly.inputs.files import stem
from plainly.inputs.texts import Inputs
from plainly.questions.gate import PRESETS, Gate, formats, gate, preset_text, rules
from plainly.render.show import add_formats, say, show


def configure(parser: argparse.ArgumentParser) -> None:
    options.add(parser, "inputs")
    options.add(parser, "gate", preset={"choices": PRESETS})
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


def _write_page(args: argparse.Namespace, texts: Inputs, outcome: Gate) -> None:
    """The report of the same texts, by the metrics of the rules, or by those that a report has anyway."""
    from plainly.pages import report

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
