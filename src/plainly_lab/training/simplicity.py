"""``plainly_lab.train``: from levelled documents or pairs to a model that ``plainly score`` loads, with its card."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import to_builtins

from plainly.core.errors import BadInput, MissingExtra, UnknownName
from plainly.core.formatting import number
from plainly.core.metric import Floats
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note, Record, Result, Table
from plainly.core.tables import markdown
from plainly_lab.training.documents import HeldOutQuality, LevelledTexts, levelled_texts
from plainly_lab.training.pairs import HEADS, PairCorpus, prepare
from plainly_lab.training.recipe import SHIPPED, JudgeRecipe, Recipe

if TYPE_CHECKING:
    import torch

    from plainly_lab.training.export import ExportCheck

_CHECKED = 200  # validation sentences or rated pairs on which the exported model is compared with the trained one


@dataclass(frozen=True, repr=False)
class Training(Result):
    """A trained model: where it is, how it was trained, and how good it is on articles that it has not seen."""

    output: Path
    encoder: str
    recipe: Recipe
    corpus: LevelledTexts
    sentences: Mapping[str, int]
    quality: Mapping[str, HeldOutQuality]
    export: ExportCheck
    loss: float

    def records(self) -> list[Record]:
        return [{"part": name, **asdict(quality)} for name, quality in self.quality.items()]

    def json(self) -> Record:
        return {
            "schema": "plainly.train/1",
            "heads": list(self.corpus.heads),
            "sentences": dict(self.sentences),
            "quality": {name: asdict(quality) for name, quality in self.quality.items()},
            "export": asdict(self.export),
        }

    def tables(self) -> list[Table]:
        rows = []
        for name, quality in self.quality.items():
            *shares, sentences, documents = asdict(quality).values()
            shown = (*(number(share, 3) for share in shares), str(sentences), str(documents))
            rows.append(({"valid": "validation"}.get(name, name), *shown))
        return [Table(("part", "MAE", "Doc-MAE", "F1", "sentences", "documents"), tuple(rows))]

    def notes(self) -> list[Note]:
        return [
            Note(f"Use it: plainly score -m 'sle(model={self.output})'. More is in {self.output / 'CARD.md'}", "claim"),
            Note(f"{self._distance()} The training loss was {number(self.loss, 3)} at the end."),
        ]

    def card(self) -> str:
        """The model card, in Markdown."""
        settings = "\n".join(f"- {name}: {value}" for name, value in to_builtins(self.recipe).items())
        levels = ", ".join(f"{level:g}" for level in sorted(set(self.corpus.levelled.levels.tolist())))
        return f"""# Model card: {self.output.name}

A simplicity estimate made by `plainly train sle`. Use it: `plainly score -m 'sle(model={self.output})'`.

- Encoder it started from: {Path(self.encoder).name}
- Data: {", ".join(self.corpus.sources) or "levelled documents of the user"}; levels {levels}; articles are never split
- Scales: {", ".join(self.corpus.heads)}

{markdown(self.tables()[0])}

Errors are against the documents' own levels. {self._distance()}

## Recipe

{settings}
"""

    def _distance(self) -> str:
        mean, largest = number(self.export.mean, 3), number(self.export.largest, 3)
        return (
            f"The exported model differs from the trained one by {mean} on average and {largest} at most on "
            f"{self.export.texts} validation sentences (correlation {number(self.export.correlation, 4)})."
        )


@dataclass(frozen=True, repr=False)
class JudgeTraining(Result):
    """A trained judge: where it is, how it was trained, and how well it agrees with ratings that it has not seen."""

    output: Path
    encoder: str
    recipe: JudgeRecipe
    sets: tuple[str, ...]
    pairs: int
    agreement: Mapping[str, float]  # Pearson by head, on the sources held out
    held_out: int
    export: ExportCheck

    def records(self) -> list[Record]:
        return [{"head": head, "pearson": value, "pairs": self.held_out} for head, value in self.agreement.items()]

    def json(self) -> Record:
        return {
            "schema": "plainly.train-quality/1",
            "heads": list(HEADS),
            "sets": list(self.sets),
            "pairs": self.pairs,
            "held_out": {"pairs": self.held_out, "pearson": dict(self.agreement)},
            "export": asdict(self.export),
        }

    def tables(self) -> list[Table]:
        rows = tuple((head, number(value, 3), str(self.held_out)) for head, value in self.agreement.items())
        return [Table(("head", "Pearson with people", "pairs held out"), rows)]

    def notes(self) -> list[Note]:
        use = f"Use it: plainly score -m 'quality(model={self.output})'. More is in {self.output / 'CARD.md'}"
        silent = [] if self.agreement else [Note("The recipe holds no ratings back: nothing is said of agreement.")]
        return [Note(use, "claim"), *silent, Note(self._distance())]

    def card(self) -> str:
        """The model card, in Markdown."""
        settings = "\n".join(f"- {name}: {value}" for name, value in to_builtins(self.recipe).items())
        agreement = markdown(self.tables()[0]) if self.agreement else "No ratings were held out."
        return f"""# Model card: {self.output.name}

A judge of source and output made by `plainly train quality`. Use it: `plainly score -m 'quality(model={self.output})'`.

- Encoder it started from: {Path(self.encoder).name}
- Data: {", ".join(self.sets)}; {self.pairs} pairs, sound and harmed
- Heads: {", ".join(HEADS)}

{agreement}

{self._distance()}

## Recipe

