"""``plainly plan``: how many sentences and raters the next human evaluation needs."""

import argparse

from plainly.cli import options, rated
from plainly.errors import BadInput
from plainly.render.show import add_formats, say
from plainly.result import Result


def configure(parser: argparse.ArgumentParser) -> None:
    options.add(parser, "rated", ratings={"nargs": "?", "default": "simplicity-da"})
    options.add(parser, "plan", draws={"help": argparse.SUPPRESS})
    options.add_sampling(parser, method=False)
    options.add_force(parser)
    add_formats(parser)


def run(args: argparse.Namespace) -> Result:
    from plainly.questions.plan import plan
    from plainly.render import plots

    if args.draws is not None:
        say("plainly: --draws is now --resamples, as everywhere; the old name goes with the next version")
        args.resamples = args.draws
    options.check_targets(args, args.plot)
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
    return result


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
