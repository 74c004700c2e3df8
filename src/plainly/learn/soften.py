"""From a document's reading level to a label for each of its sentences; see Cripwell et al. 2023, section 2.

A document's level is wrong for many of its sentences. Softening spreads the labels of a level by how readable each
sentence is, so that the labels of neighbouring levels overlap and a model can tell the sentences of one level apart.
"""

from __future__ import annotations

import numpy as np

from plainly.errors import BadInput
from plainly.protocol import Floats


def soften(levels: Floats, grades: Floats, *, span: float = 2.0, exclude: float = 1.0) -> Floats:
    """Spread the labels of each level over ``span``, the most readable sentences highest; NaN is left out of training.

    ``grades`` are Flesch-Kincaid grades. Sentences in the lowest and highest ``exclude`` percent of a level's grades,
    and sentences without a grade, are left out. The paper's levels lie 1 apart and its span is 2, so that each level
    reaches its neighbours; give a larger span to levels that lie farther apart.
    """
    if span < 0 or not 0 <= exclude < 50:
        raise BadInput(f"Softening needs span ≥ 0 and 0 ≤ exclude < 50, not span {span} and exclude {exclude}.")
    labels = np.full(len(levels), np.nan)
    for level in np.unique(levels):
        members = np.flatnonzero((levels == level) & np.isfinite(grades))
        if not len(members):
            continue
        low, high = np.percentile(grades[members], [exclude, 100 - exclude])
        members = members[(grades[members] >= low) & (grades[members] <= high)]
        readability = -grades[members]
        reach = readability.max() - readability.min()
        # Eq. 2; where all grades are equal there is nothing to spread.
        scaled = span * (readability - readability.min()) / reach if reach > 0 else np.zeros(len(members))
        labels[members] = scaled - scaled.mean() + level  # Eq. 3
    return labels
