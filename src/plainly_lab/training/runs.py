"""The two training runs: from levelled texts to a simplicity estimate, from pairs to the model of ``quality``.

A simplicity estimate is one model, or a student that learns the average of several teachers. One small model is as good
as several averaged when it learns from their average: models with different seeds disagree about single sentences and
agree about simplicity. The teachers' estimates are saved as files, so that an interrupted run can resume, and several
machines can each train one teacher.

For ``quality``, teachers learn from harm, then from people, and a small student learns from them. Stage one shows sound
pairs and harm of known strength, so that a teacher can tell broken, unfaithful and simpler outputs before it sees a
rating. Stage two shows ratings, with some of stage one again, so that it is not forgotten. Then the teachers label many
pairs, and students learn their average. At the end the head of meaning is fitted once more to ratings, and the linear
heads are mixed: the gain in reading level (``sle``), a separate head, into simplicity, and some of ``overall`` into
meaning.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from msgspec import to_builtins
from msgspec.structs import replace

from plainly.core.errors import BadInput, DataUnavailable
from plainly.core.files import write_whole
from plainly.core.metric import Floats
from plainly.core.progress import Progress, no_progress
from plainly.learned import encoder as reading
from plainly_lab.training import documents
from plainly_lab.training.cefr import fit_ridge
from plainly_lab.training.documents import Examples, HeldOutQuality, LevelledSentences, LevelledTexts, Parts
from plainly_lab.training.models import (
    CrossEncoder,
    Estimator,
    Indices,
    TokenIds,
    encode_pairs,
    encode_texts,
    fit,
    load_encoder,
    load_or_compute,
    predict_levels,
    predict_ratings,
    read_pairs,
    squared_errors,
    widen,
)
from plainly_lab.training.pairs import HEADS, HarmedPairs, JudgedPairs, PairCorpus, harm_pairs
from plainly_lab.training.recipe import FitSettings, JudgeRecipe, Recipe

ALL_HEADS = (*HEADS, "gain")  # during training; the final simplicity includes the gain
_SAMPLES = 4  # of a rewriter for each sentence
_PROMPT = "You say sentences again in other, simpler words and keep their meaning."
_EXAMPLES = (
    (
        "He passed away in 1984 following a protracted illness.",
        "He died in 1984, after he had been sick for a long time.",
    ),
    (
        "Individuals residing in the vicinity were instructed to evacuate the premises.",
        "The people who lived nearby were told that they had to leave.",
    ),
)
_LENGTHS = range(5, 36)  # words of a sentence that a small model can reword
_BATCH = 1536  # sequences on a GPU
# Facts are 0 or 1 and vary more than ratings do: with a full weight they would crowd out the rest.
_WEIGHTS = {"fact": 0.3, "gain": 0.5}


class TrainedModel(NamedTuple):
    """A model, the loss at its last step, and its quality on articles that it was not trained on."""

    model: Estimator
    tokenizer: Any
    loss: float
    quality: Mapping[str, HeldOutQuality]


@dataclass(frozen=True)
class TrainingRun:
    """One run of a recipe, which saves intermediate results in ``directory`` and resumes from there."""

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
        return documents.split_by_article(self.corpus.levelled, valid=recipe.valid, test=recipe.test, seed=recipe.seed)

    def train(self) -> TrainedModel:
        """Train as the recipe says."""
        recipe, settings, parts = self.recipe, self.recipe.last, self.parts
        self._check_directory()
        name = "student" if recipe.teachers else "model"
        rows = self._student_examples() if recipe.teachers else self._labelled_examples(recipe.seed)
        model, tokenizer = self._start_model(self.encoder, rows, seed=settings.seed)
        loss = fit_estimator(
            model,
            tokenizer,
            rows,
            settings=settings,
            device=self.device,
            # A student is not validated: its targets are smooth and its last weights are its best.
            validation=None if recipe.teachers else parts.valid,
            checkpoint=self.directory / f"{name}.checkpoint",
            progress=self.progress,
            name=name,
        )
        if recipe.ridge and self.corpus.rated is not None:
            rows = documents.rated_examples(self.corpus, times=1)
            widen(model, tokenizer, rows, ridge=recipe.ridge, longest=settings.longest, device=self.device)
        held_out = {
            name: evaluate_estimator(model, tokenizer, getattr(parts, name), settings, self.device)
            for name in ("valid", "test")
        }
        return TrainedModel(model, tokenizer, loss, held_out)

    def _student_examples(self) -> Examples:
        """Return the average of the teachers, and that of the experts on the second scale, as targets."""
        recipe = self.recipe
        average = np.mean([self._teach("teacher", seed) for seed in range(recipe.teachers)], axis=0)
        if recipe.experts:
            seconds = [self._teach("expert", seed)[:, 1] for seed in range(recipe.experts)]
            average[:, 1] = np.mean(seconds, axis=0)
        rows = Examples(self._unlabelled_texts(), blend_scales(average, recipe.blend))
        rng = np.random.default_rng([recipe.seed, 1])
        return rows + documents.damage_examples(rows, share=recipe.copies, rng=rng)

    def _teach(self, kind: str, seed: int) -> Floats:
        """Return one teacher's estimates of every unlabelled text, shape (n, heads), from its file if there is one.

        An expert learns the second scale alone; its first column is meaningless.
        """
        return load_or_compute(self.directory / f"{kind}-{seed}.npy", lambda: self._train_teacher(kind, seed))

    def _train_teacher(self, kind: str, seed: int) -> Floats:
        recipe = self.recipe
        if kind == "expert":
            rows, encoder = documents.rated_examples(self.corpus, times=2), self.expert_encoder or self.encoder
            settings, count = recipe.expert, recipe.experts
        else:
            rows, encoder = self._labelled_examples([recipe.seed, seed]), self.encoder
            settings, count = recipe.fit, recipe.teachers
        model, tokenizer = self._start_model(encoder, rows, seed=seed)
        settings, name = replace(settings, seed=seed), f"{kind} {seed + 1} of {count}"
        fit_estimator(model, tokenizer, rows, settings=settings, device=self.device, progress=self.progress, name=name)
        tokens = encode_texts(tokenizer, self._unlabelled_texts(), longest=settings.longest)
        return predict_levels(model, tokens, device=self.device)

    def _labelled_examples(self, seed: int | list[int]) -> Examples:
        rng = np.random.default_rng(seed)
        return documents.labelled_examples(self.corpus, self.parts, self.recipe, rng=rng)

    def _unlabelled_texts(self) -> tuple[str, ...]:
        rng = np.random.default_rng(self.recipe.seed)
        return documents.unlabelled_texts(self.corpus, self.parts, self.recipe, rng=rng)

    def _start_model(self, encoder: str, rows: Examples, *, seed: int) -> tuple[Estimator, Any]:
        """Return an estimator whose heads start at the means of their targets, and its tokenizer."""
        network, tokenizer = load_encoder(encoder)
        torch.manual_seed(seed)
        has_target = np.isfinite(rows.targets)
        centres = np.where(has_target, rows.targets, 0).sum(axis=0) / np.maximum(has_target.sum(axis=0), 1)
        return Estimator(network.float(), heads=self.corpus.heads, centres=centres.tolist()), tokenizer

    def _check_directory(self) -> None:
        """Refuse a directory with the files of another run, and describe this run there."""
        self.directory.mkdir(parents=True, exist_ok=True)
        sentences = len(self.corpus.levelled)
        facts = {"recipe": to_builtins(self.recipe), "encoder": Path(self.encoder).name, "sentences": sentences}
        path = self.directory / "run.json"
        if path.is_file() and json.loads(path.read_text(encoding="utf-8")) != json.loads(json.dumps(facts)):
            raise BadInput(
                f"{self.directory} holds another run (see {path}). Choose another directory, or remove that one."
            )
        write_whole(path, json.dumps(facts, indent=2))


def blend_scales(targets: Floats, blend: float) -> Floats:
    """Mix a share of the second scale into the first; high on the first is low on the second."""
    if not blend or targets.shape[1] < 2:
        return targets
    first, second = targets[:, 0], targets[:, 1]
    reverse = first.mean() - (second - second.mean()) / second.std() * first.std()
    return np.column_stack([(1 - blend) * first + blend * reverse, targets[:, 1:]])


def fit_estimator(
    model: Estimator,
    tokenizer: Any,
    examples: Examples,
    *,
    settings: FitSettings,
    device: torch.device,
    validation: LevelledSentences | None = None,
    checkpoint: Path | None = None,
    progress: Progress = no_progress,
    name: str = "model",
) -> float:
    """Train in place, validated by the document-level error on ``validation`` articles, and return the last loss."""
    model.to(device)
    original = copy.deepcopy(model.encoder).eval().requires_grad_(False) if settings.keep else None
    texts = encode_texts(tokenizer, examples.texts, longest=settings.longest)
    targets = torch.tensor(examples.targets, dtype=torch.float32, device=device)

    def loss_of(indices: Indices) -> torch.Tensor:
        tokens, mask = texts.batch(indices, device)
        values, layers = model(tokens, mask)
        loss = squared_errors(values, targets[torch.tensor(indices, device=device)], fewest=1).sum()
        if original is not None:
            with torch.no_grad():
                before = original(input_ids=tokens, attention_mask=mask, output_hidden_states=True).hidden_states
            at = settings.keep_layer
            distances = 1 - torch.nn.functional.cosine_similarity(layers[at], before[at], dim=-1)
            loss = loss + settings.keep * (distances * mask).sum() / mask.sum()
        return loss

    def batches(epoch: int) -> list[Indices]:
        order = np.random.default_rng([settings.seed, epoch]).permutation(len(texts))
        return np.split(order, range(settings.batch, len(texts), settings.batch))

    def validate() -> float:
        return evaluate_estimator(model, tokenizer, validation, settings, device).doc_mae  # type: ignore[arg-type]

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
    """Return the paper's measures on articles that were not trained on."""
    tokens = encode_texts(tokenizer, held_out.sentences, longest=settings.longest)
    estimates = predict_levels(model, tokens, device=device)[:, 0]
    return documents.quality(estimates, held_out.levels, held_out.documents)


