"""``plainly plan``: how many sentences and raters the next human evaluation needs."""

import argparse

from plainly.cli import options
from plainly.cli.options import number
from plainly.cli.show import say, say_written
from plainly.core.files import write_whole
from plainly.core.result import Result

HELP = """\
How many sentences and raters tell systems apart? Estimated from existing ratings: yours, or a public set.

  plainly plan --budget 200
  plainly plan pilot.csv --budget 500 --dimension meaning
  plainly plan pilot.csv -o study.toml
  plainly plan acl2018 --systems Identity,Moses,SBMT-SARI --people 10 --difference 0.5
"""


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_ratings(parser, default="simplicity-da")
    parser.add_argument("--dimension", default="", metavar="NAME", help="which dimension (simplicity)")
    add = parser.add_argument_group("the study").add_argument
    add("--budget", type=number("--budget"), default=200, metavar="N", help="ratings per system you can afford (200)")
    add("--sentences", metavar="10,50,100", help="numbers of sentences to try")
    add("--raters", metavar="1,2,5", help="numbers of raters per sentence to try")
    add("--people", type=number("--people"), metavar="N", help="people who share the work (as many as in the ratings)")
    add("--difference", type=number("--difference", "float"), help="difference worth finding (a tenth of the scale)")
    add("--target", type=number("--target", "float"), default=0.9, help="agreement with the pilot to reach (0.9)")
    add("-o", "--out", metavar="FILE", help="write the recommended study, for plainly studio create: study.toml")
    add("--plot", metavar="FILE", help="draw the curves: .html, .svg, .png, .pdf")
    options.add_sampling(parser, method=False)
    options.add_formats(parser, force=True)


def run(args: argparse.Namespace) -> Result:
    from plainly.people.planning import plan

    options.check_targets(args, args.plot, args.out)
    result = plan(
        options.read_judgements(args),
        dimension=args.dimension,
        budget=args.budget,
        sentences=_numbers(args.sentences, "--sentences"),
        raters=_numbers(args.raters, "--raters"),
        people=args.people,
        target=args.target,
        difference=args.difference,
        sampling=options.sampling(args),
    )
    if args.out:
        write_whole(args.out, result.study())
        say_written(args.out)
    if args.plot:
        from plainly.reporting.curves import draw_plan

        say(f"Curves are in {draw_plan(result).save(args.plot)}")
    return result


def _numbers(text: str | None, option: str) -> list[int]:
    return sorted({int(number(option)(part)) for part in options.split_names(text)})
