"""From a corpus to a model: one training run, or several teachers and a student that learns their average.

One small model is as good as several averaged when it learns from their average: seeds disagree about single sentences
and agree about simplicity. Teachers are kept as files, so that a run that was cut off goes on where it stopped, and
several machines can each train one.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from plainly.errors import BadInput, did_you_mean
from plainly.learn import examples as make
from plainly.learn.corpus import Corpus
from plainly.learn.fit import History, Settings, Validation, fit
from plainly.learn.levels import Parts, part
from plainly.learn.model import Estimator, encode, load_encoder, predict
from plainly.learn.quality import Quality, quality
from plainly.learn.soften import Floats
from plainly.learn.widen import widen

Progress = Callable[[str, int, int, float], None]


@dataclass(frozen=True)
class Recipe:
    """Every choice that was made. The defaults are the 2023 paper's, but for the split, which small corpora need wider.

    ``joined`` is the share of neighbouring sentences that are also shown as one text of two sentences, ``noise`` the
    share of texts shown again with damage. With ``teachers`` the student's first scale is their average, of which the
    share ``blend`` is taken from the second scale, turned round and brought to the first one's mean and spread.
    ``experts`` are teachers of the second scale alone, and may start from a larger encoder. With ``ridge`` the second
    scale's head is fitted once more at the end, on all layers, with this much shrinkage.
    """

    softened: bool = True
    span: float = 2.0
    exclude: float = 1.0
    valid: float = 0.05
    test: float = 0.05
    seed: int = 0
    repeats: int = 3
    joined: float = 0.0
    joined_cost: float = 0.0
    noise: float = 0.0
    teachers: int = 0
    experts: int = 0
    blend: float = 0.0
    copies: float = 1.0
    ridge: float = 0.0
    fit: Settings = field(default_factory=lambda: Settings(epochs=3, batch=32, rate=1e-5))
    expert: Settings = field(default_factory=Settings)
    student: Settings = field(default_factory=Settings)

    @classmethod
    def read(cls, path: Path) -> Recipe:
        """A recipe from a TOML file; what it does not name has its default."""
        return cls.of(tomllib.loads(path.read_text(encoding="utf-8")), where=str(path))

    @classmethod
    def of(cls, table: Mapping[str, Any], *, where: str = "the recipe") -> Recipe:
        found = dict(table)
        for key in found:
            if key not in cls.__dataclass_fields__:
                raise BadInput(f"{where}: unknown setting {key!r}.{did_you_mean(key, cls.__dataclass_fields__)}")
        for stage in ("fit", "expert", "student"):
            if stage in found:
                unknown = set(found[stage]) - set(Settings.__dataclass_fields__)
                if unknown:
                    raise BadInput(f"{where}: [{stage}] has unknown settings: {', '.join(sorted(unknown))}.")
                found[stage] = Settings(**found[stage])
        return cls(**found)


@dataclass(frozen=True)
class Trained:
    """A model, what it was made from and how good it is on articles that it has not seen."""

    model: Estimator
    tokenizer: Any
    parts: Parts
    history: History
    qualities: Mapping[str, Quality]


def train(
    corpus: Corpus,
    recipe: Recipe,
    *,
    encoder: str,
    directory: Path,
    device: torch.device,
    expert_encoder: str | None = None,
    progress: Progress | None = None,
) -> Trained:
    """Train as the recipe says; intermediate results are kept in ``directory`` and taken up again from there."""
    directory.mkdir(parents=True, exist_ok=True)
    parts = part(corpus.levelled, valid=recipe.valid, test=recipe.test, seed=recipe.seed)
    _same_run(corpus, recipe, encoder, directory)
    if recipe.teachers:
        targets = [
            teach(corpus, recipe, seed, encoder=encoder, directory=directory, device=device, progress=progress)
            for seed in range(recipe.teachers)
        ]
        texts = make.unlabelled(corpus, parts, recipe, rng=np.random.default_rng(recipe.seed))
        average = np.mean(targets, axis=0)
        if recipe.experts:
            larger = expert_encoder or encoder
            average[:, 1] = np.mean(
                [
                    teach(corpus, recipe, seed, expert=True, encoder=larger, directory=directory, device=device)[:, 1]
                    for seed in range(recipe.experts)
                ],
                axis=0,
            )
        rows = make.Examples(texts, blended(average, recipe.blend))
        rows += make.damaged(rows, share=recipe.copies, rng=np.random.default_rng([recipe.seed, 1]))
        settings, stage = recipe.student, "student"
    else:
        rows = make.labelled(corpus, parts, recipe, rng=np.random.default_rng(recipe.seed))
        settings, stage = recipe.fit, "model"
    loaded = load_encoder(encoder)
    torch.manual_seed(settings.seed)
    model = Estimator(loaded.encoder.float(), heads=corpus.heads, centres=_centres(rows.targets))
    history = fit(
        model,
        loaded.tokenizer,
        rows,
        settings=settings,
        device=device,
        # A student is stopped by nothing: its targets are smooth and its last weights are its best.
        validation=None if recipe.teachers else _validation(parts),
        checkpoint=directory / f"{stage}.checkpoint",
        progress=_named(progress, stage),
    )
    if recipe.ridge and corpus.rated is not None:
        rated = make.rated(corpus, turns=1)
        widen(model, loaded.tokenizer, rated, ridge=recipe.ridge, longest=settings.longest, device=device)
    return Trained(model, loaded.tokenizer, parts, history, judge(model, loaded.tokenizer, parts, settings, device))


def teach(
    corpus: Corpus,
    recipe: Recipe,
    seed: int,
    *,
    expert: bool = False,
    encoder: str,
    directory: Path,
    device: torch.device,
    progress: Progress | None = None,
) -> Floats:
    """What one teacher says of every unlabelled text, shape (n, heads); from its file where there is one.

    An expert has learnt the second scale alone; its first column means nothing.
    """
    kept = directory / f"{'expert' if expert else 'teacher'}-{seed}.npy"
    if kept.is_file():
        found: Floats = np.load(kept)
        return found
    parts = part(corpus.levelled, valid=recipe.valid, test=recipe.test, seed=recipe.seed)
    if expert:
        rows = make.rated(corpus, turns=2)
    else:
        rows = make.labelled(corpus, parts, recipe, rng=np.random.default_rng([recipe.seed, seed]))
    loaded = load_encoder(encoder)
    torch.manual_seed(seed)
    model = Estimator(loaded.encoder.float(), heads=corpus.heads, centres=_centres(rows.targets))
    settings = replace(recipe.expert if expert else recipe.fit, seed=seed)
    stage = f"expert {seed + 1} of {recipe.experts}" if expert else f"teacher {seed + 1} of {recipe.teachers}"
    fit(model, loaded.tokenizer, rows, settings=settings, device=device, progress=_named(progress, stage))
    texts = make.unlabelled(corpus, parts, recipe, rng=np.random.default_rng(recipe.seed))
    said = predict(model, encode(loaded.tokenizer, texts, longest=settings.longest), device=device)
    half_written = kept.with_suffix(".partial.npy")
    np.save(half_written, said)
    half_written.replace(kept)
    return said


def blended(targets: Floats, blend: float) -> Floats:
    """The first scale with a share of the second mixed in; high on the first is low on the second."""
    if not blend or targets.shape[1] < 2:
        return targets
    first, second = targets[:, 0], targets[:, 1]
    turned = first.mean() - (second - second.mean()) / second.std() * first.std()
    return np.column_stack([(1 - blend) * first + blend * turned, targets[:, 1:]])


def judge(
    model: Estimator, tokenizer: Any, parts: Parts, settings: Settings, device: torch.device
) -> dict[str, Quality]:
    """The paper's measures on validation and test articles."""
    return {
        name: quality(
            predict(model, encode(tokenizer, held.sentences, longest=settings.longest), device=device)[:, 0],
            held.levels,
            held.documents,
        )
        for name, held in (("valid", parts.valid), ("test", parts.test))
    }


def _validation(parts: Parts) -> Validation:
    return Validation(parts.valid.sentences, parts.valid.levels, parts.valid.documents)


def _centres(targets: Floats) -> list[float]:
    known = np.isfinite(targets)
    found = np.where(known, targets, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return [float(value) for value in found]


def _named(progress: Progress | None, stage: str) -> Callable[[int, int, float], None] | None:
    return None if progress is None else lambda step, total, loss: progress(stage, step, total, loss)


def _same_run(corpus: Corpus, recipe: Recipe, encoder: str, directory: Path) -> None:
    """A directory holds the parts of one run; parts of two must not be mixed."""
    run = {"recipe": asdict(recipe), "encoder": Path(encoder).name, "sentences": len(corpus.levelled)}
    kept = directory / "run.json"
    if kept.is_file() and json.loads(kept.read_text(encoding="utf-8")) != json.loads(json.dumps(run)):
        raise BadInput(f"{directory} holds another run (see {kept}). Choose another directory, or remove that one.")
    kept.write_text(json.dumps(run, indent=2), encoding="utf-8")