@dataclass(frozen=True)
class JudgingRun:
    """One run of a recipe, resumable: labels of teachers and checkpoints of students are saved in ``directory``."""

    corpus: PairCorpus
    recipe: JudgeRecipe
    encoder: str
    teacher: str
    directory: Path
    device: torch.device
    progress: Progress = no_progress

    @cached_property
    def pairs(self) -> HarmedPairs:
        """The pairs that need no ratings: for stage one and for the student."""
        rng = np.random.default_rng(self.recipe.seed)
        return harm_pairs(self.corpus, copies=self.recipe.copies, rng=rng, rewrites=self._rewrites())

    def _rewrites(self) -> list[tuple[str, str]]:
        """Let the recipe's rewriter reword some of the sound pairs' texts and of the contradicted sentences."""
        recipe, rng = self.recipe, np.random.default_rng([self.recipe.seed, 4])
        if not recipe.rewriter:
            return []
        texts = [text for pair in self.corpus.sound for text in pair]
        texts += [sentence for sentence, _ in self.corpus.contradictions]
        return reword(
            [texts[at] for at in rng.permutation(len(texts))[: recipe.offered]],
            rewriter=recipe.rewriter,
            samples=_SAMPLES,
            path=self.directory / "offered.json",
            device=self.device,
            progress=self.progress,
        )

    @cached_property
    def gains(self) -> Floats:
        """How much simpler each sound output is than its source by ``sle``, mapped to 0–1; NaN for damaged ones.

        No gain is one half, and 1.5 levels are most of the way.
        """
        pairs = self.pairs
        sound = np.flatnonzero(pairs.is_sound)
        texts = tuple(dict.fromkeys(text for at in sound for text in (pairs.sources[at], pairs.outputs[at])))
        level = dict(zip(texts, reading.load().estimates(texts)[:, 0], strict=True))
        gains = np.full(len(pairs.sources), np.nan)
        gains[sound] = [level[pairs.outputs[at]] - level[pairs.sources[at]] for at in sound]
        return 1 / (1 + np.exp(-1.5 * gains))

    @cached_property
    def first_targets(self) -> Floats:
        """The targets of stage one: the damage, the gain, and an overall value that is high only if all are."""
        fluency, meaning, fact = self.pairs.truth.T
        targets = np.full((len(self.gains), len(ALL_HEADS)), np.nan)
        soundness = fluency * np.maximum(meaning, 0.0)
        targets[:, 1], targets[:, 2], targets[:, 4], targets[:, 5] = fluency, meaning, fact, self.gains
        gains = np.where(np.isfinite(self.gains), self.gains, 0.5)
        targets[:, 3] = 0.5 + soundness * (gains - 0.5) - 0.4 * (1 - soundness)
        targets[:, 0] = soundness * (0.45 + 0.55 * gains)
        return targets

    def labels(self) -> Floats:
        """Return the teachers' average values of all pairs, shape (n, heads); each teacher's are saved in a file."""
        files = [self.directory / f"teacher-{seed}.npy" for seed in range(self.recipe.teachers)]
        return np.mean([load_or_compute(file, partial(self._teach, seed)) for seed, file in enumerate(files)], axis=0)

    def _teach(self, seed: int) -> Floats:
        """Train one teacher and return its values of all pairs."""
        model, tokenizer = self._start_model(self.teacher, seed)
        self._show_harm(model, tokenizer, seed)
        self._show_ratings(model, tokenizer, seed)
        ids = self._encode(tokenizer, np.arange(len(self.pairs.sources)), self.recipe.first.longest)
        return predict_ratings(model, ids, device=self.device)

    def _show_harm(self, model: CrossEncoder, tokenizer: Any, seed: int) -> None:
        """Train a teacher in stage one, on some of the pairs."""
        recipe, rng = self.recipe, np.random.default_rng([self.recipe.seed, seed])
        order = rng.permutation(np.flatnonzero(np.isfinite(self.pairs.truth[:, 0])))[: recipe.first_pairs]
        order = np.concatenate([order, self._reworded(recipe.reworded)])
        settings = replace(recipe.first, seed=seed)
        ids, targets = self._encode(tokenizer, order, settings.longest), self.first_targets[order]
        self._fit(model, ids, targets, settings, f"teacher {seed + 1}, stage one")

    def _show_ratings(self, model: CrossEncoder, tokenizer: Any, seed: int) -> None:
        """Train a teacher in stage two, on ratings and some pairs of stage one."""
        recipe, rng, rated = self.recipe, np.random.default_rng([self.recipe.seed, seed, 2]), self.corpus.rated
        again = rng.permutation(np.flatnonzero(np.isfinite(self.pairs.truth[:, 0])))
        again = again[: round(recipe.replay * len(rated))]
        targets = self.first_targets[again].copy()
        is_broken = self.pairs.truth[again, :2].min(axis=1) < 0.5
        targets[~is_broken, :4] = np.nan  # Ratings tell better how good an output is that is not broken.
        reworded = self._reworded(1 if recipe.reworded else 0)
        more = np.full((len(reworded), len(ALL_HEADS)), np.nan)
        more[:, [2, 4]] = self.pairs.truth[reworded, 1:]  # They are so frequent that their fluency would dominate.
        again = np.concatenate([again, reworded])
        sources = (*rated.sources, *(self.pairs.sources[at] for at in again))
        outputs = (*rated.outputs, *(self.pairs.outputs[at] for at in again))
        settings = replace(recipe.second, seed=seed)
        ids = encode_pairs(tokenizer, sources, outputs, longest=settings.longest)
        ratings = np.column_stack([rated.targets, np.full(len(rated), np.nan)])
        self._fit(model, ids, np.concatenate([ratings, targets, more]), settings, f"teacher {seed + 1}, stage two")

    def train_student(self, labels: Floats) -> tuple[CrossEncoder, Any]:
        """Train the student on these labels, mixed with the truth where it is known, and return it and its tokenizer.

        The truth is known about facts, and about the meaning of the pairs written for this project; the gain is that of
        ``sle``. Several students start alike and see the pairs in another order; their weights are averaged.
        """
        recipe, settings, pairs = self.recipe, self.recipe.student, self.pairs
        targets = labels.copy()
        meaning = np.where(pairs.origin == "reworded", pairs.truth[:, 1], np.nan)
        for head, truth in ((4, pairs.truth[:, 2]), (2, meaning)):
            mixture = (1 - recipe.known) * targets[:, head] + recipe.known * truth
            targets[:, head] = np.where(np.isfinite(truth), mixture, targets[:, head])
        targets[:, 5] = self.gains
        again = np.tile(np.flatnonzero(pairs.origin == "rated"), recipe.people)
        order = np.concatenate([np.arange(len(targets)), again, self._reworded(recipe.reworded)])
        models = [self._start_model(self.encoder, settings.seed) for _ in range(max(1, recipe.students))]
        students, (_, tokenizer) = [model for model, _ in models], models[0]
        ids = self._encode(tokenizer, order, settings.longest)
        for number, student in enumerate(students):
            own_settings = replace(settings, seed=settings.seed + number)
            checkpoint = self.directory / f"student-{number}.checkpoint"
            self._fit(student, ids, targets[order], own_settings, f"student {number + 1}", checkpoint)
        states = [student.state_dict() for student in students]
        students[0].load_state_dict({name: sum(state[name] for state in states) / len(states) for name in states[0]})
        return students[0], tokenizer

    def refit_meaning(self, model: CrossEncoder, tokenizer: Any, rated: JudgedPairs) -> None:
        """Fit the head of meaning once more to ratings, close to where it is."""
        ratings, at = rated.targets[:, HEADS.index("meaning")], model.heads.index("meaning")
        rated, ratings = rated[np.isfinite(ratings)], ratings[np.isfinite(ratings)]
        if not self.recipe.ridge or not len(rated):
            return
        ids = encode_pairs(tokenizer, rated.sources, rated.outputs, longest=self.recipe.student.longest)
        features = read_pairs(model, model.features, ids, device=self.device)
        weight, bias = model.head.weight.data[at], model.head.bias.data[at]
        errors = ratings - (features @ weight.double().cpu().numpy() + float(bias))
        change = fit_ridge(features, errors, self.recipe.ridge)
        weight += torch.tensor(change.weights, dtype=weight.dtype, device=weight.device)
        bias += float(change.bias)

    def _fit(
        self,
        model: CrossEncoder,
        ids: TokenIds,
        targets: Floats,
        settings: FitSettings,
        name: str,
        checkpoint: Path | None = None,
    ) -> None:
        """Train in place on pairs of similar length."""
        model.to(self.device)
        goals = torch.tensor(targets, dtype=torch.float32, device=self.device)
        weights = torch.tensor([_WEIGHTS.get(head, 1.0) for head in model.heads], device=self.device)

        def loss_of(indices: Indices) -> torch.Tensor:
            rows = torch.from_numpy(indices).to(self.device)
            with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.device.type == "cuda"):
                values = model(*ids.batch(indices, self.device))
            return (weights * squared_errors(values, goals[rows], fewest=settings.batch // 8)).sum()

        def batches(epoch: int) -> list[Indices]:
            """Return batches of similar length, in random order."""
            rng = np.random.default_rng([settings.seed, epoch])
            order = rng.permutation(len(ids))
            batches: list[Indices] = []
            for pool in np.array_split(order, max(1, len(order) // (settings.batch * 40))):
                pool = pool[np.argsort(ids.lengths[pool], kind="stable")]
                batches += np.split(pool, range(settings.batch, len(pool), settings.batch))
            return [batches[at] for at in rng.permutation(len(batches))]

        options: dict[str, Any] = {"head_rate": 5.0, "checkpoint": checkpoint, "progress": self.progress, "name": name}
        fit(model, loss_of, batches, examples=len(ids), settings=settings, **options)

    def _reworded(self, times: int) -> Any:
        """Return the positions of the pairs written for this project, repeated."""
        return np.tile(np.flatnonzero(self.pairs.origin == "reworded"), times)

    def _start_model(self, encoder: str, seed: int) -> tuple[CrossEncoder, Any]:
        network, tokenizer = load_encoder(encoder)
        torch.manual_seed(seed)
        return CrossEncoder(network.float(), heads=ALL_HEADS), tokenizer

    def _encode(self, tokenizer: Any, order: Any, longest: int) -> TokenIds:
        sources = [self.pairs.sources[at] for at in order]
        return encode_pairs(tokenizer, sources, [self.pairs.outputs[at] for at in order], longest=longest)


def reword(
    texts: Sequence[str],
    *,
    rewriter: str,
    samples: int,
    path: Path,
    device: torch.device,
    progress: Progress = no_progress,
) -> list[tuple[str, str]]:
    """Return texts of suitable length with up to ``samples`` versions of each, saved at ``path`` for the next time."""
    if path.is_file():
        return [(source, output) for source, output in json.loads(path.read_text(encoding="utf-8"))]
    sentences = [text for text in dict.fromkeys(texts) if len(text.split()) in _LENGTHS]
    pairs = list(dict.fromkeys(_generate(sentences, rewriter, samples, device, progress)))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(pairs, ensure_ascii=False))
    return pairs


def _generate(
    texts: Sequence[str], rewriter: str, samples: int, device: torch.device, progress: Progress
) -> Iterator[tuple[str, str]]:
    model, tokenizer = _load_rewriter(rewriter, device)
    end = tokenizer.eos_token_id
    torch.manual_seed(0)
    order = sorted(texts, key=len)
    size = max(1, (_BATCH if device.type == "cuda" else 16) // samples)
    options: dict[str, Any] = {"do_sample": True, "temperature": 0.9, "top_p": 0.9, "num_return_sequences": samples}
    options |= {"eos_token_id": end, "pad_token_id": end}
    with progress("rewording sentences", total=len(order), unit="sentences") as tell:
        for at in range(0, len(order), size):
            batch = order[at : at + size]
            chats = [_conversation(text) for text in batch]
            prompts = [
                tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True) for chat in chats
            ]
            inputs = tokenizer(prompts, return_tensors="pt", padding=True, add_special_tokens=False).to(device)
            room = 2 * max(len(text.split()) for text in batch) + 4
            with torch.inference_mode():
                sequences = model.generate(**inputs, max_new_tokens=room, **options)
            for row, ids in enumerate(sequences[:, inputs["input_ids"].shape[1] :].tolist()):
                if end in ids:  # else it was cut off
                    source, output = batch[row // samples], tokenizer.decode(ids[: ids.index(end)]).strip()
                    if output and "\n" not in output and output != source:
                        yield source, output
            tell(len(batch))


def _load_rewriter(rewriter: str, device: torch.device) -> tuple[Any, Any]:
    try:
        model, tokenizer = load_encoder(rewriter, kind="AutoModelForCausalLM", role="rewriter")
    except DataUnavailable as error:
        raise DataUnavailable(f"{error} The recipe names it; to train without one, set rewriter = ''.") from error
    if not tokenizer.chat_template:
        raise BadInput(f"The rewriter {rewriter} cannot follow instructions: its tokenizer has no chat template.")
    tokenizer.padding_side, tokenizer.pad_token = "left", tokenizer.pad_token or tokenizer.eos_token
    return model.to(device, torch.bfloat16 if device.type == "cuda" else torch.float32).eval(), tokenizer


def _conversation(text: str) -> list[dict[str, str]]:
    turns = [{"role": "system", "content": _PROMPT}]
    for source, output in _EXAMPLES:
        turns += [{"role": "user", "content": source}, {"role": "assistant", "content": output}]
    return [*turns, {"role": "user", "content": text}]
