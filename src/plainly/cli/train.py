"""``plainly train``: make a simplicity estimate of your own from levelled documents."""

import argparse
from pathlib import Path

from plainly.cli import options
from plainly.cli.progress import bar
from plainly.errors import BadInput
from plainly.files import check_directory
from plainly.render.show import add_formats, say, show

HELP = options.help_text("train")


def configure(parser: argparse.ArgumentParser) -> None:
    options.add(parser, "train")
    add_formats(parser)


def run(args: argparse.Namespace) -> int:
    from plainly.learn.documents import LevelledTexts, levelled_texts
    from plainly.learn.recipe import Recipe
    from plainly.learn.train import train

    if args.prepare:
        check_directory(args.prepare)
    documents = LevelledTexts.load(Path(args.corpus)) if args.corpus else args.documents
    corpus = levelled_texts(documents, levels=_scale(args.levels), recipe=args.recipe)
    if args.prepare:
        corpus.save(Path(args.prepare))
        say(f"Wrote {len(corpus.levelled)} sentences to {args.prepare}")
        return 0
    if not args.encoder:
        raise BadInput("Training starts from an encoder. Name one: --encoder DIRECTORY-OR-HUB-NAME")
    recipe = Recipe.read(args.recipe)
    training = train(
        args.what,
        documents=corpus,
        encoder=args.encoder,
        expert_encoder=args.expert_encoder,
        recipe=recipe.changed(
            softened=False if args.quantised else None, span=args.span, epochs=args.epochs, seed=args.seed
        ),
        output=args.output,
        device=args.device,
        eight_bits=not args.float,
        progress=bar,
    )
    show(training, args.format)
    return 0


def _scale(text: str) -> dict[str, float]:
    scale = {}
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        try:
            scale[name.strip()] = float(value)
        except ValueError:
            raise BadInput(f"--levels is name=number,…, and {part!r} is not. Example: hard=0,easy=4") from None
    return scale
