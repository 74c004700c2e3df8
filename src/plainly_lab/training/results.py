"""``plainly_lab.train``: from levelled documents or pairs to a model that ``plainly score`` loads, with its card."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import to_builtins

from plainly.core.errors import BadInput, UnknownName, require_package
from plainly.core.formatting import number
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note, Record, Result, Table
from plainly.core.tables import markdown
from plainly_lab.training.documents import HeldOutQuality, LevelledTexts, levelled_texts
from plainly_lab.training.heads import HeadFit, fit_heads
from plainly_lab.training.pairs import HEADS, JudgedPairs, PairCorpus, prepare
from plainly_lab.training.recipe import SHIPPED, JudgeRecipe, Recipe

if TYPE_CHECKING:
    from plainly_lab.training.export import ExportCheck
    from plainly_lab.training.runs import JudgingRun, TrainingRun

_CHECKED = 200  # validation sentences or rated pairs on which the exported model is compared with the trained one


@dataclass(frozen=True, repr=False)
class Training(Result):
    """A trained simplicity estimate, and its quality on articles that it was not trained on."""

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
            errors = (number(value, 3) for value in (quality.mae, quality.doc_mae, quality.f1))
            sizes = (str(quality.sentences), str(quality.documents))
            rows.append(("validation" if name == "valid" else name, *errors, *sizes))
        return [Table(("part", "MAE", "Doc-MAE", "F1", "sentences", "documents"), tuple(rows))]

    def notes(self) -> list[Note]:
        loss = f"The training loss was {number(self.loss, 3)} at the end."
        return [_advice("sle", self.output), Note(f"{_describe(self.export, 'validation sentences', 3)} {loss}")]

    def card(self) -> str:
        """Return the model card, in Markdown."""
        levels = ", ".join(f"{level:g}" for level in sorted(set(self.corpus.levelled.levels.tolist())))
        data = ", ".join(self.corpus.sources) or "the user's levelled documents"
        facts = f"- Data: {data}; levels {levels}; articles are never split\n- Scales: {', '.join(self.corpus.heads)}"
        text = f"Errors are against the documents' own levels. {_describe(self.export, 'validation sentences', 3)}"
        return _card(self, "A simplicity estimate", "sle", facts, markdown(self.tables()[0]), text)


@dataclass(frozen=True, repr=False)
class JudgeTraining(Result):
    """A trained model of quality, and its agreement with ratings that it was not trained on."""

    output: Path
    encoder: str
    recipe: JudgeRecipe
    sets: tuple[str, ...]
    pairs: int
    agreement: Mapping[str, float]  # Pearson by head, on the sources held out
    held_out: int
    export: ExportCheck
    heads: HeadFit | None = None  # where ratings to fit the recipe's parts to were passed

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
            "parts": self.heads and self.heads.json(),
        }

    def tables(self) -> list[Table]:
        rows = tuple((head, number(value, 3), str(self.held_out)) for head, value in self.agreement.items())
        fitted = self.heads.tables() if self.heads else []
        return [Table(("head", "Pearson with people", "pairs held out"), rows), *fitted]

    def notes(self) -> list[Note]:
        unknown = [] if self.agreement else [Note("The recipe holds out no ratings, so agreement was not measured.")]
        if self.recipe.parts and not self.heads:
            sets = dict.fromkeys(name for part in self.recipe.parts.values() for name in part.sets)
            unknown.append(Note(f"Without --ratings, no parts were fitted to {', '.join(sets)}, as the recipe asks."))
        return [_advice("quality", self.output), *unknown, Note(_describe(self.export, "pairs", 4))]

    def card(self) -> str:
        """Return the model card, in Markdown."""
        facts = f"- Data: {', '.join(self.sets)}; {self.pairs} pairs, sound and harmed\n- Heads: {', '.join(HEADS)}"
        table = markdown(self.tables()[0]) if self.agreement else "No ratings were held out."
        return _card(self, "A judge of source and output", "quality", facts, table, _describe(self.export, "pairs", 4))


def _describe(export: ExportCheck, texts: str, decimals: int) -> str:
    mean, largest, correlation = number(export.mean, decimals), number(export.largest, 3), number(export.correlation, 4)
    return (
        f"The exported model differs from the trained one by {mean} on average and {largest} at most on "
        f"{export.texts} {texts} (correlation {correlation})."
    )


def _advice(metric: str, output: Path) -> Note:
    return Note(f"Use it: plainly score -m '{metric}(model={output})'. More is in {output / 'CARD.md'}", "claim")


def _card(training: Training | JudgeTraining, title: str, metric: str, facts: str, table: str, distance: str) -> str:
    settings = "\n".join(f"- {name}: {value}" for name, value in to_builtins(training.recipe).items())
    use = f"`plainly score -m '{metric}(model={training.output})'`"
    return f"""# Model card: {training.output.name}

{title} made by `plainly train {metric}`. Use it: {use}.

- Encoder it started from: {Path(training.encoder).name}
{facts}

{table}

{distance}

## Recipe

