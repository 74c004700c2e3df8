"""From levelled texts to a model: one training run, or several teachers and a student that learns their average.

One small model is as good as several averaged when it learns from their average: seeds disagree about single sentences
and agree about simplicity. Teachers are kept as files, so that a run that was cut off goes on where it stopped, and
several machines can each train one.
"""

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from msgspec import to_builtins
from msgspec.structs import replace

from plainly.core.errors import BadInput
from plainly.core.files import write_whole
from plainly.core.metric import Floats
from plainly.core.progress import Progress, no_progress
from plainly_lab.training import documents as make
from plainly_lab.training.documents import (
    HeldOutQuality,
    LevelledSentences,
    LevelledTexts,
    Parts,
    quality,
    split_by_article,
)
from plainly_lab.training.fit import fit, load_or_compute, squared_errors
from plainly_lab.training.models import Estimator, Places, encode_texts, load_encoder, predict_levels, widen
from plainly_lab.training.recipe import FitSettings, Recipe


class Trained(NamedTuple):
    """A model, the loss at its last step, and how good it is on articles that it has not seen."""

    model: Estimator
    tokenizer: Any
    loss: float
    quality: Mapping[str, HeldOutQuality]


@dataclass(frozen=True)
class TrainingRun:
    """One run of a recipe; what it has done is kept in ``directory`` and taken up again from there."""

    corpus: LevelledTexts
    recipe: Recipe
    encoder: str
    directory: Path
    device: torch.device
    expert_encoder: str | None = None
    progress: Progress = no_progress

    @cached_property
    def parts(self) -> Parts:
        recipe = self.recipe
        return split_by_article(self.corpus.levelled, valid=recipe.valid, test=recipe.test, seed=recipe.seed)

    def train(self) -> Trained:
        """Train as the recipe says."""
        recipe, settings, parts = self.recipe, self.recipe.last, self.parts
        self._claim()
        name = "student" if recipe.teachers else "model"
        rows = self._taught() if recipe.teachers else self._labelled(recipe.seed)
        model, tokenizer = self._fresh(self.encoder, rows, seed=settings.seed)
        loss = fit_estimator(
            model,
            tokenizer,
            rows,
            settings=settings,
            device=self.device,
            # A student is stopped by nothing: its targets are smooth and its last weights are its best.
            validation=None if recipe.teachers else parts.valid,
            checkpoint=self.directory / f"{name}.checkpoint",
            progress=self.progress,
            name=name,
        )
        if recipe.ridge and self.corpus.rated is not None:
            rated = make.rated(self.corpus, turns=1)
            widen(model, tokenizer, rated, ridge=recipe.ridge, longest=settings.longest, device=self.device)
        held_out = {
            name: evaluate_estimator(model, tokenizer, getattr(parts, name), settings, self.device)
            for name in ("valid", "test")
        }
        return Trained(model, tokenizer, loss, held_out)

    def _taught(self) -> make.Examples:
        """What a student learns from: the teachers' average, and that of the experts on the second scale."""
        recipe = self.recipe
        average = np.mean([self._teach(seed) for seed in range(recipe.teachers)], axis=0)
        if recipe.experts:
            seconds = [self._teach(seed, expert=True)[:, 1] for seed in range(recipe.experts)]
            average[:, 1] = np.mean(seconds, axis=0)
        rows = make.Examples(self._unlabelled(), blended(average, recipe.blend))
        return rows + make.damaged(rows, share=recipe.copies, rng=np.random.default_rng([recipe.seed, 1]))

    def _teach(self, seed: int, *, expert: bool = False) -> Floats:
        """What one teacher says of every unlabelled text, shape (n, heads); from its file where there is one.

        An expert has learnt the second scale alone; its first column means nothing.
        """
        kind = "expert" if expert else "teacher"
        path = self.directory / f"{kind}-{seed}.npy"
        return load_or_compute(path, lambda: self._estimates(kind, seed, expert=expert))

    def _estimates(self, kind: str, seed: int, *, expert: bool) -> Floats:
        rows = make.rated(self.corpus, turns=2) if expert else self._labelled([self.recipe.seed, seed])
        model, tokenizer = self._fresh((self.expert_encoder if expert else None) or self.encoder, rows, seed=seed)
        settings = replace(self.recipe.expert if expert else self.recipe.fit, seed=seed)
        name = f"{kind} {seed + 1} of {self.recipe.experts if expert else self.recipe.teachers}"
        fit_estimator(model, tokenizer, rows, settings=settings, device=self.device, progress=self.progress, name=name)
        tokens = encode_texts(tokenizer, self._unlabelled(), longest=settings.longest)
        return predict_levels(model, tokens, device=self.device)

    def _labelled(self, seed: int | list[int]) -> make.Examples:
        return make.labelled(self.corpus, self.parts, self.recipe, rng=np.random.default_rng(seed))

    def _unlabelled(self) -> tuple[str, ...]:
        return make.unlabelled(self.corpus, self.parts, self.recipe, rng=np.random.default_rng(self.recipe.seed))

    def _fresh(self, encoder: str, rows: make.Examples, *, seed: int) -> tuple[Estimator, Any]:
        """An estimator that knows nothing yet but the means of its targets, and its tokenizer."""
        loaded, tokenizer = load_encoder(encoder)
        torch.manual_seed(seed)
        known = np.isfinite(rows.targets)
        centres = np.where(known, rows.targets, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        return Estimator(loaded.float(), heads=self.corpus.heads, centres=centres.tolist()), tokenizer

    def _claim(self) -> None:
        """A directory holds the parts of one run; parts of two must not be mixed."""
        self.directory.mkdir(parents=True, exist_ok=True)
        sentences = len(self.corpus.levelled)
        facts = {"recipe": to_builtins(self.recipe), "encoder": Path(self.encoder).name, "sentences": sentences}
        path = self.directory / "run.json"
        if path.is_file() and json.loads(path.read_text(encoding="utf-8")) != json.loads(json.dumps(facts)):
            raise BadInput(
                f"{self.directory} holds another run (see {path}). Choose another directory, or remove that one."
            )
        write_whole(path, json.dumps(facts, indent=2))


def blended(targets: Floats, blend: float) -> Floats:
    """The first scale with a share of the second mixed in; high on the first is low on the second."""
    if not blend or targets.shape[1] < 2:
        return targets
    first, second = targets[:, 0], targets[:, 1]
    turned = first.mean() - (second - second.mean()) / second.std() * first.std()
    return np.column_stack([(1 - blend) * first + blend * turned, targets[:, 1:]])


def fit_estimator(
    model: Estimator,
    tokenizer: Any,
    examples: make.Examples,
    *,
    settings: FitSettings,
    device: torch.device,
    validation: LevelledSentences | None = None,
    checkpoint: Path | None = None,
    progress: Progress = no_progress,
    name: str = "model",
) -> float:
    """Train in place, stopped by the document-level error on the ``validation`` articles; returns the last loss."""
    model.to(device)
    original = copy.deepcopy(model.encoder).eval().requires_grad_(False) if settings.keep else None
    texts = encode_texts(tokenizer, examples.texts, longest=settings.longest)
    targets = torch.tensor(examples.targets, dtype=torch.float32, device=device)

    def loss_of(chosen: Places) -> torch.Tensor:
        tokens, mask = texts.batch(chosen, device)
        values, layers = model(tokens, mask)
        loss = squared_errors(values, targets[torch.tensor(chosen, device=device)], fewest=1).sum()
        if original is not None:
            with torch.no_grad():
                before = original(input_ids=tokens, attention_mask=mask, output_hidden_states=True).hidden_states
            at = settings.keep_layer
            apart = 1 - torch.nn.functional.cosine_similarity(layers[at], before[at], dim=-1)
            loss = loss + settings.keep * (apart * mask).sum() / mask.sum()
        return loss

    def batches(epoch: int) -> list[Places]:
        order = np.random.default_rng([settings.seed, epoch]).permutation(len(texts))
        return np.split(order, range(settings.batch, len(texts), settings.batch))

    def validate() -> float:
        assert validation is not None
        return evaluate_estimator(model, tokenizer, validation, settings, device).doc_mae

    return fit(
        model,
        loss_of,
        batches,
        examples=len(texts),
        settings=settings,
        validate=None if validation is None else validate,
        checkpoint=checkpoint,
        progress=progress,
        name=name,
    )


def evaluate_estimator(
    model: Estimator, tokenizer: Any, held_out: LevelledSentences, settings: FitSettings, device: torch.device
) -> HeldOutQuality:
    """The paper's measures on articles that were not trained on."""
    tokens = encode_texts(tokenizer, held_out.sentences, longest=settings.longest)
    return quality(predict_levels(model, tokens, device=device)[:, 0], held_out.levels, held_out.documents)
