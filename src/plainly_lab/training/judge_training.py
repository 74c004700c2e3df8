"""Training the judge of source and output, from named sets to what ``quality`` loads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from msgspec import to_builtins

from plainly.core.errors import MissingExtra
from plainly.core.formatting import number
from plainly.core.metric import Floats
from plainly.core.progress import Progress, no_progress
from plainly.core.result import Note, Record, Result, Table
from plainly.core.tables import markdown
from plainly_lab.training.pairs import HEADS, JudgedPairs, PairCorpus, prepare
from plainly_lab.training.recipe import JudgeRecipe

if TYPE_CHECKING:
    import torch

    from plainly_lab.training.onnx_export import ExportCheck

_CHECKED = 200  # pairs on which the exported model is compared with the trained one


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


def pair_corpus(recipe: JudgeRecipe) -> PairCorpus:
    """What the recipe learns from, from the data sets that it names."""
    return prepare(recipe.pairs, recipe.contradictions, recipe.ratings, reworded=recipe.reworded > 0)


def chosen_device(name: str | None) -> torch.device:
    """Where to train: as was said, else on the GPU where there is one."""
    try:
        import torch
    except ImportError:
        raise MissingExtra("Training", package="torch", extra="train") from None
    return torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))


def train_judge(
    *,
    corpus: PairCorpus | None = None,
    encoder: str,
    teacher: str | None = None,
    recipe: JudgeRecipe,
    output: Path,
    device: str | None = None,
    eight_bits: bool = True,
    progress: Progress = no_progress,
) -> JudgeTraining:
    """Train a judge as the recipe says and write it to ``output``; teachers start from ``teacher``, if one is named."""
    corpus = corpus or pair_corpus(recipe)
    chosen = chosen_device(device)
    from plainly.learned import encoder as reading
    from plainly_lab.training.cross_encoder import encode, predict
    from plainly_lab.training.judge_export import export, folded
    from plainly_lab.training.judging import JudgingRun

    shown, held_out = corpus.split(held_out=recipe.held_out, seed=recipe.seed)

    def levels(texts: tuple[str, ...]) -> Floats:
        return reading.load().estimates(texts)[:, 0]

    run = JudgingRun(shown, recipe, encoder, teacher or encoder, levels, output / "run", chosen, progress)
    trained, tokenizer = run.study(run.labels(shown.rated))
    run.settle(trained, tokenizer, shown.rated)
    model = folded(trained.cpu(), gain=recipe.gain, overall=recipe.overall)
    longest = recipe.student.longest
    check = held_out if len(held_out) else shown.rated
    check = check[np.linspace(0, len(check) - 1, min(_CHECKED, len(check))).astype(int)]
    combination = {"powers": dict(recipe.powers), "gain": 0.0}
    facts = {"data": list(corpus.sets), "encoder": Path(encoder).name, "combination": combination}
    texts = check.sources, check.outputs
    distance = export(model, tokenizer, output, longest=longest, facts=facts, check=texts, eight_bits=eight_bits)
    agreement = {}
    if len(held_out):
        ids = encode(tokenizer, held_out.sources, held_out.outputs, longest=longest)
        agreement = agreements(predict(model, ids, device=next(model.parameters()).device), held_out)
    size = len(run.pairs.sources)
    training = JudgeTraining(output, encoder, recipe, corpus.sets, size, agreement, len(held_out), distance)
    (output / "CARD.md").write_text(training.card(), encoding="utf-8")
    return training


def agreements(estimates: Floats, rated: JudgedPairs) -> dict[str, float]:
    """Pearson with people, for each head that they rated."""
    by_head = {}
    for at, head in enumerate(HEADS):
        known = np.isfinite(rated.targets[:, at])
        ours, theirs = estimates[known, at], rated.targets[known, at]
        if known.sum() > 2 and np.ptp(ours) > 0 and np.ptp(theirs) > 0:
            by_head[head] = float(np.corrcoef(ours, theirs)[0, 1])
    return by_head
