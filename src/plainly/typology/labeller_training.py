"""How the trained labeller was made and measured: cross-validation by source, then one model on everything.

    plainly operations train --folds 5                       # measure, on sources that were not trained on
    plainly operations train -o labeller-light.npz           # make the weights that ship

Needs PyTorch (the extra ``torch``) and the data set ``assetann/annotations``. Erroneous pairs are left out of training:
by the guide, what was done to them is not annotated.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput, needing
from plainly.core.progress import Progress, no_progress
from plainly.text.lexicon import Words
from plainly.text.parse import Parser
from plainly.typology.annotation import SIDES, Pair, token_labels
from plainly.typology.features import Ints
from plainly.typology.labeller import Labeller, batches, facts
from plainly.typology.network import NEIGHBOURS, NetworkWeights

LabelSets = tuple[Sequence[str], Sequence[str]]  # those of the source, those of the output


@dataclass(frozen=True)
class TrainingSettings:
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

    facts: list[Ints]
    links: list[Ints]
    labels: list[Ints]


def _examples(pairs: Sequence[Pair], buckets: int, parser: Parser | None) -> tuple[LabelSets, list[Example]]:
    """The labels that occur on each side, sorted, and all pairs as the model sees them."""
    words = Words()
    marked = [[token_labels(pair, side) for pair in pairs] for side in SIDES]
    names = [sorted({label for labels in side for label in labels}) for side in marked]
    index = [{label: at for at, label in enumerate(side)} for side in names]
    tokens = [pair.source_tokens for pair in pairs], [pair.output_tokens for pair in pairs]
    ready: dict[int, Example] = {}
    parses = (parser.parse(tokens[0]), parser.parse(tokens[1])) if parser is not None else None
    for batch in batches(*tokens, words):
        rows, _, _ = facts(batch, words, buckets=buckets, parses=parses)
        for at, (pair, *spans) in enumerate(batch.spans()):
            ready[pair] = Example(
                facts=[rows[side][span] for side, span in enumerate(spans)],
                links=[np.array(links, dtype=np.int64) for links in batch.links(at)],
                labels=[np.array([index[side][label] for label in marked[side][pair]], np.int64) for side in (0, 1)],
            )
    return (names[0], names[1]), [ready[number] for number in range(len(pairs))]


def train(
    chosen: Sequence[Example], labels: LabelSets, settings: TrainingSettings, *, progress: Progress = no_progress
) -> NetworkWeights:
    """Fit the network to examples; its card holds the mean loss a pair of each epoch."""
    if not chosen or not all(map(len, labels)) or not any(len(side) for example in chosen for side in example.labels):
        raise BadInput(
            "There are no annotated pairs to learn from, or too few to leave some out and learn from others."
        )
    torch = _torch()
    torch.manual_seed(settings.seed)
    rng = np.random.default_rng(settings.seed)
    parameters = _parameters(torch, settings, labels)
    weights = [torch.from_numpy(weight) for weight in _label_weights(chosen, labels, settings.rare)]
    optimiser = torch.optim.AdamW(parameters.values(), lr=settings.rate, weight_decay=settings.decay)
    steps = settings.epochs * -(-len(chosen) // settings.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, settings.rate, total_steps=steps, pct_start=0.2)
    losses = []
    with progress("training", total=steps, unit="steps") as tell:
        for _ in range(settings.epochs):
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
                tell(1)
            losses.append(total * settings.batch / len(order))
    arrays = {name: value.detach().numpy() for name, value in parameters.items()}
    return NetworkWeights.of(arrays, labels, {"losses": losses})


def train_on_all(
    pairs: Sequence[Pair], *, data: str, parser: Parser | None = None, progress: Progress
) -> NetworkWeights:
    """The network that ships: fitted to all pairs but erroneous ones, with a card that says whose ``data`` made it."""
    settings = TrainingSettings()
    labels, ready = _examples(pairs, settings.buckets, parser)
    kept = [example for example, pair in zip(ready, pairs, strict=True) if "err" not in pair.labels]
    weights = train(kept, labels, settings, progress=progress)
    about = {"data": data, "licence": "CC-BY-NC-4.0", "pairs": len(kept), "settings": asdict(settings)}
    return replace(weights, card={**about, "parser": parser is not None, **weights.card})


def cross_validate(
    pairs: Sequence[Pair], *, folds: int = 5, parser: Parser | None = None, progress: Progress = no_progress
) -> tuple[Pair, ...]:
    """Every pair labelled by a model that has not seen its source; in the pairs' own order."""
    settings = TrainingSettings()
    labels, ready = _examples(pairs, settings.buckets, parser)
    sources = sorted({pair.source for pair in pairs})
    fold = dict(zip(sources, np.random.default_rng(1).permutation(len(sources)) % folds, strict=True))
    erroneous = [at for at, pair in enumerate(pairs) if "err" in pair.labels]
    labelled: dict[int, Pair] = {}
    for number in range(folds):
        held_out = [at for at, pair in enumerate(pairs) if fold[pair.source] == number]
        inside = set(range(len(pairs))) - {*held_out, *erroneous}
        weights = train([ready[at] for at in sorted(inside)], labels, settings, progress=progress)
        if not held_out:
            continue
        again = Labeller("light", weights, parser=parser).again([pairs[at] for at in held_out])
        labelled |= zip(held_out, again, strict=True)
    return tuple(labelled[at] for at in range(len(pairs)))


