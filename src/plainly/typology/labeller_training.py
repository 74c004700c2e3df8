"""Training of the labeller: cross-validation by source, then one model on everything.

    plainly operations train --folds 5                       # measure, on sources that were not trained on
    plainly operations train -o labeller-light.npz           # make the weights that ship

Needs PyTorch (the extra ``torch``) and the data set ``assetann/annotations``. Erroneous pairs are left out of training,
because the guide forbids other labels in them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput, require_package
from plainly.core.progress import Progress, no_progress
from plainly.text.lexicon import Words
from plainly.text.parse import Parser
from plainly.typology.annotation import SIDES, Pair, token_labels
from plainly.typology.features import Ints
from plainly.typology.labeller import NEIGHBOURS, Labeller, NetworkWeights, batches, facts

LabelSets = tuple[Sequence[str], Sequence[str]]  # those of the source, those of the output
# What made the weights that ship. ``rare`` is the power of a label's rarity by which its errors weigh more (0: alike).
SETTINGS = SimpleNamespace(
    buckets=8192,
    width=48,
    epochs=7,
    batch=48,
    rate=6e-3,
    decay=1e-2,
    dropout=0.3,
    fact_dropout=0.25,
    smoothing=0.05,
    seed=0,
    rare=0.2,
)


@dataclass(frozen=True)
class Example:
    """A pair ready for training: facts and counterparts of its words on each side, and their labels."""

    facts: list[Ints]
    links: list[Ints]
    labels: list[Ints]


def _examples(pairs: Sequence[Pair], parser: Parser | None) -> tuple[LabelSets, list[Example]]:
    """Return the sorted labels of each side, and all pairs as the model sees them."""
    words = Words()
    token_labels_of = [[token_labels(pair, side) for pair in pairs] for side in SIDES]
    names = [sorted({label for labels in side for label in labels}) for side in token_labels_of]
    index = [{label: at for at, label in enumerate(side)} for side in names]
    tokens = [pair.source_tokens for pair in pairs], [pair.output_tokens for pair in pairs]
    examples: dict[int, Example] = {}
    parses = [parser.parse(side) for side in tokens] if parser is not None else None
    for batch in batches(*tokens, words):
        order = batch.aligned.order.tolist()
        batch_parses = parses and [[side[pair] for pair in order] for side in parses]
        rows, _, _ = facts(batch, words, buckets=SETTINGS.buckets, parses=batch_parses)
        for at, (pair, spans) in enumerate(zip(order, batch.spans(), strict=True)):
            examples[pair] = Example(
                facts=[rows[side][span] for side, span in enumerate(spans)],
                links=[np.array(links, dtype=np.int64) for links in batch.links(at)],
                labels=[
                    np.array([index[side][label] for label in token_labels_of[side][pair]], np.int64) for side in (0, 1)
                ],
            )
    return (names[0], names[1]), [examples[number] for number in range(len(pairs))]


def train(examples: Sequence[Example], labels: LabelSets, *, progress: Progress = no_progress) -> NetworkWeights:
    """Fit the network to examples; its card holds the mean loss per pair in each epoch."""
    if not all(labels) or not any(len(side) for example in examples for side in example.labels):
        raise BadInput("There are too few annotated pairs to train on. Pass more pairs, or fewer folds=.")
    with require_package("Training the labeller", package="torch", extra="torch"):
        import torch
    torch.set_num_threads(1)  # The batches are small: more threads wait for one another.
    torch.manual_seed(SETTINGS.seed)
    rng = np.random.default_rng(SETTINGS.seed)
    parameters = _parameters(torch, labels)
    weights = [torch.from_numpy(weight) for weight in _label_weights(examples, labels, SETTINGS.rare)]
    optimiser = torch.optim.AdamW(parameters.values(), lr=SETTINGS.rate, weight_decay=SETTINGS.decay)
    steps = SETTINGS.epochs * -(-len(examples) // SETTINGS.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, SETTINGS.rate, total_steps=steps, pct_start=0.2)
    losses = []
    with progress("training", total=steps, unit="steps") as tell:
        for _ in range(SETTINGS.epochs):
            total = 0.0
            order = rng.permutation(len(examples))
            for start in range(0, len(order), SETTINGS.batch):
                batch = [examples[at] for at in order[start : start + SETTINGS.batch]]
                loss = _loss(torch, parameters, batch, weights)
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                schedule.step()
                total += loss.item()
                tell(1)
            losses.append(total * SETTINGS.batch / len(order))
    arrays = {name: value.detach().numpy() for name, value in parameters.items()}
    return NetworkWeights.of(arrays, labels, {"losses": losses})


def train_on_all(
    pairs: Sequence[Pair], *, data: str, parser: Parser | None = None, progress: Progress
) -> NetworkWeights:
    """Fit the network that ships to all pairs except erroneous ones; its card names the ``data``."""
    labels, all_examples = _examples(pairs, parser)
    examples = [example for example, pair in zip(all_examples, pairs, strict=True) if "err" not in pair.labels]
    weights = train(examples, labels, progress=progress)
    card = {"data": data, "licence": "CC-BY-NC-4.0", "pairs": len(examples), "settings": vars(SETTINGS)}
    return replace(weights, card={**card, "parser": parser is not None, **weights.card})


def cross_validate(
    pairs: Sequence[Pair], *, folds: int = 5, parser: Parser | None = None, progress: Progress = no_progress
) -> tuple[Pair, ...]:
    """Label every pair with a model that has not seen its source; in the order of the pairs."""
    labels, examples = _examples(pairs, parser)
    sources = sorted({pair.source for pair in pairs})
    fold = dict(zip(sources, np.random.default_rng(1).permutation(len(sources)) % folds, strict=True))
    erroneous = [at for at, pair in enumerate(pairs) if "err" in pair.labels]
    predictions: dict[int, Pair] = {}
    for number in range(folds):
        held_out = [at for at, pair in enumerate(pairs) if fold[pair.source] == number]
        training = set(range(len(pairs))) - {*held_out, *erroneous}
        weights = train([examples[at] for at in sorted(training)], labels, progress=progress)
        if not held_out:
            continue
        new_pairs = Labeller("light", weights, parser=parser).relabel([pairs[at] for at in held_out])
        predictions |= zip(held_out, new_pairs, strict=True)
    return tuple(predictions[at] for at in range(len(pairs)))


def _label_weights(examples: Sequence[Example], labels: LabelSets, power: float) -> list[npt.NDArray[np.float32]]:
    """Return the weight of an error on each label, on average 1 per word."""
    weights = []
    for side in (0, 1):
        codes = np.concatenate([example.labels[side] for example in examples])
        counts = np.bincount(codes, minlength=len(labels[side])) + 5
        weight = (counts.sum() / counts) ** power
        weights.append((weight / ((weight * counts).sum() / counts.sum())).astype(np.float32))
    return weights


def _loss(torch: Any, parameters: dict[str, Any], batch: Sequence[Example], weights: Sequence[Any]) -> Any:
    functional = torch.nn.functional
    rows, neighbours, counterparts, sides, targets = map(torch.from_numpy, _collate(batch))
    mask = (torch.rand(rows.shape) > SETTINGS.fact_dropout).float() / (1 - SETTINGS.fact_dropout)
    total = functional.embedding_bag(rows, parameters["table"], mode="sum", per_sample_weights=mask)
    first = functional.dropout(torch.relu(total + parameters["bias"]), SETTINGS.dropout)
    state, states = first, []
    for at in (0, 1):
        padded = torch.cat([torch.zeros(1, state.shape[1]), state])
        context = torch.cat([padded[neighbours].flatten(1), padded[counterparts]], dim=1)
        state = functional.dropout(
            torch.relu(context @ parameters[f"layer{at}_w"] + parameters[f"layer{at}_b"]), SETTINGS.dropout
        )
        states.append(state)
    final = torch.cat([first, states[0] + states[1]], dim=1)
    losses = []
    for side in (0, 1):
        on_side = sides == side
        scores = final[on_side] @ parameters[f"output{side}_w"] + parameters[f"output{side}_b"]
        losses.append(
            functional.cross_entropy(scores, targets[on_side], weight=weights[side], label_smoothing=SETTINGS.smoothing)
        )
    return losses[0] + losses[1]


def _collate(batch: Sequence[Example]) -> list[Ints]:
    """Concatenate the words of a batch: facts, rows of neighbours, rows of counterparts, sides, labels."""
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


def _parameters(torch: Any, labels: LabelSets) -> dict[str, Any]:
    width = SETTINGS.width
    shapes = {f"layer{at}_w": (width * (len(NEIGHBOURS) + 1), width) for at in (0, 1)}
    shapes |= {f"output{at}_w": (2 * width, len(labels[at])) for at in (0, 1)}
    parameters = {"table": torch.randn(SETTINGS.buckets, width) * 0.1, "bias": torch.zeros(width)}
    for name, shape in shapes.items():
        bound = shape[0] ** -0.5
        parameters[name] = torch.empty(shape).uniform_(-bound, bound)
        parameters[name[:-1] + "b"] = torch.zeros(shape[1])
    return {name: value.requires_grad_() for name, value in parameters.items()}