{settings}
"""


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
    rating_files: Mapping[str, str | Path] | None = None,
    progress: Progress = no_progress,
) -> Training | JudgeTraining:
    """Train the simplicity estimate (``sle``) or the model of ``quality`` and write it to the directory ``output``.

    ``documents`` is a table with the columns article, level and text (a file, a frame or a mapping), and ``levels``
    maps named levels to numbers. ``encoder`` is a directory or a hub name. ``recipe`` is a ``Recipe``, a TOML file, or
    ``"shipped"``; without one it is the 2023 paper's. An interrupted run resumes where it stopped. For ``quality``,
    ``documents`` is a prepared ``PairCorpus`` or None, ``recipe`` is a ``JudgeRecipe``, a TOML file, ``"shipped"`` (the
    default) or ``"research"``, and ``expert_encoder`` is the encoder that the teachers start from.
    ``rating_files`` are files of ratings, by the recipe's names, for the parts that the recipe fits at the end.
    """
    if name not in ("sle", "quality"):
        raise UnknownName("model to train", name, ["sle", "quality"], see="plainly train --help")
    directory = Path(output or f"{name}-model")
    with require_package("Training", extra="train"):
        import torch

        from plainly_lab.training.runs import JudgingRun, TrainingRun
    try:
        torch_device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    except RuntimeError as error:
        raise BadInput(f"device={device!r} is not a device of PyTorch, such as 'cpu' or 'cuda'.") from error
    training: Training | JudgeTraining
    if name == "quality":
        judge_recipe = recipe if isinstance(recipe, JudgeRecipe) else JudgeRecipe.read(str(recipe or SHIPPED))
        pairs: PairCorpus = documents or prepare(judge_recipe)
        corpus, held_out = pairs.split(held_out=judge_recipe.held_out, seed=judge_recipe.seed)
        teacher = expert_encoder or encoder
        judging = JudgingRun(corpus, judge_recipe, encoder, teacher, directory / "run", torch_device, progress)
        training = _train_judge(judging, held_out, directory, eight_bits=eight_bits, files=rating_files or {})
    elif isinstance(recipe, JudgeRecipe):
        raise BadInput("That recipe is for quality. Pass one for sle.")
    else:
        texts = levelled_texts(documents, levels=levels, recipe=recipe)
        own_recipe = recipe if isinstance(recipe, Recipe) else Recipe.read(recipe)
        run = TrainingRun(texts, own_recipe, encoder, directory / "run", torch_device, expert_encoder, progress)
        training = _train_estimate(run, directory, eight_bits=eight_bits)
    (directory / "CARD.md").write_text(training.card(), encoding="utf-8")
    return training


def _train_estimate(run: TrainingRun, directory: Path, *, eight_bits: bool) -> Training:
    from plainly_lab.training import models
    from plainly_lab.training.export import export_estimator

    settings = run.recipe.last
    model, tokenizer, loss, quality = run.train()
    models.save(model, tokenizer, directory / "torch", longest=settings.longest)
    distance = export_estimator(
        model,
        tokenizer,
        directory,
        layer=settings.keep_layer if settings.keep else -1,
        longest=settings.longest,
        check=run.parts.valid.sentences[:_CHECKED],
        eight_bits=eight_bits,
    )
    sizes = {part: len(getattr(run.parts, part)) for part in ("train", "valid", "test")}
    return Training(directory, run.encoder, run.recipe, run.corpus, sizes, quality, distance, loss)


def _train_judge(
    run: JudgingRun, held_out: JudgedPairs, directory: Path, *, eight_bits: bool, files: Mapping[str, str | Path]
) -> JudgeTraining:
    from plainly_lab.training.export import correlate, export_judge, mix_heads
    from plainly_lab.training.models import encode_pairs, predict_ratings

    recipe, corpus = run.recipe, run.corpus
    student, tokenizer = run.train_student(run.labels())
    run.refit_meaning(student, tokenizer, corpus.rated)
    model = mix_heads(student.cpu(), gain=recipe.gain, overall=recipe.overall)
    longest = recipe.student.longest
    check = held_out if len(held_out) else corpus.rated
    check = check[np.linspace(0, len(check) - 1, min(_CHECKED, len(check))).astype(int)]
    combination = {"powers": dict(recipe.powers), "gain": 0.0}
    distance = export_judge(
        model,
        tokenizer,
        directory,
        longest=longest,
        facts={"data": list(corpus.sets), "encoder": Path(run.encoder).name, "combination": combination},
        check=(check.sources, check.outputs),
        eight_bits=eight_bits,
    )
    agreement = {}
    if len(held_out):
        ids = encode_pairs(tokenizer, held_out.sources, held_out.outputs, longest=longest)
        estimates = predict_ratings(model, ids, device=next(model.parameters()).device)
        for head, values, ratings in zip(HEADS, estimates.T, held_out.targets.T, strict=False):
            is_rated = np.isfinite(ratings)
            if np.isfinite(pearson := correlate(values[is_rated], ratings[is_rated], fewest=3)):
                agreement[head] = pearson
    size = len(run.pairs.sources)
    heads = fit_heads(directory, recipe=recipe, ratings=files, progress=run.progress) if files else None
    return JudgeTraining(directory, run.encoder, recipe, corpus.sets, size, agreement, len(held_out), distance, heads)