def _label_weights(chosen: Sequence[Example], labels: LabelSets, power: float) -> list[npt.NDArray[np.float32]]:
    """What an error on each label weighs, on average 1 a word."""
    weights = []
    for side in (0, 1):
        codes = np.concatenate([example.labels[side] for example in chosen])
        counted = np.bincount(codes, minlength=len(labels[side])) + 5
        weight = (counted.sum() / counted) ** power
        weights.append((weight / ((weight * counted).sum() / counted.sum())).astype(np.float32))
    return weights


def _loss(
    torch: Any, parameters: dict[str, Any], batch: Sequence[Example], settings: TrainingSettings, weights: Sequence[Any]
) -> Any:
    functional = torch.nn.functional
    rows, neighbours, counterparts, sides, targets = map(torch.from_numpy, _collate(batch))
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


def _collate(batch: Sequence[Example]) -> list[Ints]:
    """Of a batch's words, one after another: facts, neighbours' rows, counterparts' rows, sides, labels."""
    columns = []
    start = 1
    for example in batch:
        sizes = list(map(len, example.facts))
        begins = (start, start + sizes[0])
        for side, link in enumerate(example.links):
            at = np.arange(sizes[side])[:, None] + np.array(NEIGHBOURS)
            neighbours = np.where((at >= 0) & (at < sizes[side]), at + begins[side], 0)
            counterparts = np.where(link >= 0, link + begins[1 - side], 0)
            sides = np.full(sizes[side], side)
            columns.append((example.facts[side], neighbours, counterparts, sides, example.labels[side]))
        start += sum(sizes)
    return [np.concatenate(parts).astype(np.int64) for parts in zip(*columns, strict=True)]


def _parameters(torch: Any, settings: TrainingSettings, labels: LabelSets) -> dict[str, Any]:
    width = settings.width
    shapes = {f"layer{at}_w": (width * (len(NEIGHBOURS) + 1), width) for at in (0, 1)}
    shapes |= {f"output{at}_w": (2 * width, len(labels[at])) for at in (0, 1)}
    parameters = {"table": torch.randn(settings.buckets, width) * 0.1, "bias": torch.zeros(width)}
    for name, shape in shapes.items():
        bound = shape[0] ** -0.5
        parameters[name] = torch.empty(shape).uniform_(-bound, bound)
        parameters[name[:-1] + "b"] = torch.zeros(shape[1])
    return {name: value.requires_grad_() for name, value in parameters.items()}


def _torch() -> Any:
    with needing("Training the labeller", package="torch", extra="torch"):
        import torch
    torch.set_num_threads(1)  # The batches are small: more threads wait for one another.
    return torch
