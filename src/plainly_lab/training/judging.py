"""From pairs to a judge: teachers learn from harm, then from people; a small student learns what the teachers say.

Stage one shows sound pairs and harm of known strength, so that a teacher knows what broken, unfaithful and simpler mean
before it sees a rating. Stage two shows what people said, with some of stage one again, lest it be forgotten. Then the
teachers label many pairs, and students learn their average. At the end the head of meaning is fitted once more to what
people said, and heads are mixed: the gain in reading level (``sle``), a head of its own, into simplicity, and some of
``overall`` into meaning. Heads are linear, so this costs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from msgspec.structs import replace

from plainly.core.errors import BadInput, DataUnavailable
from plainly.core.files import write_whole
from plainly.core.metric import Floats
from plainly.core.progress import Progress, no_progress
from plainly_lab.training.cefr import fit_ridge
from plainly_lab.training.fit import fit, load_or_compute, squared_errors
from plainly_lab.training.models import (
    CrossEncoder,
    Places,
    TokenIds,
    encode_pairs,
    load_encoder,
    predict_ratings,
    read_pairs,
)
from plainly_lab.training.pairs import HEADS, HarmedPairs, JudgedPairs, PairCorpus, harmed
from plainly_lab.training.recipe import FitSettings, JudgeRecipe

ALL_HEADS = (*HEADS, "gain")  # what is learnt; what is kept has simplicity with the gain in it
_SAMPLES = 4  # what a rewriter makes of a sentence
_ASKED = "You say sentences again in other, simpler words and keep their meaning."
_SHOWN = (
    (
        "He passed away in 1984 following a protracted illness.",
        "He died in 1984, after he had been sick for a long time.",
    ),
    (
        "Individuals residing in the vicinity were instructed to evacuate the premises.",
        "The people who lived nearby were told that they had to leave.",
    ),
)
_LENGTHS = range(5, 36)  # words of a sentence that a small model can say again
_BATCH = 1536  # sequences on a GPU
# Facts are 0 or 1 and vary more than ratings do: with a full weight they would crowd out the rest.
_WEIGHTS = {"fact": 0.3, "gain": 0.5}


@dataclass(frozen=True)
class JudgingRun:
    """One run of a recipe. What teachers said is kept in ``directory`` and taken up again from there."""

    corpus: PairCorpus
    recipe: JudgeRecipe
    encoder: str
    teacher: str
    gains: Callable[[tuple[str, ...]], Floats]  # the reading level of texts, by ``sle``
    directory: Path
    device: torch.device
    progress: Progress = no_progress

    @cached_property
    def pairs(self) -> HarmedPairs:
        """Everything that can be shown without people: for stage one and for the student."""
        rng = np.random.default_rng(self.recipe.seed)
        return harmed(self.corpus, copies=self.recipe.copies, rng=rng, offered=self._offered())

    def _offered(self) -> list[tuple[str, str]]:
        """What the recipe's rewriter makes of some of the sound pairs' sources and of the contradicted sentences."""
        recipe, rng = self.recipe, np.random.default_rng([self.recipe.seed, 4])
        if not recipe.rewriter:
            return []
        texts = [text for pair in self.corpus.sound for text in pair]
        texts += [sentence for sentence, _ in self.corpus.contradictions]
        chosen = [texts[at] for at in rng.permutation(len(texts))[: recipe.offered]]
        return reword(
            chosen,
            rewriter=recipe.rewriter,
            samples=_SAMPLES,
            path=self.directory / "offered.json",
            device=self.device,
            progress=self.progress,
        )

    @cached_property
    def gained(self) -> Floats:
        """By how many levels each sound output is simpler than its source, brought to 0–1; NaN for damaged ones."""
        pairs = self.pairs
        sound = np.flatnonzero(pairs.sound)
        texts = tuple(dict.fromkeys(text for at in sound for text in (pairs.sources[at], pairs.outputs[at])))
        level = dict(zip(texts, self.gains(texts), strict=True))
        gains = np.full(len(pairs.sources), np.nan)
        gains[sound] = [level[pairs.outputs[at]] - level[pairs.sources[at]] for at in sound]
        return squash(gains)

    @cached_property
    def first_targets(self) -> Floats:
        """What stage one teaches: the damage, the gain, and an output that is good only if all is."""
        fluency, meaning, fact = self.pairs.known.T
        gain = self.gained
        targets = np.full((len(gain), len(ALL_HEADS)), np.nan)
        soundness = fluency * np.maximum(meaning, 0.0)
        targets[:, 1], targets[:, 2], targets[:, 4], targets[:, 5] = fluency, meaning, fact, gain
        known_gain = np.where(np.isfinite(gain), gain, 0.5)
        targets[:, 3] = 0.5 + soundness * (known_gain - 0.5) - 0.4 * (1 - soundness)
        targets[:, 0] = soundness * (0.45 + 0.55 * known_gain)
        return targets

    def first(self, seed: int) -> tuple[CrossEncoder, Any]:
        """A teacher after stage one, on a part of the pairs, and its tokenizer."""
        recipe, rng = self.recipe, np.random.default_rng([self.recipe.seed, seed])
        model, tokenizer = self._fresh(self.teacher, seed)
        order = rng.permutation(np.flatnonzero(np.isfinite(self.pairs.known[:, 0])))[: recipe.first_pairs]
        order = np.concatenate([order, self._written(recipe.reworded)])
        settings = replace(recipe.first, seed=seed)
        ids, targets = self._encode(tokenizer, order, settings.longest), self.first_targets[order]
        self._fit(model, ids, targets, settings, f"teacher {seed + 1}, stage one")
        return model, tokenizer

    def rate(self, model: CrossEncoder, tokenizer: Any, seed: int, rated: JudgedPairs) -> None:
        """Take it through stage two: ratings, and a little of stage one again."""
        recipe, rng = self.recipe, np.random.default_rng([self.recipe.seed, seed, 2])
        certain = np.flatnonzero(np.isfinite(self.pairs.known[:, 0]))
        again = rng.permutation(certain)[: round(recipe.replay * len(rated))]
        seen = self.first_targets[again].copy()
        gross = self.pairs.known[again, :2].min(axis=1) < 0.5
        seen[~gross, :4] = np.nan  # People know better how good an output is that is not broken.
        written = self._written(1 if recipe.reworded else 0)
        told = np.full((len(written), len(ALL_HEADS)), np.nan)
        told[:, [2, 4]] = self.pairs.known[written, 1:]  # Seen so often, their fluency would drown people's.
        again, seen = np.concatenate([again, written]), np.concatenate([seen, told])
        people = np.column_stack([rated.targets, np.full(len(rated), np.nan)])
        sources = (*rated.sources, *(self.pairs.sources[at] for at in again))
        outputs = (*rated.outputs, *(self.pairs.outputs[at] for at in again))
        settings = replace(recipe.second, seed=seed)
        ids = encode_pairs(tokenizer, sources, outputs, longest=settings.longest)
        targets = np.concatenate([people, seen])
        self._fit(model, ids, targets, settings, f"teacher {seed + 1}, stage two")

    def labels(self, rated: JudgedPairs) -> Floats:
        """What the teachers say of all pairs, on average, shape (n, heads)."""
        return load_or_compute(self.directory / "labels.npy", lambda: self._labels(rated))

    def _labels(self, rated: JudgedPairs) -> Floats:
        total = np.zeros((len(self.pairs.sources), len(ALL_HEADS)))
        for seed in range(self.recipe.teachers):
            model, tokenizer = self.first(seed)
            self.rate(model, tokenizer, seed, rated)
            ids = self._encode(tokenizer, np.arange(len(self.pairs.sources)), self.recipe.first.longest)
            total += predict_ratings(model, ids, device=self.device) / self.recipe.teachers
        return total

    def study(self, labels: Floats) -> tuple[CrossEncoder, Any]:
        """The student of these labels; where a fact is known to be right or wrong, that is mixed in.

        Several students begin alike and see the pairs in another order; their weights are averaged.
        """
        recipe, settings = self.recipe, self.recipe.student
        targets = student_targets(labels, self.pairs, self.gained, known=recipe.known)
        again = np.tile(np.flatnonzero(self.pairs.origin == "rated"), recipe.people)
        order = np.concatenate([np.arange(len(targets)), again, self._written(recipe.reworded)])
        begun = [self._fresh(self.encoder, settings.seed) for _ in range(max(1, recipe.students))]
        students, (_, tokenizer) = [model for model, _ in begun], begun[0]
        ids = self._encode(tokenizer, order, settings.longest)
        for turn, student in enumerate(students):
            turned = replace(settings, seed=settings.seed + turn)
            self._fit(student, ids, targets[order], turned, f"student {turn + 1}")
        states = [student.state_dict() for student in students]
        students[0].load_state_dict({name: sum(state[name] for state in states) / len(states) for name in states[0]})
        return students[0], tokenizer

    def settle(self, model: CrossEncoder, tokenizer: Any, rated: JudgedPairs) -> None:
        """Fit the head of meaning once more to what people said of it, near to where it is."""
        wanted, at = rated.targets[:, HEADS.index("meaning")], model.heads.index("meaning")
        known = np.isfinite(wanted)
        if not self.recipe.ridge or not known.any():
            return
        shown = rated[known]
        ids = encode_pairs(tokenizer, shown.sources, shown.outputs, longest=self.recipe.student.longest)
        read = read_pairs(model, model.features, ids, device=self.device)
        weight, bias = model.head.weight.data[at], model.head.bias.data[at]
        missing = wanted[known] - (read @ weight.double().cpu().numpy() + float(bias))
        change = fit_ridge(read, missing, self.recipe.ridge)
        weight += torch.tensor(change.weights, dtype=weight.dtype, device=weight.device)
        bias += float(change.bias)

    def _fit(self, model: CrossEncoder, ids: TokenIds, targets: Floats, settings: FitSettings, name: str) -> None:
        """Train in place on pairs of like length."""
        model.to(self.device)
        wanted = torch.tensor(targets, dtype=torch.float32, device=self.device)
        weights = torch.tensor([_WEIGHTS.get(head, 1.0) for head in model.heads], device=self.device)

        def loss_of(chosen: Places) -> torch.Tensor:
            rows = torch.from_numpy(chosen).to(self.device)
            with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.device.type == "cuda"):
                values = model(*ids.batch(chosen, self.device))
            return (weights * squared_errors(values, wanted[rows], fewest=settings.batch // 8)).sum()

        def batches(epoch: int) -> list[Places]:
            """Pairs of like length, in random order."""
            rng = np.random.default_rng([settings.seed, epoch])
            order, lengths = rng.permutation(len(ids)), ids.lengths
            made: list[Places] = []
            for pool in np.array_split(order, max(1, len(order) // (settings.batch * 40))):
                ranked = pool[np.argsort(lengths[pool], kind="stable")]
                made += np.split(ranked, range(settings.batch, len(ranked), settings.batch))
            return [made[at] for at in rng.permutation(len(made))]

        fit(
            model,
            loss_of,
            batches,
            examples=len(ids),
            settings=settings,
            head_rate=5.0,
            progress=self.progress,
            name=name,
        )

    def _written(self, times: int) -> Any:
        """Where the pairs are that were written for this project, as many times over."""
        return np.tile(np.flatnonzero(self.pairs.origin == "reworded"), times)

    def _fresh(self, encoder: str, seed: int) -> tuple[CrossEncoder, Any]:
        loaded, tokenizer = load_encoder(encoder)
        torch.manual_seed(seed)
        return CrossEncoder(loaded.float(), heads=ALL_HEADS), tokenizer

    def _encode(self, tokenizer: Any, order: Any, longest: int) -> TokenIds:
        sources = [self.pairs.sources[at] for at in order]
        return encode_pairs(tokenizer, sources, [self.pairs.outputs[at] for at in order], longest=longest)


def squash(gains: Floats) -> Floats:
    """A gain in levels brought to 0–1: none is one half, and 1.5 levels are most of the way."""
    return 1 / (1 + np.exp(-1.5 * gains))


def student_targets(labels: Floats, pairs: HarmedPairs, gained: Floats, *, known: float) -> Floats:
    """The teachers' labels. What is known counts ``known`` beside what they say; the gain is that of ``sle``.

    Known are facts, and the meaning of the pairs written for this project.
    """
    targets = labels.copy()
    written = np.where(pairs.origin == "reworded", pairs.known[:, 1], np.nan)
    for head, truth in ((4, pairs.known[:, 2]), (2, written)):
        mixed = (1 - known) * targets[:, head] + known * truth
        targets[:, head] = np.where(np.isfinite(truth), mixed, targets[:, head])
    targets[:, 5] = gained
    return targets


def reword(
    texts: Sequence[str],
    *,
    rewriter: str,
    samples: int,
    path: Path,
    device: torch.device,
    progress: Progress = no_progress,
) -> list[tuple[str, str]]:
    """Texts of a fit length with up to ``samples`` versions of each; kept at ``path`` and read from there next time."""
    if path.is_file():
        return [(source, output) for source, output in json.loads(path.read_text(encoding="utf-8"))]
    fit = [text for text in dict.fromkeys(texts) if len(text.split()) in _LENGTHS]
    pairs = list(dict.fromkeys(_generate(fit, rewriter, samples, device, progress)))
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
    with progress("saying sentences again", total=len(order), unit="sentences") as tell:
        for at in range(0, len(order), size):
            chosen = order[at : at + size]
            prompts = [tokenizer.apply_chat_template(_conversation(text), tokenize=False, add_generation_prompt=True)
                       for text in chosen]  # fmt: skip
            given = tokenizer(prompts, return_tensors="pt", padding=True, add_special_tokens=False).to(device)
            room = 2 * max(len(text.split()) for text in chosen) + 4
            how = {"temperature": 0.9, "top_p": 0.9, "num_return_sequences": samples, "max_new_tokens": room}
            with torch.inference_mode():
                made = model.generate(**given, do_sample=True, eos_token_id=end, pad_token_id=end, **how)
            for row, ids in enumerate(made[:, given["input_ids"].shape[1] :].tolist()):
                if end not in ids:
                    continue  # It never came to an end.
                source, output = chosen[row // samples], tokenizer.decode(ids[: ids.index(end)]).strip()
                if output and "\n" not in output and output != source:
                    yield source, output
            tell(len(chosen))


def _load_rewriter(rewriter: str, device: torch.device) -> tuple[Any, Any]:
    try:
        model, tokenizer = load_encoder(rewriter, kind="AutoModelForCausalLM", role="rewriter")
    except DataUnavailable as error:
        raise DataUnavailable(f"{error} It is named in the recipe; rewriter = '' there goes without.") from error
    if not tokenizer.chat_template:
        raise BadInput(f"The rewriter {rewriter} takes no instructions: its tokenizer has no chat template.")
    tokenizer.padding_side, tokenizer.pad_token = "left", tokenizer.pad_token or tokenizer.eos_token
    return model.to(device, torch.bfloat16 if device.type == "cuda" else torch.float32).eval(), tokenizer


def _conversation(text: str) -> list[dict[str, str]]:
    turns = [{"role": "system", "content": _ASKED}]
    for source, output in _SHOWN:
        turns += [{"role": "user", "content": source}, {"role": "assistant", "content": output}]
    return [*turns, {"role": "user", "content": text}]
