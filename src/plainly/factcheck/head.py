"""The learned part: how likely the judge that reads source and output finds a fact changed, flipped or added.

It names no words, so it makes no findings: it adds to the risk, by half of what it says. What it says of most sound
outputs counts as nothing. Of ASSET's references it then says one half or more of every sixth, most of which are right.
"""

from collections.abc import Sequence

import numpy as np

from plainly.core.errors import BadInput
from plainly.core.metric import Floats
from plainly.learned import encoder

MODEL = encoder.JUDGE
_HEAD = "fact"
_SOUND = 0.15  # as much it says of most of what people wrote for ASSET's validation part


def fact_risks(model: str, sources: Sequence[str], outputs: Sequence[str]) -> Floats:
    """For each pair the probability that a fact is not the source's, 0 to 1; 0 where a text has no word."""
    judge = encoder.load(model)
    if _HEAD not in judge.heads:
        raise BadInput(f"{model} has no head {_HEAD!r}. Leave model= out, or write model=none for rules alone.")
    values = judge.readings(list(zip(sources, outputs, strict=True))).values[:, judge.heads.index(_HEAD)]
    risks: Floats = np.clip((np.nan_to_num(values, nan=0.0) - _SOUND) / (1 - _SOUND), 0.0, 1.0)
    return risks
