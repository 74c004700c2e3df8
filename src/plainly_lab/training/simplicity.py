"""Training from levelled documents to a model that ``plainly score`` loads, with its card: ``plainly_lab.train``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from plainly.core.errors import BadInput, UnknownName
from plainly.core.formatting import number
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note, Record, Result, Table
from plainly.core.tables import markdown
from plainly_lab.training.documents import LevelledTexts, levelled_texts
from plainly_lab.training.judge_training import JudgeTraining, chosen_device, train_judge
from plainly_lab.training.levels import HeldOutQuality
from plainly_lab.training.recipe import SHIPPED, JudgeRecipe, Recipe

if TYPE_CHECKING:
    from plainly_lab.training.onnx_export import ExportCheck

_CHECKED = 200  # validation sentences on which the exported model is compared with the trained one


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
        return train_judge(
            corpus=documents,
            encoder=encoder,
            teacher=expert_encoder,
            recipe=recipe if isinstance(recipe, JudgeRecipe) else JudgeRecipe.read(str(recipe or SHIPPED)),
            output=place,
            device=device,
            eight_bits=eight_bits,
            progress=progress,
        )
    if isinstance(recipe, JudgeRecipe):
        raise BadInput("That recipe is for quality. Give one for sle.")
    corpus = levelled_texts(documents, levels=levels, recipe=recipe)
    chosen = recipe if isinstance(recipe, Recipe) else Recipe.read(recipe)
    return _train_estimate(corpus, chosen, place, encoder, expert_encoder, device, eight_bits, progress)


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
    chosen = chosen_device(device)
    from plainly_lab.training import estimator
    from plainly_lab.training.distil import TrainingRun
    from plainly_lab.training.onnx_export import export

    settings = recipe.last
    run = TrainingRun(corpus, recipe, encoder, place / "run", chosen, expert_encoder, progress)
    trained = run.train()
    estimator.save(trained.model, trained.tokenizer, place / "torch", longest=settings.longest)
    distance = export(
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
