"""``plainly plan``: how many sentences and raters the next human evaluation needs."""

from __future__ import annotations

import argparse

from plainly.cli import options, rated
from plainly.errors import BadInput
from plainly.render.show import add_formats, say, show

HELP = """How many sentences and raters tell systems apart? Learnt from ratings that exist: yours, or a public set.

  plainly plan --budget 200
  plainly plan pilot.csv --budget 500 --dimension meaning
  plainly plan acl2018 --systems Identity,Moses,SBMT-SARI --difference 0.5
"""


def configure(parser: argparse.ArgumentParser) -> None:
    rated.add_arguments(parser, default="simplicity-da")
    parser.add_argument("--dimension", default="", metavar="NAME", help="which dimension (simplicity)")
    study = parser.add_argument_group("the study")
    study.add_argument("--budget", type=int, default=200, metavar="N", help="ratings you can pay for, a system (200)")
    study.add_argument("--sentences", metavar="10,50,100", help="sizes of test set to try")
    study.add_argument("--raters", metavar="1,2,5", help="numbers of raters a sentence to try")
    study.add_argument("--difference", type=float, help="the true difference worth finding (a tenth of the scale)")
    study.add_argument("--target", type=float, default=0.9, help="agreement with the whole pilot to reach (0.9)")
    study.add_argument("--test", choices=("paired", "welch"), help="t-test (paired where items are, else Welch's)")
    study.add_argument("--alpha", type=float, default=0.01, help="significance level (0.01)")
    study.add_argument("--plot", metavar="FILE", help="draw the curves: .html, .svg, .png, .pdf")
    options.add_sampling(parser, method=False)
    parser.add_argument("--draws", type=int, help=argparse.SUPPRESS)  # until the next version
    add_formats(parser)


def run(args: argparse.Namespace) -> int:
    from plainly.questions.plan import plan
    from plainly.render import plots

    if args.draws is not None:
        say("plainly: --draws is now --resamples, as everywhere; the old name goes with the next version")
        args.resamples = args.draws
    result = plan(
        rated.read(args),
        dimension=args.dimension,
        budget=args.budget,
        sentences=_numbers(args.sentences, "--sentences"),
        raters=_numbers(args.raters, "--raters"),
        test=args.test,
        alpha=args.alpha,
        target=args.target,
        difference=args.difference,
        sampling=options.sampling(args),
    )
    if args.plot:
        say(f"Curves are in {plots.save(result.chart(), args.plot)}")
    return int(show(result, args.format) > 0 and args.strict)


def _numbers(text: str | None, option: str) -> list[int]:
    if text is None:
        return []
    try:
        numbers = sorted({int(part) for part in text.split(",") if part.strip()})
    except ValueError:
        raise BadInput(f"{option} takes whole numbers with commas between them; not {text!r}.") from None
    if not numbers or numbers[0] < 1:
        raise BadInput(f"{option} takes numbers of at least 1; not {text!r}.")
    return numbers
