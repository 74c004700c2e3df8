"""How the trained labeller was made and measured: cross-validation by source, then one model on everything.

    plainly operations train --folds 5                       # measure, on sources that were not trained on
    plainly operations train -o labeller-light.npz           # make the weights that ship

Needs PyTorch (the extra ``torch``) and the data set ``assetann/annotations``. Erroneous pairs are left out of training:
by the guide, what was done to them is not annotated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from plainly.errors import MissingExtra
from plainly.typology.annotation import SIDES, Pair, token_labels
from plainly.typology.label import Labels, TrainedLabeller
from plainly.typology.model import NEIGHBOURS, Weights
from plainly.typology.parse import Parser
from plainly.typology.pipeline import batches, facts
from plainly.typology.words import Words

Ints = npt.NDArray[np.int64]
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Settings:
    """What the training is told; the defaults made the weights that ship."""

    buckets: int = 8192
    width: int = 48
    epochs: int = 7
    batch: int = 48
    rate: float = 6e-3
    decay: float = 1e-2
    dropout: float = 0.3
    fact_dropout: float = 0.25
    smoothing: float = 0.05
    seed: int = 0
    rare: float = 0.2  # The power of a label's rarity by which its errors weigh more; 0 weighs all alike.


@dataclass(frozen=True)
class Example:
    """A pair ready for training: facts and counterparts of its words on each side, and their labels."""

    facts: tuple[Ints, Ints]
    links: tuple[Ints, Ints]
    labels: tuple[Ints, Ints]


def label_sets(pairs: Sequence[Pair]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The labels that occur on each side, sorted."""
    found = [tuple(sorted({label for pair in pairs for label in token_labels(pair, side)})) for side in SIDES]
    return found[0], found[1]


def examples(
    pairs: Sequence[Pair], labels: tuple[Sequence[str], Sequence[str]], *, buckets: int, parser: Parser | None = None
) -> list[Example]:
    """All pairs as the model sees them."""
    words = Words()
    index = [{label: at for at, label in enumerate(names)} for names in labels]
    tokens = [pair.source_tokens for pair in pairs], [pair.output_tokens for pair in pairs]
    found: dict[int, Example] = {}
    parses = (parser.parse(tokens[0]), parser.parse(tokens[1])) if parser is not None else None
    for batch in batches(*tokens, words):
        rows, _, _ = facts(batch, words, buckets=buckets, parses=parses)
        starts = [0, 0]
        for at, number in enumerate(batch.aligned.order.tolist()):
            pair = pairs[number]
            sizes = len(tokens[0][number]), len(tokens[1][number])
            links = batch.links(at)
            found[number] = Example(
                facts=(rows[0][starts[0] : starts[0] + sizes[0]], rows[1][starts[1] : starts[1] + sizes[1]]),
                links=(np.array(links[0], dtype=np.int64), np.array(links[1], dtype=np.int64)),
                labels=_codes(pair, index),
            )
            starts = [starts[0] + sizes[0], starts[1] + sizes[1]]
    return [found[number] for number in range(len(pairs))]


