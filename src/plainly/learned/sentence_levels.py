"""The SLE of every sentence of longer texts, some thousands of sentences at a time."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from plainly.core.metric import Floats
from plainly.learned.encoder import Encoder
from plainly.text.sentence_alignment import sentences_of

_SENTENCES_AT_ONCE = 4096


def sentence_levels(model: Encoder, texts: Sequence[str]) -> list[Floats]:
    """For each text the levels of its sentences, on the model's first head."""
    of_text = [[" ".join(sentence.text.split()) for sentence in sentences_of(text)] for text in texts]
    flat = [sentence for sentences in of_text for sentence in sentences]
    blocks = [flat[at : at + _SENTENCES_AT_ONCE] for at in range(0, len(flat), _SENTENCES_AT_ONCE)]
    levels = np.concatenate([model.estimates(block)[:, 0] for block in blocks] or [np.empty(0)])
    ends = np.cumsum([0, *map(len, of_text)])
    return [levels[start:stop] for start, stop in pairwise(ends)]
