"""``plainly train``: make a simplicity estimate of your own from levelled documents."""

from __future__ import annotations

import argparse
from pathlib import Path

from plainly.cli.progress import bar
from plainly.errors import BadInput
from plainly.files import check_directory
from plainly.render.show import add_formats, say, show

HELP = """Train the reference-less simplicity estimate (SLE) on levelled documents and export it for 'plainly score'.

  plainly train sle levelled.csv --levels hard=0,easy=4 --encoder DIR --output my-model
  plainly score -m 'sle(model=my-model)' --source src.txt OUT.txt

levelled.csv has the columns article, level and text. Without it, and with --recipe shipped, the model that plainly
ships is made again from OneStopEnglish and CEFR-SP. Interrupted runs go on where they stopped."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=["sle"], help="what to train")
    parser.add_argument("documents", nargs="?", help="a table with the columns article, level and text")
    parser.add_argument("--corpus", help="a corpus that --prepare wrote, instead of documents")
    parser.add_argument("--prepare", metavar="FILE", help="only write the prepared corpus, to train on another machine")
    parser.add_argument("--levels", default="", help="what named levels stand for: advanced=0,elementary=4")
    parser.add_argument("--encoder", help="a Hugging Face encoder: a directory or a hub name")
    parser.add_argument("--expert-encoder", help="a larger encoder for experts on the second scale")
    parser.add_argument("--recipe", help="a TOML file of settings, or 'shipped'; default: the 2023 paper's")
    parser.add_argument("--quantised", action="store_true", help="train on the documents' levels, without softening")
    parser.add_argument("--span", type=float, help="how far softening spreads the labels of a level")
    parser.add_argument("--epochs", type=float, help="passes over the training sentences")
    parser.add_argument("--seed", type=int, help="of the split, the order and the dropout (default: the recipe's)")
    parser.add_argument("--device", help="cpu, cuda, cuda:1 …; default: a GPU where there is one")
    parser.add_argument("--output", "-o", default="sle-model", help="directory for the model (default: sle-model)")
    parser.add_argument("--float", action="store_true", help="export without eight-bit arithmetic")
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
