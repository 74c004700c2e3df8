"""``plainly train``: make a simplicity estimate or a judge of your own."""

import argparse
from pathlib import Path
from typing import Any

from plainly.cli import options
from plainly.cli.progress import bar
from plainly.errors import BadInput
from plainly.files import check_directory
from plainly.render.show import add_formats, say
from plainly.result import Result


def configure(parser: argparse.ArgumentParser) -> None:
    options.add(parser, "train")
    add_formats(parser)


def run(args: argparse.Namespace) -> Result | int:
    if args.what == "cefr":
        from plainly.learn.cefr import fit_levels

        return fit_levels(args.output or "sle-model", progress=bar)
    from plainly.learn.documents import LevelledTexts, levelled_texts
    from plainly.learn.recipe import Recipe

    if args.prepare:
        check_directory(args.prepare)
    if args.what == "quality":
        return _quality(args)
    documents = LevelledTexts.load(Path(args.corpus)) if args.corpus else args.documents
    corpus = levelled_texts(documents, levels=_scale(args.levels), recipe=args.recipe)
    if args.prepare:
        corpus.save(Path(args.prepare))
        say(f"Wrote {len(corpus.levelled)} sentences to {args.prepare}")
        return 0
    _need_encoder(args)
    recipe = Recipe.read(args.recipe)
    return _train(
        args,
        corpus,
        recipe.changed(softened=False if args.quantised else None, span=args.span, epochs=args.epochs, seed=args.seed),
    )


def _quality(args: argparse.Namespace) -> Result | int:
    from plainly.learn.judge_training import pair_corpus
    from plainly.learn.pairs import PairCorpus
    from plainly.learn.recipe import SHIPPED, JudgeRecipe

    if args.documents:
        raise BadInput("quality learns from named sets of pairs (see its recipe), not from documents. Leave them out.")
    recipe = JudgeRecipe.read(args.recipe or SHIPPED).changed(epochs=args.epochs, seed=args.seed)
    if not args.prepare:
        _need_encoder(args)
    corpus = PairCorpus.load(Path(args.corpus)) if args.corpus else pair_corpus(recipe)
    if args.prepare:
        corpus.save(Path(args.prepare))
        say(f"Wrote {len(corpus.sound)} sound and {len(corpus.rated)} rated pairs to {args.prepare}")
        return 0
    return _train(args, corpus, recipe)


def _train(args: argparse.Namespace, corpus: Any, recipe: Any) -> Result:
    """What both kinds of training share: where they start, where they write, on what they run."""
    from plainly.learn.train import train

    return train(
        args.what,
        documents=corpus,
        encoder=args.encoder,
        expert_encoder=args.expert_encoder,
        recipe=recipe,
        output=args.output,
        device=args.device,
        eight_bits=not args.float,
        progress=bar,
    )


def _need_encoder(args: argparse.Namespace) -> None:
    if not args.encoder:
        raise BadInput("Training starts from an encoder. Name one: --encoder DIRECTORY-OR-HUB-NAME")


def _scale(text: str) -> dict[str, float]:
    scale = {}
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        try:
            scale[name.strip()] = float(value)
        except ValueError:
            raise BadInput(f"--levels is name=number,…, and {part!r} is not. Example: hard=0,easy=4") from None
    return scale
