"""The judge: a model that reads source and output together and says how fluent, faithful and simple the output is.

It learnt from sentences, so longer texts are read in pieces of aligned sentences. One pass serves every metric that
asks (``scorecache`` remembers it). An output without a word is the worst there is, so that leaving outputs blank never
helps. Where the source has no word there is nothing to judge by.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plainly.core.errors import BadInput
from plainly.core.evalset import EvalSet
from plainly.core.metric import Floats
from plainly.learned import encoder
from plainly.learned.encoder import Encoder, Readings
from plainly.learned.pieces import pieces
from plainly.text import sentences

# From so many sentences of the source on, a pair is read in pieces of so many tokens: docs/documents.md says why.
SEVERAL, _PIECE = 3, 72
HEADS = ("overall", "fluency", "meaning", "simplicity")


def judged(model: Encoder, evalset: EvalSet, outputs: Sequence[str]) -> Readings:
    """What the model says of each output: the value of every head, from 0 (worst) to 1 (best)."""
    long = evalset.prepare("judge: long", lambda evalset: sentences.counts(evalset.sources) >= SEVERAL)
    readings = _read(model, list(zip(evalset.sources, outputs, strict=True)), long)
    unread = np.isnan(readings.values).any(axis=1)
    readable = evalset.prepare(("readable", model.name), lambda evalset: np.array(model.sizes(evalset.sources)) > 0)
    written = np.array(model.sizes([outputs[at] for at in np.flatnonzero(unread).tolist()]), dtype=np.int64) > 0
    values = np.clip(readings.values, 0.0, 1.0)
    values[unread] = np.where((readable[unread] & ~written)[:, None], 0.0, np.nan)
    return Readings(values, readings.pieces)


def _read(model: Encoder, pairs: Sequence[tuple[str, str]], long: npt.NDArray[np.bool_]) -> Readings:
    """Readings of pairs: of texts with several sentences in aligned pieces, averaged by their tokens."""
    values, counts = np.full((len(pairs), len(model.heads)), np.nan), np.ones(len(pairs))
    values[~long], counts[~long] = model.readings([pairs[at] for at in np.flatnonzero(~long).tolist()])
    texts = [pairs[at] for at in np.flatnonzero(long).tolist()]

    def compute(chosen: list[int]) -> Floats:
        return _in_pieces(model, [texts[at] for at in chosen])

    keys = [f"{source}\x1e{output}" for source, output in texts]
    rows = model.remembered(f"pieces {_PIECE}", keys, len(model.heads) + 1, compute)
    values[long], counts[long] = rows[:, :-1], rows[:, -1]
    return Readings(values, counts)


def _in_pieces(model: Encoder, pairs: Sequence[tuple[str, str]]) -> Floats:
    """A row for each pair: the mean of its aligned pieces by their tokens, and how many there are if it is long."""
    cut = [pieces(*pair, size=model.sizes, longest=_PIECE) for pair in pairs]
    flat = [pair for of_text in cut for pair in of_text]
    read = model.readings(flat).values
    sizes = np.array([model.sizes(side) for side in zip(*flat, strict=True)]).sum(axis=0)
    rows = np.full((len(pairs), len(model.heads) + 1), np.nan)
    end = 0
    for row, of_text in zip(rows, cut, strict=True):
        start, end = end, end + len(of_text)
        known = ~np.isnan(read[start:end, 0])
        if known.any():
            weights = np.maximum(sizes[start:end][known], 1)
            row[:-1] = np.average(read[start:end][known], axis=0, weights=weights)
        row[-1] = len(of_text) if sizes[start:end].sum() > model.longest else 1
    return rows


def load(name: str) -> Encoder:
    """A model that judges, or an error that says why this one does not."""
    model = encoder.load(name)
    missing = [head for head in HEADS if head not in model.heads]
    if missing:
        raise BadInput(
            f"{name} has no head {missing[0]!r}: it does not read source and output together. "
            f"Leave model= out, or give the directory that 'plainly train quality' wrote."
        )
    return model
