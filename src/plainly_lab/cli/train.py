"""``plainly train``: train your own simplicity estimate or judge."""

import argparse
from pathlib import Path

from plainly.cli.options import add_formats, number
from plainly.cli.show import say
from plainly.core.errors import BadInput
from plainly.core.files import check_directory
from plainly.core.progress import bar
from plainly.core.result import Result

SUMMARY = "train your own learned metric"
HELP = """\
Train the reference-less simplicity estimate (sle) on levelled documents, or the judge of source and output (quality) on
pairs, and export it for 'plainly score'.

  plainly train sle levelled.csv --levels hard=0,easy=4 --encoder DIR --output my-model
  plainly score -m 'sle(model=my-model)' --source src.txt OUT.txt

levelled.csv has the columns article, level and text. Without it, and with --recipe shipped, the model that plainly
ships is trained again on OneStopEnglish and CEFR-SP. Interrupted runs resume where they stopped.

  plainly train quality --encoder DIR --expert-encoder LARGER --output my-judge
  plainly score -m 'quality(model=my-judge)' --source src.txt OUT.txt

trains the shipped judge again; --recipe research also learns from sets that forbid commercial use. With --ratings, the
parts that the recipe names are fitted to people's ratings at the end; with --model, only that is done, in minutes:

  plainly train quality --model plainly-quality-3 --ratings lens/2022=ratings.jsonl --output my-judge

  plainly train cefr --output my-model

fits the heads that estimate CEFR levels to a finished model, on open rated sentences and levelled texts, in minutes.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=("sle", "cefr", "quality"), help="what to train")
    parser.add_argument("documents", nargs="?", help="a table with the columns article, level and text")
    parser.add_argument("--corpus", help="a corpus that --prepare wrote, instead of documents")
    parser.add_argument("--prepare", metavar="FILE", help="only write the prepared corpus, to train on another machine")
    parser.add_argument("--levels", default="", help="numbers for named levels: advanced=0,elementary=4")
    parser.add_argument("--encoder", help="a Hugging Face encoder: a directory or a hub name")
    parser.add_argument(
        "--expert-encoder", help="a larger encoder: for experts on the second scale of sle, for the teachers of quality"
    )
    parser.add_argument(
        "--recipe",
        help="a TOML file, 'shipped', or for quality 'research' (default: the 2023 paper's; for quality: shipped)",
    )
    parser.add_argument("--quantised", action="store_true", help="train on the documents' levels, without softening")
    parser.add_argument(
        "--span", type=number("--span", "float"), help="how far softening spreads the labels of a level"
    )
    parser.add_argument("--epochs", type=number("--epochs", "float"), help="passes over the training sentences")
    parser.add_argument(
        "--seed", type=number("--seed", "seed"), help="seed of split, order and dropout (default: the recipe's)"
    )
    parser.add_argument("--device", help="cpu, cuda, cuda:1 … (default: a GPU if there is one)")
    parser.add_argument("--output", "-o", help="directory for the model (default: sle-model or quality-model)")
    parser.add_argument("--model", metavar="DIR", help="fit only the parts of quality, to this finished model")
    parser.add_argument(
        "--ratings",
        dest="rating_files",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="JSON lines of ratings that a recipe names",
    )
    parser.add_argument("--float", action="store_true", help="export without eight-bit arithmetic")
    add_formats(parser)


def run(args: argparse.Namespace) -> Result | int:
    if args.what == "cefr":
        from plainly_lab.training.cefr import fit_levels

        return fit_levels(args.output or "sle-model", progress=bar)
    from plainly_lab.training.documents import LevelledTexts, levelled_texts
    from plainly_lab.training.pairs import PairCorpus, prepare
    from plainly_lab.training.recipe import SHIPPED, JudgeRecipe, Recipe

    if args.what == "quality" and args.documents:
        raise BadInput("quality is trained on the sets of pairs that its recipe names. Leave out the documents.")
    ratings = dict(_named_file(text) for text in args.rating_files)
    if args.what == "quality" and args.model:
        from plainly_lab.training.heads import fit_heads

        judge_recipe = JudgeRecipe.read(args.recipe or SHIPPED)
        return fit_heads(
            args.model, recipe=judge_recipe, ratings=ratings, output=args.output or "quality-model", progress=bar
        )
    if args.prepare:
        check_directory(args.prepare)
    elif not args.encoder:
        raise BadInput("Training starts from an encoder. Name one: --encoder DIRECTORY-OR-HUB-NAME")
    corpus: LevelledTexts | PairCorpus
    recipe: Recipe | JudgeRecipe
    if args.what == "quality":
        recipe = JudgeRecipe.read(args.recipe or SHIPPED).with_changes(epochs=args.epochs, seed=args.seed)
        corpus = PairCorpus.load(Path(args.corpus)) if args.corpus else prepare(recipe)
        size = f"{len(corpus.sound)} sound and {len(corpus.rated)} rated pairs"
    else:
        changes = {"span": args.span, "epochs": args.epochs, "seed": args.seed}
        recipe = Recipe.read(args.recipe).with_changes(softened=False if args.quantised else None, **changes)
        documents = LevelledTexts.load(Path(args.corpus)) if args.corpus else args.documents
        corpus = levelled_texts(documents, levels=_scale(args.levels), recipe=args.recipe)
        size = f"{len(corpus.levelled)} sentences"
    if args.prepare:
        corpus.save(Path(args.prepare))
        say(f"Wrote {size} to {args.prepare}")
        return 0
    from plainly_lab.training.results import train  # needs PyTorch, which preparing does not

    return train(
        args.what,
        documents=corpus,
        encoder=args.encoder,
        expert_encoder=args.expert_encoder,
        recipe=recipe,
        output=args.output,
        device=args.device,
        eight_bits=not args.float,
        rating_files=ratings,
        progress=bar,
    )


def _named_file(text: str) -> tuple[str, str]:
    name, _, path = text.partition("=")
    if not path:
        raise BadInput(f"--ratings is NAME=FILE, such as lens/2022=ratings.jsonl, and {text!r} is not.")
    return name, path


def _scale(text: str) -> dict[str, float]:
    scale = {}
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        try:
            scale[name.strip()] = float(value)
        except ValueError:
            raise BadInput(f"--levels is name=number,…, and {part!r} is not. Example: hard=0,easy=4") from None
    return scale