def train(
    chosen: Sequence[Example], labels: tuple[Sequence[str], Sequence[str]], settings: Settings, *, tell: Tell
) -> Weights:
    """Fit the network to examples."""
    torch = _torch()
    torch.manual_seed(settings.seed)
    rng = np.random.default_rng(settings.seed)
    parameters = _parameters(torch, settings, labels)
    weights = [torch.from_numpy(each) for each in _label_weights(chosen, labels, settings.rare)]
    optimiser = torch.optim.AdamW(parameters.values(), lr=settings.rate, weight_decay=settings.decay)
    steps = settings.epochs * -(-len(chosen) // settings.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, settings.rate, total_steps=steps, pct_start=0.2)
    for epoch in range(settings.epochs):
        total = 0.0
        order = rng.permutation(len(chosen))
        for start in range(0, len(order), settings.batch):
            batch = [chosen[at] for at in order[start : start + settings.batch]]
            loss = _loss(torch, parameters, batch, settings, weights)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            total += loss.item()
        tell(f"epoch {epoch + 1} of {settings.epochs}: loss {total * settings.batch / len(order):.3f}")
    arrays = {name: value.detach().numpy() for name, value in parameters.items()}
    return Weights(
        table=arrays["table"],
        bias=arrays["bias"],
        layers=tuple((arrays[f"layer{at}_w"], arrays[f"layer{at}_b"]) for at in (0, 1)),
        outputs=tuple((arrays[f"output{at}_w"], arrays[f"output{at}_b"]) for at in (0, 1)),
        labels=(tuple(labels[0]), tuple(labels[1])),
        card={},
    )


def cross_validate(
    pairs: Sequence[Pair], settings: Settings, *, folds: int = 5, parser: Parser | None = None, tell: Tell
) -> tuple[Pair, ...]:
    """Every pair labelled by a model that has not seen its source; in the order given."""
    labels = label_sets(pairs)
    ready = examples(pairs, labels, buckets=settings.buckets, parser=parser)
    sources = sorted({pair.source for pair in pairs})
    fold = dict(zip(sources, np.random.default_rng(1).permutation(len(sources)) % folds, strict=True))
    found: dict[int, Pair] = {}
    for number in range(folds):
        tell(f"fold {number + 1} of {folds}")
        inside = [
            ready[at] for at, pair in enumerate(pairs) if fold[pair.source] != number and "err" not in pair.labels
        ]
        weights = train(inside, labels, settings, tell=tell)
        held_out = [at for at, pair in enumerate(pairs) if fold[pair.source] == number]
        labelled = Labels(TrainedLabeller(weights, parser=parser)).label(
            [pairs[at].source for at in held_out], [pairs[at].output for at in held_out], tokenised=True
        )
        for at, done in zip(held_out, labelled, strict=True):
            found[at] = pairs[at].with_groups(done.groups)
    return tuple(found[at] for at in range(len(pairs)))


def _label_weights(
    chosen: Sequence[Example], labels: tuple[Sequence[str], Sequence[str]], power: float
) -> list[npt.NDArray[np.float32]]:
    """What an error on each label weighs, on average 1 a word."""
    found = []
    for side in (0, 1):
        counted = np.bincount(np.concatenate([each.labels[side] for each in chosen]), minlength=len(labels[side])) + 5
        weight = (counted.sum() / counted) ** power
        found.append((weight / ((weight * counted).sum() / counted.sum())).astype(np.float32))
    return found


def _loss(
    torch: Any, parameters: dict[str, Any], batch: Sequence[Example], settings: Settings, weights: Sequence[Any]
) -> Any:
    functional = torch.nn.functional
    rows, neighbours, counterparts, sides, targets = (torch.from_numpy(each) for each in _collate(batch))
    kept = (torch.rand(rows.shape) > settings.fact_dropout).float() / (1 - settings.fact_dropout)
    summed = functional.embedding_bag(rows, parameters["table"], mode="sum", per_sample_weights=kept)
    first = functional.dropout(torch.relu(summed + parameters["bias"]), settings.dropout)
    state, states = first, []
    for at in (0, 1):
        padded = torch.cat([torch.zeros(1, state.shape[1]), state])
        seen = torch.cat([padded[neighbours].flatten(1), padded[counterparts]], dim=1)
        state = functional.dropout(
            torch.relu(seen @ parameters[f"layer{at}_w"] + parameters[f"layer{at}_b"]), settings.dropout
        )
        states.append(state)
    final = torch.cat([first, states[0] + states[1]], dim=1)
    losses = []
    for side in (0, 1):
        chosen = sides == side
        scores = final[chosen] @ parameters[f"output{side}_w"] + parameters[f"output{side}_b"]
        losses.append(
            functional.cross_entropy(scores, targets[chosen], weight=weights[side], label_smoothing=settings.smoothing)
        )
    return losses[0] + losses[1]


def _collate(batch: Sequence[Example]) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    rows, neighbours, counterparts, sides, targets = [], [], [], [], []
    start = 1
    for example in batch:
        sizes = [len(each) for each in example.facts]
        begins = (start, start + sizes[0])
        for side in (0, 1):
            at = np.arange(sizes[side])[:, None] + np.array(NEIGHBOURS)
            neighbours.append(np.where((at >= 0) & (at < sizes[side]), at + begins[side], 0))
            link = example.links[side]
            counterparts.append(np.where(link >= 0, link + begins[1 - side], 0))
            sides.append(np.full(sizes[side], side))
            rows.append(example.facts[side])
            targets.append(example.labels[side])
        start += sum(sizes)
    joined = [np.concatenate(each).astype(np.int64) for each in (rows, neighbours, counterparts, sides, targets)]
    return joined[0], joined[1], joined[2], joined[3], joined[4]


def _parameters(torch: Any, settings: Settings, labels: tuple[Sequence[str], Sequence[str]]) -> dict[str, Any]:
    width = settings.width
    shapes = {
        "layer0_w": (width * (len(NEIGHBOURS) + 1), width),
        "layer1_w": (width * (len(NEIGHBOURS) + 1), width),
        "output0_w": (2 * width, len(labels[0])),
        "output1_w": (2 * width, len(labels[1])),
    }
    found = {"table": torch.randn(settings.buckets, width) * 0.1, "bias": torch.zeros(width)}
    for name, shape in shapes.items():
        bound = shape[0] ** -0.5
        found[name] = torch.empty(shape).uniform_(-bound, bound)
        found[name[:-1] + "b"] = torch.zeros(shape[1])
    return {name: value.requires_grad_() for name, value in found.items()}


def _codes(pair: Pair, index: Sequence[dict[str, int]]) -> tuple[Ints, Ints]:
    rows = [
        np.array([index[at][label] for label in token_labels(pair, side)], dtype=np.int64)
        for at, side in enumerate(SIDES)
    ]
    return rows[0], rows[1]


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise MissingExtra("Training the labeller", package="torch", extra="torch") from None
    torch.set_num_threads(1)  # The batches are small: more threads wait for one another.
    return torch