{settings}
"""

    def _distance(self) -> str:
        return (
            f"The exported model differs from the trained one by {number(self.export.mean, 4)} on average and "
            f"{number(self.export.largest, 3)} at most on {self.export.texts} pairs, of 1."
        )


def train(
    name: str = "sle",
    *,
    documents: Any = None,
    levels: Mapping[str, float] | None = None,
    encoder: str,
    expert_encoder: str | None = None,
    recipe: Recipe | JudgeRecipe | str | Path | None = None,
    output: str | Path | None = None,
    device: str | None = None,
    eight_bits: bool = True,
    progress: Progress = no_progress,
) -> Training | JudgeTraining:
    """Train the simplicity estimate (``sle``) or the judge (``quality``) and write it to the directory ``output``.

    ``documents`` is a table with the columns article, level and text (a file, a frame or a mapping), and ``levels``
    says what named levels stand for. ``encoder`` is a directory or a hub name. ``recipe`` is a ``Recipe``, a TOML file,
    or ``"shipped"``; without one it is the 2023 paper's. A run that was interrupted goes on where it stopped. For
    ``quality``, ``documents`` is a prepared ``PairCorpus`` or nothing, ``recipe`` is a ``JudgeRecipe``, a TOML file,
    ``"shipped"`` (the default) or ``"research"``, and ``expert_encoder`` is what the teachers start from.
    """
    if name not in ("sle", "quality"):
        raise UnknownName("model to train", name, ["sle", "quality"], see="plainly train --help")
    place = Path(output or f"{name}-model")
    if name == "quality":
        judge_recipe = recipe if isinstance(recipe, JudgeRecipe) else JudgeRecipe.read(str(recipe or SHIPPED))
        pairs = documents or prepare(judge_recipe)
        return _train_judge(pairs, judge_recipe, place, encoder, expert_encoder, device, eight_bits, progress)
    if isinstance(recipe, JudgeRecipe):
        raise BadInput("That recipe is for quality. Give one for sle.")
    corpus = levelled_texts(documents, levels=levels, recipe=recipe)
    chosen = recipe if isinstance(recipe, Recipe) else Recipe.read(recipe)
    return _train_estimate(corpus, chosen, place, encoder, expert_encoder, device, eight_bits, progress)


def _pick_device(name: str | None) -> torch.device:
    """Where to train: on the device named, or on the GPU where there is one."""
    try:
        import torch
    except ImportError:
        raise MissingExtra("Training", package="torch", extra="train") from None
    return torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))


def _train_estimate(
    corpus: LevelledTexts,
    recipe: Recipe,
    place: Path,
    encoder: str,
    expert_encoder: str | None,
    device: str | None,
    eight_bits: bool,
    progress: Progress,
) -> Training:
    chosen = _pick_device(device)
    from plainly_lab.training import models
    from plainly_lab.training.distil import TrainingRun
    from plainly_lab.training.export import export_estimator

    settings = recipe.last
    run = TrainingRun(corpus, recipe, encoder, place / "run", chosen, expert_encoder, progress)
    trained = run.train()
    models.save(trained.model, trained.tokenizer, place / "torch", longest=settings.longest)
    distance = export_estimator(
        trained.model,
        trained.tokenizer,
        place,
        layer=settings.keep_layer if settings.keep else -1,
        longest=settings.longest,
        check=run.parts.valid.sentences[:_CHECKED],
        eight_bits=eight_bits,
    )
    sizes = {part: len(getattr(run.parts, part)) for part in ("train", "valid", "test")}
    training = Training(place, encoder, recipe, corpus, sizes, trained.quality, distance, trained.loss)
    (place / "CARD.md").write_text(training.card(), encoding="utf-8")
    return training


def _train_judge(
    corpus: PairCorpus,
    recipe: JudgeRecipe,
    output: Path,
    encoder: str,
    teacher: str | None,
    device: str | None,
    eight_bits: bool,
    progress: Progress,
) -> JudgeTraining:
    """Train a judge as the recipe says and write it to ``output``; teachers start from ``teacher``, if one is named."""
    chosen = _pick_device(device)
    from plainly.learned import encoder as reading
    from plainly_lab.training.export import correlate, export_judge, mix_heads
    from plainly_lab.training.judging import JudgingRun
    from plainly_lab.training.models import encode_pairs, predict_ratings

    shown, held_out = corpus.split(held_out=recipe.held_out, seed=recipe.seed)

    def levels(texts: tuple[str, ...]) -> Floats:
        return reading.load().estimates(texts)[:, 0]

    run = JudgingRun(shown, recipe, encoder, teacher or encoder, levels, output / "run", chosen, progress)
    trained, tokenizer = run.study(run.labels(shown.rated))
    run.settle(trained, tokenizer, shown.rated)
    model = mix_heads(trained.cpu(), gain=recipe.gain, overall=recipe.overall)
    longest = recipe.student.longest
    check = held_out if len(held_out) else shown.rated
    check = check[np.linspace(0, len(check) - 1, min(_CHECKED, len(check))).astype(int)]
    combination = {"powers": dict(recipe.powers), "gain": 0.0}
    facts = {"data": list(corpus.sets), "encoder": Path(encoder).name, "combination": combination}
    distance = export_judge(
        model,
        tokenizer,
        output,
        longest=longest,
        facts=facts,
        check=(check.sources, check.outputs),
        eight_bits=eight_bits,
    )
    agreement = {}
    if len(held_out):
        ids = encode_pairs(tokenizer, held_out.sources, held_out.outputs, longest=longest)
        estimates = predict_ratings(model, ids, device=next(model.parameters()).device)
        for head, ours, theirs in zip(HEADS, estimates.T, held_out.targets.T, strict=False):
            known = np.isfinite(theirs)
            if np.isfinite(pearson := correlate(ours[known], theirs[known], fewest=3)):
                agreement[head] = pearson
    size = len(run.pairs.sources)
    training = JudgeTraining(output, encoder, recipe, corpus.sets, size, agreement, len(held_out), distance)
    (output / "CARD.md").write_text(training.card(), encoding="utf-8")
    return training
