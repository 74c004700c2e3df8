"""The trained labeller's arithmetic, in NumPy: a table of facts, two layers that look at neighbours and counterparts.

The weights are a few hundred kilobytes and were trained on ASSETann (CC-BY-NC-4.0) by ``labeller_training.py``;
``weights/labeller-light.md`` says how well they do. No package beyond NumPy is needed to use them.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput
from plainly.core.files import write_whole

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

WEIGHTS = Path(__file__).parent / "weights"
NEIGHBOURS = (-2, -1, 0, 1, 2)
_BLOCK = 1024


@dataclass(frozen=True)
class NetworkWeights:
    """What training leaves: the table of facts, two convolutions and an output layer for each side."""

    table: Floats
    bias: Floats
    layers: tuple[tuple[Floats, Floats], ...]
    outputs: tuple[tuple[Floats, Floats], ...]
    labels: tuple[tuple[str, ...], ...]
    card: dict[str, Any]

    @classmethod
    def of(cls, arrays: Mapping[str, Floats], labels: Sequence[Sequence[str]], card: dict[str, Any]) -> NetworkWeights:
        """The weights from arrays by the names that they have in a file."""
        layers, outputs = (
            tuple((arrays[f"{kind}{at}_w"], arrays[f"{kind}{at}_b"]) for at in (0, 1)) for kind in ("layer", "output")
        )
        return cls(arrays["table"], arrays["bias"], layers, outputs, tuple(map(tuple, labels)), card)

    @property
    def buckets(self) -> int:
        return len(self.table)


@cache
def load(name: str) -> NetworkWeights:
    """The weights of that name; they are read once."""
    path = WEIGHTS / f"{name}.npz"
    if not path.is_file():
        raise BadInput(f"There are no weights for the labeller {name!r}. Reinstall plainly, or use the labeller rules.")
    with np.load(path) as stored:
        card = json.loads(str(stored["card"]))
        arrays = {name: stored[name].astype(np.float32) for name in stored.files if name != "card"}
    arrays["table"] *= arrays["scale"]
    return NetworkWeights.of(arrays, card["labels"], card)


def save(path: Path, weights: NetworkWeights) -> None:
    """Write weights: the table in eight bits with one scale a column, the rest in sixteen."""
    scale = np.maximum(np.abs(weights.table).max(axis=0), 1e-8) / 127
    arrays: dict[str, Any] = {
        "table": np.round(weights.table / scale).astype(np.int8),
        "scale": scale.astype(np.float32),
        "bias": weights.bias.astype(np.float32),
        "card": np.array(json.dumps(weights.card | {"labels": weights.labels}, ensure_ascii=False)),
    }
    for name, layers in (("layer", weights.layers), ("output", weights.outputs)):
        for at, (matrix, bias) in enumerate(layers):
            arrays[f"{name}{at}_w"], arrays[f"{name}{at}_b"] = matrix.astype(np.float16), bias.astype(np.float32)
    packed = io.BytesIO()
    np.savez_compressed(packed, **arrays)
    write_whole(path, packed.getvalue())


def predict(
    weights: NetworkWeights, facts: tuple[Ints, Ints], places: tuple[Ints, Ints], links: tuple[Ints, Ints]
) -> list[Floats]:
    """Probabilities of labels for the words of a batch, (words, labels) for each side.

    ``facts`` are rows of the table. ``places`` are the rows of each word's neighbours among all words of the batch, the
    source's words first, counted from 1; ``links`` of its counterpart; 0 is nobody.
    """
    neighbours, counterparts = np.concatenate(places), np.concatenate(links)
    first = np.maximum(np.concatenate([_sum_rows(weights.table, rows) for rows in facts]) + weights.bias, 0)
    state, states = first, []
    for matrix, bias in weights.layers:
        padded = np.concatenate([np.zeros((1, state.shape[1]), dtype=np.float32), state])
        seen = np.concatenate(
            [padded[neighbours].reshape(len(state), neighbours.shape[1] * state.shape[1]), padded[counterparts]], axis=1
        )
        state = np.maximum(seen @ matrix + bias, 0)
        states.append(state)
    final = np.concatenate([first, states[0] + states[1]], axis=1)
    probabilities = []
    for part, (matrix, bias) in zip(np.split(final, [len(facts[0])]), weights.outputs, strict=True):
        scores = part @ matrix + bias
        raised = np.exp(scores - scores.max(axis=1, keepdims=True))
        probabilities.append(raised / raised.sum(axis=1, keepdims=True))
    return probabilities


def _sum_rows(table: Floats, rows: Ints) -> Floats:
    """The sum of a word's rows of the table, in blocks that stay in the processor's cache."""
    total = np.zeros((len(rows), table.shape[1]), dtype=np.float32)
    columns = np.ascontiguousarray(rows.T)
    buffer = np.empty((min(_BLOCK, len(rows)), table.shape[1]), dtype=np.float32)
    for start in range(0, len(rows), _BLOCK):
        part = total[start : start + _BLOCK]
        for column in columns:
            # Rows are within the table by construction; clipping only spares NumPy the check.
            part += np.take(table, column[start : start + _BLOCK], axis=0, out=buffer[: len(part)], mode="clip")
    return total
