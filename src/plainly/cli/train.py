"""``plainly train``: make a simplicity estimate of your own from levelled documents."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plainly.errors import BadInput, MissingExtra

if TYPE_CHECKING:
    from plainly.learn.corpus import Corpus
    from plainly.learn.recipe import Recipe

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
    parser.add_argument("--json", action="store_true", help="print what was measured as JSON")


def run(args: argparse.Namespace) -> int:
    corpus = _corpus(args)
    if args.prepare:
        corpus.save(Path(args.prepare))
        print(f"Wrote {len(corpus.levelled)} sentences to {args.prepare}", file=sys.stderr)
        return 0
    if not args.encoder:
        raise BadInput("Training starts from an encoder. Name one: --encoder DIRECTORY-OR-HUB-NAME")
    try:
        import torch
    except ImportError:
        raise MissingExtra("Training", package="torch", extra="train") from None
    from plainly.learn import card, export
    from plainly.learn.model import save
    from plainly.learn.recipe import train

    recipe = _recipe(args)
    device = torch.device(args.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    place = Path(args.output)
    trained = train(
        corpus,
        recipe,
        encoder=args.encoder,
        directory=place / "run",
        device=device,
        expert_encoder=args.expert_encoder,
        progress=_Progress().tell,
    )
    settings = recipe.student if recipe.teachers else recipe.fit
    save(trained.model, trained.tokenizer, place / "torch", facts={"longest": settings.longest})
    layer = settings.keep_layer if settings.keep else -1
    agreement = export.export(
        trained.model,
        trained.tokenizer,
        place,
        name=place.name,
        layer=layer,
        longest=settings.longest,
        facts={},
        check=trained.parts.valid.sentences[:200],
        eight_bits=not args.float,
    )
    text = card.write(place / "CARD.md", corpus, recipe, trained, agreement, encoder=args.encoder)
    print(json.dumps(card.facts(trained, agreement), indent=2) if args.json else text)
    return 0


def _corpus(args: argparse.Namespace) -> Corpus:
    from plainly.learn import corpus

    if args.corpus:
        return corpus.Corpus.load(Path(args.corpus))
    if args.documents:
        from plainly.inputs import read_table

        table = read_table(args.documents)
        columns: list[list[Any]] = [table.column(name) for name in ("article", "level", "text")]
        for name, column in zip(("article", "level", "text"), columns, strict=True):
            for at, value in enumerate(column):
                if value is None:
                    raise BadInput(f"{table.where(at)}: no {name}. Each document needs an article, a level and a text.")
        articles, levels, texts = columns
        return corpus.from_documents(list(map(str, articles)), levels, list(map(str, texts)), scale=_scale(args.levels))
    if args.recipe == "shipped":
        return corpus.open_corpus()
    raise BadInput(
        "Say what to train on: a table of documents, --corpus FILE, or --recipe shipped for the open corpora."
    )


def _recipe(args: argparse.Namespace) -> Recipe:
    from dataclasses import replace

    from plainly.learn import recipe

    shipped = Path(recipe.__file__).parent / "shipped.toml"
    chosen = recipe.Recipe.read(shipped if args.recipe == "shipped" else Path(args.recipe)) if args.recipe else None
    found = chosen or recipe.Recipe()
    if args.quantised:
        found = replace(found, softened=False)
    if args.span is not None:
        found = replace(found, span=args.span)
    if args.seed is not None:
        found = replace(found, seed=args.seed, fit=replace(found.fit, seed=args.seed))
    if args.epochs is not None:
        found = replace(found, fit=replace(found.fit, epochs=args.epochs))
    return found


def _scale(text: str) -> dict[str, float]:
    found = {}
    for part in filter(None, text.split(",")):
        name, equals, value = part.partition("=")
        try:
            found[name.strip()] = float(value)
        except ValueError:
            raise BadInput(f"--levels is name=number,…, and {part!r} is not. Example: hard=0,easy=4") from None
        if not equals:
            raise BadInput(f"--levels is name=number,…, and {part!r} is not. Example: hard=0,easy=4")
    return found


class _Progress:
    """One line on stderr, rewritten where a person is watching and printed now and then elsewhere."""

    def __init__(self) -> None:
        self._last = 0.0
        self._wait = 0.2 if sys.stderr.isatty() else 30.0

    def tell(self, stage: str, step: int, total: int, loss: float) -> None:
        now = time.monotonic()
        if step < total and now - self._last < self._wait:
            return
        self._last = now
        end = "\n" if step == total or not sys.stderr.isatty() else "\r"
        print(f"{stage}: step {step} of {total}, loss {loss:.3f}  ", end=end, file=sys.stderr, flush=True)
